/**
 * The attacks of a hostile task, with the expected result and what the namespaces executor does not
 * withstand. abuse.test.ts runs this list on every executor of this machine, and docs/sandbox.md holds its
 * table.
 */
import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { expect } from 'vitest';
import { limitLines, LINE_BYTES_MAX } from '../../../../runner/output/line-limit.ts';
import { createMasker } from '../../../../runner/output/masking.ts';
import type { AbuseCase } from '../abuse.ts';
import type { Bench } from './bench.ts';
import {
  CAPABILITY_CALLS,
  COMPAT_CALL,
  connectCalls,
  FILTERED_CALLS,
  hasCompatCalls,
  probeScript,
  readAnswers,
} from './syscalls.ts';
import { InvalidSpecError } from '../../../../runner/executor/spec.ts';
import { hostCommandLines, shell } from '../executor-fixtures.ts';
import { waitFor } from '../../wait-for.ts';

/**
 * `act` is absent where a case cannot be tested. After each, the host must be clean and the next task must
 * run.
 */
export interface SandboxAbuseCase extends Omit<AbuseCase<Bench>, 'act'> {
  act?: AbuseCase<Bench>['act'];
  /** The part that the namespaces executor does not withstand, with the reason. */
  namespaces?: string;
  /** The program of the case exists for x86-64 only. */
  x64Only?: true;
}

const [EPERM, ENOSYS, EAFNOSUPPORT, ENETUNREACH, ECONNREFUSED] = [1, 38, 97, 101, 111];
const FATAL_SIGNALS = 'HUP INT QUIT ILL ABRT BUS FPE KILL USR1 SEGV USR2 PIPE ALRM TERM XCPU XFSZ SYS'.split(
  ' ',
);
/** Allowed growth, above what the test process itself may take meanwhile. */
const DAEMON_GROWTH_BYTES_MAX = 192 * 1_048_576;
const MIB = 1_048_576;

export const ABUSE_CASES: readonly SandboxAbuseCase[] = [
  {
    abuse: 'fork bomb',
    held: 'its own process limit; ends at its deadline (`timeout`)',
    namespaces:
      'not held apart from other tasks where no pids control group can be written, because the rlimit that is left counts all processes of one user, and tasks of a runner that is not root share one',
    async act(bench) {
      // The first shell forks once before the others, because a shell that cannot fork any more ends.
      const run = await bench.run('bomb() { bomb | bomb & }; (bomb) & exec sleep 30', {
        limits: { timeoutSeconds: 1.5 },
      });
      expect(run.reason).toBe('timeout');
      expect(run.stderr).toMatch(/fork|Resource temporarily unavailable/);
    },
  },
  {
    abuse: 'memory fill',
    held: 'killed by the kernel at the limit (`memory`, 137)',
    namespaces:
      'not held to the byte where no memory control group can be written, because sampling every 50 ms can be outrun for one interval; nor is the processor limited there',
    async act(bench) {
      const run = await bench.run('dd if=/dev/zero of=/dev/null bs=300M count=1; exit $?');
      expect(run).toMatchObject({ reason: 'memory', exitCode: 137 });
      expect(run.message).toContain('64 MiB');
    },
  },
  {
    abuse: 'tmpfs fill: /tmp, /workspace, /dev/shm',
    held: '“no space left” at a part of the memory limit; the task goes on',
    async act(bench) {
      const run = await bench.run(
        'for at in /tmp /workspace /dev/shm; do dd if=/dev/zero of=$at/big bs=1M count=2000 2>/dev/null && echo "$at took it all"; ' +
          'wc -c <$at/big; rm $at/big; done',
      );
      expect(run).toMatchObject({ reason: 'exit', exitCode: 0 });
      expect(run.stdout.trim().split('\n').map(Number)).toEqual([16 * MIB, 32 * MIB, 8 * MIB]);
    },
  },
  {
    abuse: 'inode fill',
    held: 'ends with “no space left” or at the memory limit, to which inodes count',
    async act(bench) {
      const run = await bench.run(
        'for at in /tmp /dev/shm; do i=0; while true >$at/$i; do i=$((i+1)); done; echo "$at full"; done',
      );
      if (run.reason !== 'memory') {
        expect(run).toMatchObject({ reason: 'exit', exitCode: 0 });
        expect(run.stdout).toBe('/tmp full\n/dev/shm full\n');
      }
    },
  },
  {
    abuse: 'disk fill',
    held: 'everything that it can write lies in memory; no file may pass the size of /workspace',
    async act(bench) {
      const run = await bench.run(
        'while read -r from at type rest; do [ -d "$at" ] && [ -w "$at" ] && echo "$type"; done </proc/self/mounts; ' +
          'for at in / /etc /usr /bin /var /run /dev /proc /sys; do (: >$at/x) 2>/dev/null && echo "wrote $at"; done; ulimit -f',
      );
      const lines = run.stdout.trim().split('\n');
      const units = Number(lines.pop());
      expect(new Set(lines)).toEqual(new Set(bench.kind === 'podman' ? ['tmpfs', 'mqueue'] : ['tmpfs']));
      expect(units * 512).toBeLessThanOrEqual(32 * MIB);
    },
  },
  {
    abuse: '1 GB/s to stdout',
    held: 'cut at the limit with one marker line; the daemon’s memory does not grow with it',
    async act(bench) {
      const before = process.memoryUsage().rss;
      const run = await bench.run('exec cat /dev/zero', { limits: { timeoutSeconds: 2 } });
      expect(run.reason).toBe('timeout');
      expect(run.bytes.length).toBe(MIB + '\n[output truncated at 1048576 bytes]\n'.length);
      expect(process.memoryUsage().rss - before).toBeLessThan(DAEMON_GROWTH_BYTES_MAX);
    },
  },
  {
    abuse: 'one line of 100 MB',
    held: 'arrives in pieces below 128 KiB; stored lines are cut at 64 KiB and say so',
    async act(bench) {
      const before = process.memoryUsage().rss;
      const masker = limitLines(createMasker([]).stream());
      let [bytes, largest, kept] = [0, 0, 0];
      const run = await bench.stream(
        shell('head -c 104857600 /dev/zero'),
        { limits: { outputBytes: 200 * MIB, timeoutSeconds: 30 } },
        (chunk) => {
          bytes += chunk.length;
          largest = Math.max(largest, chunk.length);
          kept += masker.push(Buffer.from(chunk)).length;
        },
      );
      kept += masker.flush().length;
      expect(run).toMatchObject({ reason: 'exit', exitCode: 0 });
      expect(bytes).toBe(100 * MIB);
      expect(largest).toBeLessThan(131_072);
      expect(kept).toBeLessThan(LINE_BYTES_MAX + 100);
      expect(process.memoryUsage().rss - before).toBeLessThan(DAEMON_GROWTH_BYTES_MAX);
    },
  },
  {
    abuse: 'ANSI, OSC and invalid UTF-8 in output',
    held: 'kept byte for byte; the CLI and the console take control sequences out where they show it',
    async act(bench) {
      const sent = String.raw`\033]0;owned\007\033[2J\033[31m\377\376\300\200\r\000\r\n`;
      const run = await bench.run(`printf '${sent}'`);
      expect(run.bytes.toString('latin1')).toBe('\x1b]0;owned\x07\x1b[2J\x1b[31m\xff\xfe\xc0\x80\r\0\r\n');
    },
  },
  {
    abuse: 'ignores SIGTERM',
    held: 'SIGKILL after the grace; the reason is that of the kill',
    async act(bench) {
      const run = await bench.start('trap "" TERM HUP INT; echo up; while :; do sleep 1; done');
      await waitFor('the task', run.text, { holds: (text) => text.includes('up') });
      run.running.kill('cancelled', 500);
      expect(await run.running.done).toMatchObject({ reason: 'cancelled', signal: 'SIGKILL' });
    },
  },
  {
    abuse: 'double fork, setsid, and a survivor that holds stdout open',
    held: 'everything of the sandbox dies with the task',
    async act(bench) {
      const marker = `${7000 + (process.pid % 1000)}.5`;
      const run = await bench.run(
        `(setsid sh -c 'trap "" TERM HUP; sleep ${marker} & sleep ${marker}' &); sleep 0.2; echo left`,
      );
      expect(run).toMatchObject({ reason: 'exit', exitCode: 0, stdout: 'left\n' });
      expect((await hostCommandLines()).filter((line) => line.includes(marker))).toEqual([]);
    },
  },
  {
    abuse: 'exec from /tmp and /dev/shm',
    held: 'refused (`noexec`); /workspace may hold programs',
    async act(bench) {
      const run = await bench.run(
        'for at in /tmp /dev/shm /workspace; do cp /bin/sleep $at/sleep; $at/sleep 0 2>/dev/null && echo "$at ran"; done; ' +
          'for ld in /lib64/ld-*.so.* /lib/ld-*.so.*; do [ -e "$ld" ] && "$ld" /tmp/sleep 0 2>/dev/null && echo "mapped"; done; true',
      );
      expect(run.stdout).toBe('/workspace ran\n');
    },
  },
  {
    abuse: 'setuid binary',
    held: 'stays the task’s user: no_new_privs, and nosuid where tasks write',
    async act(bench) {
      const own =
        'cp "$(command -v id)" /workspace/id; chmod 6755 /workspace/id; /workspace/id -u 2>/dev/null; ';
      if (bench.kind === 'podman') {
        const image = await bench.setuidImage();
        const run = await bench.run('ls -ln /bin/busybox; id -u; grep NoNewPrivs /proc/self/status', {
          image,
        });
        expect(run.stdout).toMatch(/^-rwsr-sr-x .* 0 +0 /);
        expect(run.stdout).toMatch(/\n65532\nNoNewPrivs:\s+1\n$/);
      } else {
        const run = await bench.run(
          `${own}grep NoNewPrivs /proc/self/status; grep -v nosuid /proc/self/mounts; su -c 'id -u' </dev/null`,
        );
        expect(run.stdout).toMatch(/^(65534\n)?NoNewPrivs:\s+1\n$/);
      }
    },
  },
  {
    abuse: 'unshare, clone, setns, mount, ptrace, bpf, keyctl, io_uring, perf, modules, kexec, clocks, vsock',
    held: 'refused by the system-call filter before the kernel looks at them, by their x32 numbers too, and by their 32-bit ones where the kernel answers such calls at all',
    namespaces:
      'held on x86-64; not held on other processors, because the program that loads the filter is of x86-64: keyctl, io_uring, AF_VSOCK and an unprivileged bpf stop at the kernel’s own checks there. It lists what is refused and answers calls that are newer than it as absent, where a container’s lists what is allowed; 32-bit programs end with SIGSYS',
    x64Only: true,
    async act(bench) {
      const calls = [...FILTERED_CALLS, COMPAT_CALL];
      const run = await bench.run(probeScript(calls));
      // The last call, a 32-bit one, is answered by the filter, kills the program by it, or is unknown to the
      // kernel.
      const kernel = hasCompatCalls() ? undefined : { exitCode: 139 };
      const filter = bench.kind === 'namespaces' ? { exitCode: 159, signal: 'SIGSYS' } : { exitCode: 0 };
      expect(run).toMatchObject(kernel ?? filter);
      const answered = run.exitCode === 0 ? calls : FILTERED_CALLS;
      expect(run.bytes.length).toBe(answered.length);
      const let_through = Object.entries(readAnswers(answered, run.bytes)).filter(
        ([, errno]) => ![EPERM, ENOSYS, EAFNOSUPPORT].includes(errno),
      );
      expect(let_through).toEqual([]);
    },
  },
  {
    abuse: 'setuid(0), device nodes, raw sockets',
    held: 'refused for want of the capability',
    x64Only: true,
    async act(bench) {
      const run = await bench.run(probeScript(CAPABILITY_CALLS));
      expect(run).toMatchObject({ reason: 'exit', exitCode: 0 });
      const answers = Object.values(readAnswers(CAPABILITY_CALLS, run.bytes));
      expect(answers).toEqual(CAPABILITY_CALLS.map(() => EPERM));
    },
  },
  {
    abuse: 'write to /proc/sys, release_agent, core_pattern, sysrq',
    held: 'nothing below /proc/sys and /sys is writable, and no control group can be mounted',
    async act(bench) {
      const run = await bench.run(
        'find /proc/sys /sys -type f 2>/dev/null | while read -r at; do [ -w "$at" ] && (: >>"$at") 2>/dev/null && echo "writable $at"; done; ' +
          'for at in /proc/sys/kernel/core_pattern /proc/sysrq-trigger /sys/kernel/uevent_helper /sys/fs/cgroup/release_agent ' +
          '/sys/fs/cgroup/*/release_agent /sys/fs/cgroup/cgroup.procs /proc/self/uid_map; do ' +
          '(echo 0 >"$at") 2>/dev/null && echo "wrote $at"; done; ' +
          'mkdir /workspace/cg && mount -t cgroup -o memory none /workspace/cg 2>/dev/null && echo mounted; true',
      );
      expect(run).toMatchObject({ reason: 'exit', exitCode: 0, stdout: '' });
    },
  },
  {
    abuse:
      'read /proc/1/environ, the runner’s key file, engine sockets, host mounts, other tasks’ files; kill -9 -1',
    held: 'sees its own files and processes alone, and reaches nobody else’s',
    namespaces:
      'not held for /usr of the host, because its programs are the task’s programs: whatever is world-readable there can be read, nothing written. Where the runner is not root, the kernel treats the task as the runner’s user, because that is the only one it may map; nothing of that user is mounted',
    async act(bench) {
      const neighbour = await bench.start(
        'echo "$NEIGHBOUR" >/workspace/neighbour-file; cp /workspace/neighbour-file /tmp; echo up; exec sleep 30',
        { env: { NEIGHBOUR: bench.secret } },
      );
      await waitFor('the neighbour', neighbour.text, { holds: (text) => text.includes('up') });
      const run = await bench.run(
        `cat /proc/*/environ '${bench.keyFile}' /etc/shadow /run/svc/launch /proc/*/root/workspace/* 2>/dev/null; ` +
          `find / -xdev \\( -name neighbour-file -o -name '${bench.keyName}' -o -type s \\) 2>/dev/null | sed 's/^/found /'; ` +
          'ls /root /home /var/lib /run/secrets /run/containers 2>/dev/null | grep -v : | sed "s/^/found /"; kill -9 -1; echo survived',
      );
      expect(run.stdout + run.stderr).not.toContain(bench.secret);
      expect(run.stdout.split('\n').filter((line) => /^found ./.test(line))).toEqual([]);
      neighbour.running.kill('cancelled', 0);
      expect(await neighbour.running.done).toMatchObject({ reason: 'cancelled' });
    },
  },
  {
    abuse: 'metadata address, the host’s loopback, abstract sockets of the host',
    held: 'unreachable: a network of its own with nothing but a loopback',
    x64Only: true,
    async act(bench) {
      const name = `\0svc-abuse-${process.pid}-${bench.kind}`;
      const servers = [createServer(), createServer()] as const;
      servers[0].listen(0, '127.0.0.1');
      servers[1].listen(name);
      await Promise.all(servers.map(async (server) => await once(server, 'listening')));
      let connections = 0;
      for (const server of servers) server.on('connection', () => (connections += 1));
      const { port } = servers[0].address() as AddressInfo;
      const calls = connectCalls(
        [
          { address: '169.254.169.254', port: 80 },
          { address: '10.0.0.1', port: 443 },
          { address: '127.0.0.1', port },
        ],
        name,
      );
      const run = await bench.run(probeScript(calls));
      for (const server of servers) server.close();
      const [metadata, lan, loopback, abstract] = Object.values(readAnswers(calls, run.bytes)).slice(2);
      expect([metadata, lan, abstract]).toEqual([ENETUNREACH, ENETUNREACH, ECONNREFUSED]);
      expect([ENETUNREACH, ECONNREFUSED]).toContain(loopback);
      expect(connections).toBe(0);
    },
  },
  {
    abuse: 'symlink, hardlink, `../`, device or FIFO in artifacts; zip-slip',
    held: 'there are no artifacts: what a task hands out is bytes of output and an exit code, and nothing that it wrote is read or unpacked. Build steps write into the clone, of which every path is resolved and held inside (`build/detect.ts`, with tests of its own)',
  },
  {
    abuse:
      'image `-v/:/host`, an image’s id or the beginning of one, env name with `=` or a newline, a label in an id',
    held: 'refused before anything is started',
    async act(bench) {
      const bad = [
        ...[
          '-v/:/host',
          '--privileged',
          'a b',
          'dir:/',
          'oci-archive:/etc/shadow',
          'c13f',
          '97',
          `sha256:${'a'.repeat(64)}`,
        ].map((image) => ({ image })),
        ...['A=B', 'A\nB', '', '-e', 'A\0B'].map((name) => ({ env: { [name]: 'x' } })),
        ...['x,cp.runner=y', 'x\ny', '--label', '../../x'].flatMap((id) => [
          { workId: id },
          { runnerId: id },
        ]),
        { workdir: '../..' },
        { command: ['--privileged'] },
        { command: ['a\0b'] },
      ];
      for (const changes of bad)
        await expect(bench.executor.start(bench.spec('true', changes), () => undefined)).rejects.toThrow(
          InvalidSpecError,
        );
    },
  },
  {
    abuse: 'image absent',
    held: '`engine_error` that names it; sandboxes never pull',
    namespaces: 'not held, because there are no images: every image is refused this way',
    async act(bench) {
      const run = await bench.run('true', { image: 'localhost/svc-not-here:1' });
      expect(run.reason).toBe('engine_error');
      expect(run.message).toContain('localhost/svc-not-here:1');
    },
  },
  {
    abuse: 'clock and time zone',
    held: 'the host’s clock, in UTC unless `TZ` says otherwise; it cannot be set',
    async act(bench) {
      const run = await bench.run(
        'date +%s; date +%z; TZ=SVC-3 date +%z; date -s 2001-01-01 >/dev/null 2>&1; date +%Y',
      );
      const [seconds, zone, own, year] = run.stdout.trim().split('\n');
      expect(Math.abs(Number(seconds) - Date.now() / 1000)).toBeLessThan(20);
      expect([zone, own]).toEqual(['+0000', '+0300']);
      expect(Number(year)).toBeGreaterThan(2020);
    },
  },
  {
    abuse: 'exit codes 0 to 255 and deaths by signals',
    held: 'handed through as they are; a signal n reads as 128 + n with its name',
    async act(bench) {
      const container = bench.kind === 'podman'; // A container takes ten times as long to start.
      const codes = container
        ? [0, 1, 126, 127, 128, 255]
        : Array.from({ length: 32 }, (_, index) => index * 8 + 7);
      const signals = container ? ['HUP', 'SEGV', 'KILL'] : FATAL_SIGNALS;
      const runs = await bench.runAll([
        ...codes.map((code) => `exit ${code}`),
        ...signals.map((signal) => `kill -${signal} $$; sleep 5`),
      ]);
      expect(runs.map((run) => run.reason)).toEqual(runs.map(() => 'exit'));
      expect(runs.slice(0, codes.length).map((run) => run.exitCode)).toEqual(codes);
      expect(runs.slice(codes.length).map((run) => run.signal)).toEqual(signals.map((name) => `SIG${name}`));
    },
  },
  {
    abuse: 'exit within 5 ms',
    held: 'its output is complete',
    async act(bench) {
      const runs = await bench.runAll(Array.from({ length: 12 }, (_, index) => `echo "fast ${index}"`));
      expect(runs.map((run) => run.stdout)).toEqual(runs.map((_, index) => `fast ${index}\n`));
    },
  },
];
