/**
 * The arguments that create a task's container, in one place, so that podman and docker set the same limits.
 * They are never joined and never pass through a shell.
 */
import { CA_BUNDLE_IN_CONTAINER } from './ca-bundle.ts';
import { engineArgv, type Engine } from './engine.ts';
import type { SandboxSpec } from './executor.ts';
import { GRACE_MS } from './supervise.ts';
import { RANGE_IDS } from './user-range.ts';
import { shmMb, tmpMb, workspaceMb } from './namespace-script.ts';

export const TASK_USER = '65532:65532';
export const LAUNCH_PATH = '/run/svc/launch';
export const SHELL_PATH = '/run/svc/sh';
const OPEN_FILES = 1024;
/** Largest file that a build step may write. */
const CLONE_FILE_BYTES_MAX = 4 * 1_073_741_824;
/**
 * The engine's own time limit only matters when the daemon has died. It is well after the daemon's, so that
 * the two never race.
 */
const ENGINE_DEADLINE_SLACK_SECONDS = 60;

export interface CreateOptions {
  spec: SandboxSpec;
  name: string;
  image: string;
  /** File with the launch script, readable to everybody inside a folder that only the runner can enter. */
  launchFile: string;
  /** Lies beside it, where the network has a name server of the runner. */
  resolverFile?: string;
  hostCpus: number;
  nowMs: number;
}

export function createArgv(engine: Engine, options: CreateOptions): string[] {
  const { spec, name, image } = options;
  const shell = engine.shellPath === undefined ? '/bin/sh' : SHELL_PATH;
  return engineArgv(
    engine,
    'create',
    `--name=${name}`,
    ...labels(options),
    ...isolation(engine, spec),
    ...limits(engine, options),
    ...mounts(engine, options),
    ...(engine.name === 'podman' ? podmanOnly(engine, spec) : dockerOnly(engine)),
    ...(engine.cgroupParentOf === undefined ? [] : [`--cgroup-parent=${engine.cgroupParentOf(name)}`]),
    ...(spec.stdin === undefined ? [] : ['--interactive']),
    '--env=HOME=/workspace',
    '--workdir=/workspace',
    `--entrypoint=${shell}`,
    image,
    LAUNCH_PATH,
    ...spec.command,
  );
}

function labels({ spec, nowMs }: CreateOptions): string[] {
  const deadline =
    Math.ceil(nowMs / 1000 + spec.limits.timeoutSeconds + GRACE_MS / 1000) + ENGINE_DEADLINE_SLACK_SECONDS;
  const pairs = {
    'cp.runner': spec.runnerId,
    'cp.work': spec.workId,
    'cp.epoch': spec.epoch,
    'cp.deadline': deadline,
  };
  return Object.entries(pairs).map(([key, value]) => `--label=${key}=${value}`);
}

function isolation(engine: Engine, spec: SandboxSpec): string[] {
  return [
    // Without the option the container has the engine's own network, from which this machine's loopback
    // cannot be reached.
    ...networkArgs(spec.network),
    '--read-only',
    `--user=${spec.clone?.user ?? TASK_USER}`,
    '--cap-drop=ALL',
    '--security-opt=no-new-privileges',
    ...(engine.seccompPath === undefined ? [] : [`--security-opt=seccomp=${engine.seccompPath}`]),
    '--ipc=private',
    '--cgroupns=private',
    '--hostname=task',
    '--init',
    '--stop-timeout=5',
    '--no-healthcheck',
    '--log-driver=none',
    '--pull=never',
    '--oom-score-adj=500',
  ];
}

function networkArgs(network: SandboxSpec['network']): string[] {
  return network === 'private' ? [] : ['--network=none'];
}

function limits(engine: Engine, { spec, hostCpus }: CreateOptions): string[] {
  const { memoryMb, cpus, pids } = spec.limits;
  const workspaceBytes =
    spec.clone === undefined ? workspaceMb(spec.limits) * 1_048_576 : CLONE_FILE_BYTES_MAX;
  return [
    `--pids-limit=${pids}`,
    `--memory=${memoryMb}m`,
    `--memory-swap=${memoryMb}m`,
    // docker refuses more than the machine has.
    `--cpus=${Math.min(cpus, hostCpus)}`,
    // Without these limits a daemon's own raised limits can make the runtime fail.
    `--ulimit=nofile=${OPEN_FILES}:${OPEN_FILES}`,
    `--ulimit=nproc=${engine.processesPerUser}:${engine.processesPerUser}`,
    '--ulimit=core=0:0',
    `--ulimit=fsize=${workspaceBytes}:${workspaceBytes}`,
    `--shm-size=${shmMb(spec.limits)}m`,
  ];
}

function mounts(engine: Engine, { spec, launchFile, resolverFile }: CreateOptions): string[] {
  return [
    `--tmpfs=/tmp:rw,noexec,nosuid,nodev,size=${tmpMb(spec.limits)}m,mode=1777`,
    spec.clone === undefined
      ? `--tmpfs=/workspace:rw,exec,nosuid,nodev,size=${workspaceMb(spec.limits)}m,mode=1777`
      : // With `U` the engine gives the folder to the user that `user` is on the host.
        `--volume=${spec.clone.folder}:/workspace:rw,z${engine.ownUsers === undefined ? '' : ',U'}`,
    // With `z` the container may read the files on hosts with SELinux.
    `--volume=${launchFile}:${LAUNCH_PATH}:ro,z`,
    ...(resolverFile === undefined ? [] : [`--volume=${resolverFile}:/etc/resolv.conf:ro,z`]),
    ...(engine.shellPath === undefined ? [] : [`--volume=${engine.shellPath}:${SHELL_PATH}:ro,z`]),
    ...(spec.clone?.caFile === undefined
      ? []
      : [`--volume=${spec.clone.caFile}:${CA_BUNDLE_IN_CONTAINER}:ro,z`]),
  ];
}

function podmanOnly(engine: Engine, spec: SandboxSpec): string[] {
  const netSeconds = Math.ceil(spec.limits.timeoutSeconds) + GRACE_MS / 1000 + ENGINE_DEADLINE_SLACK_SECONDS;
  return [
    ...(engine.ownUsers === undefined ? [] : [`--userns=auto:size=${RANGE_IDS}`]),
    '--read-only-tmpfs=false',
    '--uts=private',
    '--systemd=false',
    // podman would hand the host's proxy variables, with their passwords, to the task.
    '--http-proxy=false',
    '--image-volume=ignore',
    `--timeout=${netSeconds}`,
  ];
}

function dockerOnly(engine: Engine): string[] {
  return ['--restart=no', ...(engine.runtime === undefined ? [] : [`--runtime=${engine.runtime}`])];
}
