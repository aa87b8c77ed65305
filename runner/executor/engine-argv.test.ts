import { describe, expect, it } from 'vitest';
import { createArgv } from './engine-argv.ts';
import { ENGINE_TIMEOUTS, engineArgv, type Engine } from './engine.ts';
import { RUNNER_ID, makeSpec } from '../../test/setup/runner/executor-fixtures.ts';

const PODMAN: Engine = {
  name: 'podman',
  program: '/usr/bin/podman',
  runtime: 'runc',
  seccompPath: '/data/seccomp-task.json',
  shellPath: '/data/task-shell',
  processesPerUser: 5000,
  timeouts: ENGINE_TIMEOUTS,
  cgroupParentOf: (name) => `/parent/${name}`,
};
const DOCKER: Engine = {
  name: 'docker',
  program: '/usr/bin/docker',
  shellPath: '/data/task-shell',
  processesPerUser: 5000,
  timeouts: ENGINE_TIMEOUTS,
};

function build(engine: Engine, changes: Parameters<typeof makeSpec>[1] = {}): string[] {
  const spec = makeSpec(['run', '--privileged', '$(id)'], {
    workId: 'run_1',
    epoch: 3,
    env: { TOKEN: 'secret-value' },
    ...changes,
    limits: { timeoutSeconds: 90.5, memoryMb: 512, cpus: 8, pids: 99, ...changes.limits },
  });
  return createArgv(engine, {
    spec,
    name: 'cp-run_1-3',
    image: 'localhost/x:1',
    launchFile: '/dev/shm/l/launch',
    hostCpus: 2,
    nowMs: 1_000_000,
  });
}

const WALLS = [
  '--network=none',
  '--read-only',
  '--user=65532:65532',
  '--cap-drop=ALL',
  '--security-opt=no-new-privileges',
  '--ipc=private',
  '--cgroupns=private',
  '--hostname=task',
  '--init',
  '--stop-timeout=5',
  '--log-driver=none',
  '--pull=never',
  '--pids-limit=99',
  '--memory=512m',
  '--memory-swap=512m',
  '--cpus=2',
  '--ulimit=nofile=1024:1024',
  '--ulimit=nproc=5000:5000',
  '--ulimit=core=0:0',
  '--ulimit=fsize=268435456:268435456',
  '--tmpfs=/tmp:rw,noexec,nosuid,nodev,size=128m,mode=1777',
  '--tmpfs=/workspace:rw,exec,nosuid,nodev,size=256m,mode=1777',
];
const LABELS = [
  `--label=cp.runner=${RUNNER_ID}`,
  '--label=cp.work=run_1',
  '--label=cp.epoch=3',
  '--label=cp.deadline=1156',
];

for (const engine of [PODMAN, DOCKER]) {
  describe(`createArgv() for ${engine.name}`, () => {
    it('2.16 gives build steps the authorities of the runner, and nobody else', () => {
      const mount = '--volume=/data/ca-bundle.pem:/run/svc/ca.pem:ro,z';
      const clone = { folder: '/data/clone', user: '0:0', caFile: '/data/ca-bundle.pem' };
      expect(build(engine, { network: 'private', clone })).toContain(mount);
      expect(build(engine).filter((word) => word.includes('/run/svc/ca.pem'))).toEqual([]);
    });

    it('puts up every wall and every label', () => {
      expect(build(engine)).toEqual(expect.arrayContaining([...WALLS, ...LABELS, '--name=cp-run_1-3']));
    });

    it('never opens a wall', () => {
      const options = build(engine).slice(0, build(engine).indexOf('localhost/x:1'));
      for (const option of options) {
        expect(option).not.toMatch(/privileged$|docker\.sock|=host$|^-v$|--cap-add|--device|unconfined/);
      }
      expect(options.filter((option) => option.startsWith('--volume='))).toEqual([
        '--volume=/dev/shm/l/launch:/run/svc/launch:ro,z',
        '--volume=/data/task-shell:/run/svc/sh:ro,z',
      ]);
    });

    it('keeps the environment out of the arguments', () => {
      expect(build(engine).join(' ')).not.toContain('secret-value');
      expect(build(engine).filter((option) => option.startsWith('--env'))).toEqual(['--env=HOME=/workspace']);
    });

    it('hands the command over word by word after the image', () => {
      const argv = build(engine);
      expect(argv.slice(argv.indexOf('localhost/x:1'))).toEqual([
        'localhost/x:1',
        '/run/svc/launch',
        'run',
        '--privileged',
        '$(id)',
      ]);
    });

    it('keeps stdin open only when there is some', () => {
      expect(build(engine)).not.toContain('--interactive');
      expect(build(engine, { stdin: '' })).toContain('--interactive');
    });
  });
}

describe('createArgv() by engine', () => {
  it('gives podman what only podman knows', () => {
    expect(build(PODMAN).slice(0, 5)).toEqual([
      '/usr/bin/podman',
      '--runtime',
      'runc',
      '--log-level=error',
      'create',
    ]);
    expect(build(PODMAN)).toEqual(
      expect.arrayContaining([
        '--security-opt=seccomp=/data/seccomp-task.json',
        '--read-only-tmpfs=false',
        '--uts=private',
        '--http-proxy=false',
        '--image-volume=ignore',
        '--timeout=156',
        '--cgroup-parent=/parent/cp-run_1-3',
      ]),
    );
  });

  it('asks podman for users of their own where there are some, and for the clone to be theirs', () => {
    const clone = { folder: '/data/clone', user: '0:0' };
    expect(build(PODMAN).filter((word) => word.startsWith('--userns'))).toEqual([]);
    expect(build(PODMAN, { network: 'private', clone })).toContain('--volume=/data/clone:/workspace:rw,z');
    const own = { ...PODMAN, ownUsers: { hooksFolder: '/data/hooks' } };
    expect(build(own)).toContain('--userns=auto:size=65536');
    expect(build(own, { network: 'private', clone })).toContain('--volume=/data/clone:/workspace:rw,z,U');
  });

  it('gives docker nothing that docker refuses', () => {
    const argv = build(DOCKER);
    expect(argv.slice(0, 3)).toEqual(['/usr/bin/docker', '--log-level=error', 'create']);
    for (const option of [
      '--read-only-tmpfs',
      '--uts',
      '--http-proxy',
      '--image-volume',
      '--timeout',
      '--systemd',
      '--cgroup-parent',
      '--security-opt=seccomp',
    ]) {
      expect(argv.filter((argument) => argument.startsWith(option))).toEqual([]);
    }
    expect(argv).toContain('--restart=no');
  });

  it('uses the shell of the image when the host has none to lend', () => {
    const { shellPath: _shell, ...bare } = DOCKER;
    expect(build(bare)).toContain('--entrypoint=/bin/sh');
    expect(build(bare).filter((option) => option.startsWith('--volume='))).toHaveLength(1);
  });

  it('chooses the runtime for every podman call, also for those that only read', () => {
    expect(engineArgv(PODMAN, 'ps')).toEqual([
      '/usr/bin/podman',
      '--runtime',
      'runc',
      '--log-level=error',
      'ps',
    ]);
    expect(engineArgv({ ...DOCKER, runtime: 'runsc' }, 'ps')).toEqual([
      '/usr/bin/docker',
      '--log-level=error',
      'ps',
    ]);
  });
});
