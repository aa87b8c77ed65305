/**
 * Tests the rules for every sandbox on each kind that this machine has: a real engine and real namespaces.
 */
import { createHash } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { existsSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { has } from '../../test/setup/needs.ts';
import { InvalidSpecError } from './spec.ts';
import { detectExecutor } from './detect.ts';
import type { Executor } from './executor.ts';
import {
  begun,
  ended,
  hostCommandLines,
  makeSpec,
  RUNNER_ID,
  runToEnd,
  settledWrites,
  shell,
  startCollecting,
} from '../../test/setup/runner/executor-fixtures.ts';
import { sharedDir } from '../../test/setup/runner/temp-dir.ts';

/** A stream buffer just below its mark, plus one read. */
const CHUNK_BYTES_MAX = 2 * 65_536;

const KINDS = [
  { name: 'podman' as const, there: await has('podman'), taskUid: 65_532 },
  { name: 'namespaces' as const, there: await has('namespaces'), taskUid: 65_534 },
];

for (const kind of KINDS) {
  describe.runIf(kind.there)(`executor ${kind.name}`, () => {
    let executor: Executor;
    const dataDir = sharedDir();
    const create = (): Promise<Executor> =>
      detectExecutor({
        wanted: kind.name,
        dataDir: dataDir(),
        runnerId: RUNNER_ID,
        log: () => undefined,
      });

    const task = (script: string, changes?: Parameters<typeof makeSpec>[1]) =>
      runToEnd(executor, makeSpec(shell(script), changes));

    beforeAll(async () => {
      executor = await create();
    });

    afterAll(async () => await executor.reap(() => false));

    describe('endings', () => {
      it('delivers what was printed on both streams and exit code 0', async () => {
        const run = await task('echo out; echo err >&2');
        expect(run).toMatchObject({ reason: 'exit', exitCode: 0, stdout: 'out\n', stderr: 'err\n' });
        expect(run.durationMs).toBeGreaterThan(0);
      });

      it('hands through every kind of exit code', async () => {
        for (const code of [1, 3, 125, 126, 127, 128, 200, 255]) {
          expect(await task(`exit ${code}`)).toMatchObject({
            reason: 'exit',
            exitCode: code,
          });
        }
      });

      it('names the signal that ended the task', async () => {
        for (const [signal, exitCode] of [
          ['SEGV', 139],
          ['TERM', 143],
          ['KILL', 137],
        ] as const) {
          const run = await task(`kill -${signal} $$; sleep 5`);
          expect(run).toMatchObject({ reason: 'exit', exitCode, signal: `SIG${signal}` });
        }
      });

      it('reports a command that does not exist as exit 127 and says which', async () => {
        const run = await runToEnd(executor, makeSpec(['no-such-program']));
        expect(run).toMatchObject({ reason: 'exit', exitCode: 127 });
        expect(run.stderr).toContain('no-such-program: command not found');
      });

      it('keeps the output of tasks that end at once', async () => {
        for (let attempt = 0; attempt < 8; attempt += 1) {
          expect((await runToEnd(executor, makeSpec(['echo', `fast ${attempt}`]))).stdout).toBe(
            `fast ${attempt}\n`,
          );
        }
      });

      it('ends a task at its deadline with reason timeout', async () => {
        const run = await runToEnd(executor, makeSpec(['sleep', '60'], { limits: { timeoutSeconds: 1 } }));
        expect(run).toMatchObject({ reason: 'timeout', signal: 'SIGTERM' });
        expect(run.durationMs).toBeGreaterThanOrEqual(1000);
        expect(run.durationMs).toBeLessThan(6000);
      });

      it('ends a task that takes too much memory with reason memory', async () => {
        const run = await task('dd if=/dev/zero of=/dev/null bs=300M count=1; exit $?');
        expect(run).toMatchObject({ reason: 'memory', exitCode: 137 });
        // podman's monitor would leave a file of that name where the daemon was started.
        expect(existsSync('oom')).toBe(false);
        expect(run.message).toContain('64 MiB');
      });

      it('lets a task finish after SIGTERM when it is cancelled', async () => {
        const run = await begun(
          executor,
          makeSpec(shell('trap "echo bye; exit 9" TERM; echo up; while :; do sleep 0.1; done')),
        );
        run.running.kill('cancelled');
        expect(await run.running.done).toMatchObject({ reason: 'cancelled', exitCode: 9 });
        expect(run.text()).toBe('up\nbye\n');
      });

      it('kills a task that ignores SIGTERM after the grace, and keeps the first reason', async () => {
        const run = await begun(
          executor,
          makeSpec(shell('trap "" TERM; echo up; while :; do sleep 1; done')),
        );
        const killedAt = performance.now();
        run.running.kill('lease_lost', 700);
        run.running.kill('cancelled', 60_000);
        expect(await run.running.done).toMatchObject({
          reason: 'lease_lost',
          exitCode: 137,
          signal: 'SIGKILL',
        });
        expect(performance.now() - killedAt).toBeGreaterThanOrEqual(690);
      });

      it('can be killed before the task has started', async () => {
        const run = await startCollecting(executor, makeSpec(['sleep', '60']));
        expect(await ended(run)).toMatchObject({ reason: 'cancelled' });
      });
    });

    describe('what a task cannot do', () => {
      it('leaves no process behind by setsid and double forks', async () => {
        const marker = `${4000 + (process.pid % 1000)}.25`;
        const run = await task(`(setsid sh -c 'sleep ${marker} & sleep ${marker}' &) ; sleep 0.2; echo left`);
        expect(run).toMatchObject({ reason: 'exit', exitCode: 0, stdout: 'left\n' });
        expect((await hostCommandLines()).filter((line) => line.includes(marker))).toEqual([]);
      });

      it('fills only its own process table with a fork bomb', async () => {
        const spec = makeSpec(shell('bomb() { bomb | bomb & }; bomb; sleep 30'), {
          limits: { timeoutSeconds: 1.5 },
        });
        const run = await runToEnd(executor, spec);
        expect(run.stderr).toMatch(/fork|Resource temporarily unavailable/);
        expect(await task('echo well')).toMatchObject({ stdout: 'well\n' });
      });

      it('has no network but its own loopback', async () => {
        const run = await task('cat /proc/net/dev; cat /proc/net/route');
        const interfaces = run.stdout
          .split('\n')
          .map((line) => /^\s*(\w+):/.exec(line)?.[1])
          .filter((name) => name !== undefined);
        expect(interfaces).toEqual(['lo']);
        expect(run.stdout.trim().split('\n').at(-1)).toMatch(/^Iface/);
      });

      it('writes only to /tmp and /workspace, and executes nothing from /tmp', async () => {
        const run = await task(
          'for path in /x /bin/x /etc/x /usr/x /etc/passwd /proc/sys/kernel/core_pattern; do (echo x >"$path") 2>/dev/null && echo "wrote $path"; done; ' +
            'echo "echo ran" >/tmp/x; echo "echo ran" >/workspace/x; chmod +x /tmp/x /workspace/x; /tmp/x; /workspace/x; pwd',
        );
        expect(run.stdout).toBe('ran\n/workspace\n');
        expect(run.stderr).toMatch(/[Pp]ermission denied/);
      });

      it('is an ordinary user without capabilities or a way to new privileges', async () => {
        const run = await task('id -u; id -G; cat /proc/self/status');
        expect(run.stdout).toMatch(new RegExp(`^${kind.taskUid}\n${kind.taskUid}\n`));
        for (const set of ['CapInh', 'CapPrm', 'CapEff', 'CapBnd', 'CapAmb'])
          expect(run.stdout).toMatch(new RegExp(`${set}:\\s+0{16}`));
        expect(run.stdout).toMatch(/NoNewPrivs:\s+1/);
        // The loader of the namespaces executor is an x86-64 program: seccomp-loader.ts.
        const filtered = kind.name === 'podman' || process.arch === 'x64';
        expect(run.stdout).toMatch(filtered ? /Seccomp:\s+2/ : /Seccomp:\s+0/);
      });

      it('makes no namespaces and mounts nothing', async () => {
        const run = await task(
          'for kind in -U -m -n -p; do unshare $kind true && echo "unshared $kind"; done; mount -t tmpfs none /workspace && echo mounted; true',
        );
        expect(run.stdout).toBe('');
      });

      it('sees neither the daemon, its data, nor the accounts of the host', async () => {
        await writeFile(join(dataDir(), 'key'), 'private');
        const run = await task(
          `cat /proc/1/environ; cat '${dataDir()}/key' /etc/shadow; ls /root /home /var/lib; cat /etc/passwd; ls /proc`,
        );
        expect(run.stdout).not.toContain('private');
        expect(run.stdout).not.toContain('PGUSER');
        expect(run.stdout).not.toContain(process.env['HOME'] ?? '/root');
        expect(run.stderr).toContain('/etc/shadow');
        expect(run.stdout.split('\n').filter((line) => /^\d+$/.test(line)).length).toBeLessThan(10);
      });

      it('cannot fill the memory of the host through /workspace', async () => {
        const run = await task('dd if=/dev/zero of=/workspace/big bs=1M count=60; ls -s /workspace/big');
        expect(run.stderr).toMatch(/No space left|File too large|file size/i);
        expect(run.reason).toBe('exit');
      });
    });

    describe('what a task gets', () => {
      it('receives its environment, which nobody else on the host can see', async () => {
        const secret = `s3cret'"\n$HOME ${process.pid}`;
        const env = { TOKEN: secret, PATH: '/usr/bin:/bin' };
        const spec = makeSpec(shell('printf "%s|" "$TOKEN"; env; echo up; sleep 30'), { env });
        const run = await begun(executor, spec);
        expect(run.text()).toContain(`${secret}|`);
        expect(run.text()).toContain('HOME=/workspace');
        expect((await hostCommandLines()).filter((line) => line.includes("s3cret'"))).toEqual([]);
        if (kind.name === 'podman') {
          const { runCommand } = await import('./command.ts');
          const inspected = await runCommand(['podman', 'inspect', `cp-${spec.workId}-1`], {
            timeoutMs: 10_000,
          });
          expect(inspected.stdout).toContain(`"cp.work": "${spec.workId}"`);
          expect(inspected.stdout).not.toContain('s3cret');
        }
        await ended(run);
      });

      it('gets nothing of the daemon’s environment', async () => {
        process.env['SVC_DAEMON_SECRET'] = 'daemon-secret';
        const run = await runToEnd(executor, makeSpec(['env'], { env: { 'dotted.name': 'odd' } }));
        delete process.env['SVC_DAEMON_SECRET'];
        expect(run.stdout).not.toContain('daemon-secret');
        expect(run.stdout).toContain('HOME=/workspace');
        expect(run.stdout).toContain('dotted.name=odd');
      });

      it('reads stdin, and end of file without one', async () => {
        expect((await runToEnd(executor, makeSpec(['cat'], { stdin: 'line\nü' }))).stdout).toBe('line\nü');
        expect(await runToEnd(executor, makeSpec(['cat']))).toMatchObject({ exitCode: 0, stdout: '' });
      });

      it('takes an environment and arguments of hundreds of kilobytes', async () => {
        const env = Object.fromEntries(
          Array.from({ length: 60 }, (_, index) => [`V${index}`, `${index}`.repeat(4000)]),
        );
        const spec = makeSpec(['sh', '-c', 'echo ${#V7} ${#V59} ${#1}', 'sh', 'x'.repeat(100_000)], { env });
        expect(await runToEnd(executor, spec)).toMatchObject({
          exitCode: 0,
          stdout: '4000 8000 100000\n',
          stderr: '',
        });
      });

      it('starts in the folder that was asked for', async () => {
        expect((await runToEnd(executor, makeSpec(['pwd'], { workdir: '/workspace/a/b' }))).stdout).toBe(
          '/workspace/a/b\n',
        );
        expect(await runToEnd(executor, makeSpec(['pwd'], { workdir: '/proc/none' }))).toMatchObject({
          exitCode: 126,
        });
      });

      it('may open /dev/stdout and /dev/stderr by name', async () => {
        const run = await task('echo one >/dev/stdout; echo two >/dev/stderr');
        expect(run).toMatchObject({ stdout: 'one\n', stderr: 'two\n' });
      });
    });

    describe('output', () => {
      it('passes 10 MB through a consumer one call at a time, and stops the task while the consumer is busy', async () => {
        const bytes = 10 * 1_048_576;
        const hash = createHash('sha256');
        let [received, open, chunkMax, written] = [0, 0, 0, 0];
        const running = await executor.start(
          makeSpec(['head', '-c', String(bytes), '/dev/zero'], { limits: { outputBytes: bytes } }),
          async (_stream, chunk) => {
            open += 1;
            expect(open).toBe(1);
            if (received === 0) written = await settledWrites(`head -c ${bytes} /dev/zero`);
            hash.update(chunk);
            received += chunk.length;
            chunkMax = Math.max(chunkMax, chunk.length);
            open -= 1;
          },
        );
        expect(await running.done).toMatchObject({ reason: 'exit', exitCode: 0 });
        expect(received).toBe(bytes);
        expect(hash.digest('hex')).toBe(createHash('sha256').update(Buffer.alloc(bytes)).digest('hex'));
        expect(chunkMax).toBeLessThan(CHUNK_BYTES_MAX);
        // Pipe buffers on the way, the engine's included; never the whole output.
        expect(written).toBeGreaterThan(0);
        expect(written).toBeLessThan(2 * 1_048_576);
      });

      it('cuts output at the limit with one marker and lets the task go on', async () => {
        const run = await task('yes 12345678 | head -c 1000000; exit 5', { limits: { outputBytes: 1000 } });
        expect(run).toMatchObject({ reason: 'exit', exitCode: 5 });
        expect(run.stdout).toHaveLength(1000 + '\n[output truncated at 1000 bytes]\n'.length);
        expect(run.stdout.endsWith('\n[output truncated at 1000 bytes]\n')).toBe(true);
      });

      it('stops the run when its output cannot be stored', async () => {
        const running = await executor.start(makeSpec(shell('echo x; sleep 60')), () =>
          Promise.reject(new Error('disk full')),
        );
        expect(await running.done).toMatchObject({
          reason: 'engine_error',
          message: 'output could not be stored: disk full',
        });
      });
    });

    describe('leftovers', () => {
      it('reaps what is not live and leaves what is', async () => {
        const other = await create();
        const live = await begun(executor, makeSpec(shell('echo up; sleep 60')));
        const spec = makeSpec(shell('echo up; sleep 60'), { epoch: 7 });
        const orphan = await begun(executor, spec);
        const reaped = await other.reap(({ id }) => id !== spec.workId);
        expect(reaped).toEqual([{ id: spec.workId, epoch: 7 }]);
        expect((await orphan.running.done).reason).not.toBe('cancelled');
        expect(await ended(live)).toMatchObject({ reason: 'cancelled' });
        expect(await other.reap(() => false)).toEqual([]);
      });
    });

    describe('refusals', () => {
      it('refuses an image that an engine would read as an option or a file', async () => {
        for (const image of [
          '-v/:/host',
          '--privileged',
          'oci-archive:/etc/passwd',
          'dir:/',
          'Upper/Case',
          'a b',
          '',
        ]) {
          await expect(executor.start(makeSpec(['true'], { image }), () => undefined)).rejects.toThrow(
            InvalidSpecError,
          );
        }
      });

      it('reports an image that cannot be had as an engine error that names it', async () => {
        const run = await runToEnd(executor, makeSpec(['true'], { image: 'localhost/no-such-image:1' }));
        expect(run.reason).toBe('engine_error');
        expect(run.message).toContain('localhost/no-such-image:1');
      });

      it('refuses to run the same work and epoch twice at once', async () => {
        const spec = makeSpec(['sleep', '30']);
        const first = await startCollecting(executor, spec);
        await expect(executor.start(spec, () => undefined)).rejects.toThrow('already running');
        await ended(first);
      });
    });
  });
}
