/**
 * This file lists the attacks of a hostile Dockerfile, with the expected result and the result with docker.
 * abuse.test.ts runs this list on this machine, and docs/sandbox.md holds its table.
 */
import { existsSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import { expect } from 'vitest';
import { escape, linkTar, PUBLIC, steps, type AbuseBuild, type Bench } from './bench.ts';
import type { AbuseCase } from '../abuse.ts';

export interface BuildAbuseCase extends AbuseCase<Bench> {
  /** The result with docker, whose daemon builds outside of the runner's control. */
  docker: string;
}

const BY_VERSION = 'by its version alone (25.0.2 or newer)';
const NOT_HELD = 'not held';

/** Calls by address, because a static busybox cannot look up names. */
const call = (host: string, port: number) => `printf 'GET / HTTP/1.0\\r\\n\\r\\n' | nc -w 5 ${host} ${port}`;

/**
 * What a step begins with to show that it ran. podman's relay may drop what a step wrote when it ends within
 * milliseconds on a busy machine (buildah 1.28, `runCopyStdio`), so it lives a moment longer. A step that an
 * earlier build of the team has run does not run again, so texts of steps differ.
 */
const RAN = 'echo it ran; sleep 0.2';

/** Expects that the build ran and saw none of the protected data. */
function expectBlind(bench: Bench, build: AbuseBuild, ran = 'it ran'): void {
  expect(build.said).toContain(ran);
  expect(build.said).not.toContain(bench.secret);
  // The line is compared with the output of `ls`: error messages, and the engine's copy of the Dockerfile,
  // hold the name within a line.
  expect(build.said.split('\n')).not.toContain(basename(bench.keyFile));
}

/** Lists and writes the runner's key folder, below the folder that the flaw leads to. */
const atKey = ({ keyFile }: Bench, root: string) =>
  `${RAN}; cat '${root}${keyFile}' 2>/dev/null; ls -a '${root}${dirname(keyFile)}' 2>/dev/null; echo x >'${root}${keyFile}.written'; true`;

function expectUntouched({ keyFile }: Bench): void {
  expect(existsSync(`${keyFile}.written`)).toBe(false);
}

export const BUILD_ABUSE_CASES: readonly BuildAbuseCase[] = [
  {
    abuse: '`RUN --mount=type=bind,from=b,source=/t`, where stage b has a link `/t → /` (CVE-2024-1753)',
    held: 'leads into the root of the build’s own namespaces: no data folder of the runner, no home, no `/etc`, `/var` or `/dev` of the machine; nothing outside is written',
    docker: BY_VERSION,
    async act(bench) {
      const script = `${atKey(bench, '/mnt')}; ls /mnt /mnt/etc; ls /mnt/home /mnt/root; ls -l /mnt/dev | grep -c '^b'`;
      const build = await bench.build(escape(script));
      expectBlind(bench, build);
      expectUntouched(bench);
      expect(build.said).not.toMatch(/shadow|subuid|fstab|sda|vda/);
    },
  },
  {
    abuse: 'id of a cache mount with `../` (CVE-2024-9675)',
    held: 'the same: it ends in the build’s own root',
    docker: BY_VERSION,
    async act(bench) {
      const script = JSON.stringify(['/bin/sh', '-c', atKey(bench, '/mnt')]);
      const build = await bench.build(
        `${steps(RAN)}RUN --mount=type=cache,id=../../../../../../..,target=/mnt ${script}\n`,
      );
      expectBlind(bench, build);
      expectUntouched(bench);
    },
  },
  {
    abuse: '`bind-propagation` and other options of a mount (CVE-2024-9407)',
    held: 'mounts are of the build’s own namespace and propagate nowhere; the machine’s table of mounts stays as it is',
    docker: BY_VERSION,
    async act(bench) {
      for (const option of ['bind-propagation=shared', 'bind-propagation=rshared,dev,suid']) {
        const script = JSON.stringify(['/bin/sh', '-c', atKey(bench, '/mnt')]);
        const build = await bench.build(
          `${steps(RAN)}RUN --mount=type=bind,source=.,target=/mnt,rw,${option} ${script}\n`,
        );
        expectBlind(bench, build);
        expectUntouched(bench);
      }
    },
  },
  {
    abuse:
      '`/etc/passwd` and `/etc/group` of the image as links to the machine’s files or to an endless one (CVE-2024-9676)',
    held: 'are looked up in the build’s own root, within the build’s time and memory',
    docker: BY_VERSION,
    async act(bench) {
      for (const target of [bench.keyFile, '/dev/zero', `../../../../../..${bench.keyFile}`]) {
        const dockerfile = `${steps(`${RAN}; : ${target}; rm -f /etc/passwd /etc/group`)}ADD users.tar /\nUSER mallory\nRUN ["/bin/sh", "-c", "cat /etc/passwd | head -c 100"]\n`;
        const files = { 'users.tar': linkTar(['etc/passwd', target], ['etc/group', target]) };
        expectBlind(bench, await bench.build(dockerfile, { files }));
      }
    },
  },
  {
    abuse: 'a stage that exchanges a folder for a link while another mounts it (CVE-2024-11218)',
    held: 'stages are built one after the other (`--jobs` is never given), and whoever wins the race wins a place in the build’s own root',
    docker: BY_VERSION,
    async act(bench) {
      const look = JSON.stringify(['/bin/sh', '-c', atKey(bench, '/mnt')]);
      const build = await bench.build(
        [
          'FROM scratch AS a',
          'ADD root.tar /',
          'RUN ["/bin/sh", "-c", "mkdir /t; (i=0; while [ $i -lt 200 ]; do mv /t /s; ln -s / /t; rm /t; mv /s /t; i=$((i+1)); done; rm -rf /t; ln -s / /t); true"]',
          'FROM scratch',
          'ADD root.tar /',
          `RUN --mount=type=bind,from=a,source=/t,target=/mnt,rw ${look}`,
          '',
        ].join('\n'),
      );
      expectBlind(bench, build);
      expectUntouched(bench);
    },
  },
  {
    abuse: '`FROM` the id of another team’s image, short or whole, or its name',
    held: 'the team’s store holds nothing of another’s: not found',
    docker: 'not held: one store for all of its builds',
    async act(bench) {
      const victim = { team: 'team_victim', keep: `bld_victim_${process.pid}` };
      const made = await bench.build('FROM scratch\nADD root.tar /\nCOPY note /secret\n', {
        ...victim,
        files: { note: bench.secret },
      });
      expect(made.failure).toBeUndefined();
      const id = await bench.idOf(victim.team, victim.keep);
      for (const from of [id, id.slice(0, 12), id.slice(0, 3), `localhost/svc-build:${victim.keep}-1`]) {
        const build = await bench.build(`FROM ${from}\nRUN ["/bin/cat", "/secret"]\n`);
        expect(build.failure).toMatch(/cannot be built/);
        expect(build.said).not.toContain(bench.secret);
      }
    },
  },
  {
    abuse: '`FROM` or `COPY --from` an image of the machine’s own engine that was deployed here',
    held: 'builds see copies of the images that the operator gave the machine by name, and none that a build made',
    docker: NOT_HELD,
    async act(bench) {
      const name = `localhost/deployed-${process.pid}:1`;
      const id = await bench.imageOfMachine(name, 'svc.work=bld_other-1');
      for (const from of [name, id.slice(0, 12)]) {
        const build = await bench.build(
          `FROM scratch\nADD root.tar /\nCOPY --from=${from} /secret /s\nRUN ["/bin/cat", "/s"]\n`,
        );
        expect(build.failure).toMatch(/cannot be built/);
        expect(build.said).not.toContain(bench.secret);
      }
      const given = `localhost/given-${process.pid}:1`;
      await bench.imageOfMachine(given, undefined);
      const build = await bench.build(`FROM ${given}\nADD root.tar /\nRUN ["/bin/cat", "/secret"]\n`);
      expect(build).toMatchObject({ failure: undefined });
      expect(build.said).toContain(bench.secret);
    },
  },
  {
    abuse: 'a cache mount with the id of another team’s',
    held: 'a cache a team; it is there again in the team’s next build',
    docker: 'not held: one cache for all of its builds',
    async act(bench) {
      const cached = (script: string) =>
        `FROM scratch\nADD root.tar /\nRUN --mount=type=cache,id=npm,target=/c ${JSON.stringify(['/bin/sh', '-c', script])}\n`;
      const files = { note: bench.secret };
      const written = await bench.build(
        `FROM scratch\nADD root.tar /\nCOPY note /note\nRUN --mount=type=cache,id=npm,target=/c ["/bin/cp", "/note", "/c/note"]\n`,
        { team: 'team_victim', files },
      );
      expect(written.failure).toBeUndefined();
      expectBlind(bench, await bench.build(cached(`${RAN}; cat /c/* 2>/dev/null; true`)));
      const again = await bench.build(cached('cat /c/note'), { team: 'team_victim' });
      expect(again.said).toContain(bench.secret);
    },
  },
  {
    abuse: '`ADD http://127.0.0.1…`, and a step that calls the machine’s loopback by its addresses and names',
    held: 'refused, and said in the output; the loopback of a build is its own',
    docker:
      'a step has the engine’s own network, without the machine’s loopback; `ADD` is the daemon’s, and not held',
    async act(bench) {
      const { hostPort: port } = bench;
      bench.names.set('loop.test', [['127.0.0.1']]);
      const before = bench.requests();
      for (const host of ['127.0.0.1', 'localhost', 'loop.test', '[::1]', '0.0.0.0', '127.1.2.3']) {
        const build = await bench.build(`FROM scratch\nADD http://${host}:${port}/ /s\n`);
        expect(build.failure).toMatch(/cannot be built/);
      }
      const calls = ['127.0.0.1', '0.0.0.0', '127.1.2.3'].map((host) => call(host, port));
      const build = await bench.build(steps(`${RAN}; ${calls.join('; ')}; true`) + `# http://x:${port}/\n`);
      expectBlind(bench, build);
      expect(build.said).toContain(`127.0.0.1:${port} is not reached: it is no public address`);
      expect(bench.requests()).toBe(before);
    },
  },
  {
    abuse:
      'metadata addresses, private networks, IPv4 in IPv6, and names that stand for them, at first or later',
    held: 'public addresses alone are called, on ports 22, 80, 443, 9418, 11371 and those written in the Dockerfile; what was checked is what is called',
    docker: NOT_HELD,
    async act(bench) {
      bench.names.set('public.test', [[PUBLIC]]);
      bench.names.set('rebound.test', [[PUBLIC], ['169.254.169.254'], ['10.0.0.1']]);
      bench.names.set('mixed.test', [['10.0.0.1', '::ffff:10.0.0.1', '64:ff9b::a9fe:a9fe', 'fd00:ec2::254']]);
      bench.called.length = 0;
      const refused = [
        '169.254.169.254',
        '10.0.0.1',
        '172.16.0.1',
        '192.168.1.1',
        '100.64.0.1',
        'mixed.test',
        'rebound.test',
      ];
      for (const host of [...refused, '[fd00:ec2::254]', '[::ffff:169.254.169.254]']) {
        const build = await bench.build(`FROM scratch\nADD http://${host}/latest/meta-data /s\n`);
        expect(build.failure, host).toMatch(/cannot be built/);
      }
      expect(bench.called).toEqual([]);
      const build = await bench.build(
        steps(`${RAN}; ${call('169.254.169.254', 80)}; ${call(PUBLIC, 80)} >/dev/null; true`) +
          'ADD http://public.test/x /s\nRUN ["/bin/cat", "/s"]\n',
      );
      expect(build).toMatchObject({ failure: undefined });
      expect(build.said).toContain(bench.secret);
      expect(bench.called).toEqual([
        { host: PUBLIC, port: 80 },
        { host: PUBLIC, port: 80 },
      ]);
    },
  },
  {
    abuse:
      'device nodes, block devices, sockets of engines, raw memory, sysctls and control groups of the machine',
    held: 'null, zero, full, random and urandom are all the devices there are, none can be made, and the engine’s root is nobody to the kernel',
    docker: 'steps: held by docker’s capabilities and device groups; the daemon itself is root',
    async act(bench) {
      const script = [
        RAN,
        'mknod /tmp/disk b 254 0 && echo MADE',
        'mknod /mnt/var/tmp/disk b 8 0 && echo MADE',
        'ls /mnt/run/docker.sock /mnt/var/run/docker.sock /mnt/run/podman/podman.sock /mnt/run/systemd 2>/dev/null',
        'echo 1 >/mnt/proc/sys/kernel/panic && echo WROTE',
        'echo /x >/mnt/proc/sys/kernel/core_pattern && echo WROTE',
        'echo b >/mnt/proc/sysrq-trigger && echo WROTE',
        'head -c 1 /mnt/proc/kcore | wc -c',
        'find /mnt/dev -type b',
        'mount -t cgroup cgroup /mnt/tmp && echo MOUNTED',
        'cat /proc/self/uid_map',
        'true',
      ];
      const build = await bench.build(escape(script.join('; ')));
      expectBlind(bench, build);
      expect(build.said).not.toMatch(/MADE|WROTE|MOUNTED|\.sock|\/dev\/[a-z]+\d/);
      const [, outside] = /^\s+0\s+(\d+)\s+\d+$/m.exec(build.said) ?? [];
      expect(Number(outside)).toBeGreaterThan(0);
    },
  },
  {
    abuse:
      'processes of the machine and of other builds: `kill -9 -1`, `/proc/<pid>/environ`, abstract sockets',
    held: 'the build sees and reaches its own alone',
    docker: 'steps: held by their own process namespace',
    async act(bench) {
      const build = await bench.build(
        steps(
          `${RAN}; cat /proc/[0-9]*/cmdline | tr '\\0' ' '; cat /proc/[0-9]*/environ 2>/dev/null | tr '\\0' '\\n' | grep -c SVC_ABUSE; cat /proc/net/unix | wc -l`,
        ),
      );
      expectBlind(bench, build);
      expect(build.said).not.toMatch(/vitest|node /);
      await bench.build(steps('kill -9 -1'));
      expectBlind(bench, await bench.build(steps(`${RAN}; : after the kill`)));
    },
  },
  {
    abuse:
      'secrets of other teams’ builds: their clones, registry passwords, git keys; the operator’s logins',
    held: 'of folders of builds its own clone is there, and of secrets its own `--secret` files; the file of logins is empty, pulls of the team’s own images come before the first step',
    docker: 'the folder of logins is empty; a hole of the engine shows the rest',
    async act(bench) {
      const script = `${RAN}; find /mnt${dirname(bench.keyFile)} /mnt/root /mnt/run 2>/dev/null | grep -v containers; for f in $(find /mnt -name config.json -o -name auth.json 2>/dev/null); do cat $f; done; cat /run/secrets/own`;
      const dockerfile = escape(script).replace('RUN --mount', 'RUN --mount=type=secret,id=own --mount');
      const build = await bench.build(dockerfile, { secrets: { own: 'own-4711' } });
      expectBlind(bench, build);
      expect(build.said).toContain('own-4711');
      expect(build.said).not.toMatch(/"auth"|askpass|id_ed25519|\/stores\//);
    },
  },
  {
    abuse: 'fork bomb and memory fill of a step',
    held: 'end at the build’s own limits, where control groups can be written: of engine and steps together',
    docker: 'by docker’s own limits for steps',
    async act(bench) {
      const build = await bench.build(steps(`${RAN}; dd if=/dev/zero bs=1M count=2000 | tail`), {
        memoryMb: 64,
      });
      expectBlind(bench, build);
      expect(build.failure).toBe('the build was over the memory limit of 64 MiB');
      expectBlind(bench, await bench.build(steps(`${RAN}; : after the bomb`)));
    },
  },
];
