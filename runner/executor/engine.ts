/** A container engine of this machine, podman or docker, and how it is called. */

export type EngineName = 'podman' | 'docker';

export interface Engine {
  name: EngineName;
  /** Absolute path. */
  program: string;
  /** OCI runtime that works here; absent: the engine's own choice. */
  runtime?: string;
  /** Absent: the engine's built-in filter stays (docker ships no file to derive ours from). */
  seccompPath?: string;
  /** A shell of the host that is mounted for the launch script; absent: the image's own. */
  shellPath?: string;
  timeouts: EngineTimeouts;
  /** Hard limit of processes for the task's user, see taskProcessesMax. */
  processesPerUser: number;
  /** Each container has users of the host for itself, given out by the engine. Absent: they are the host's own. */
  ownUsers?: { hooksFolder: string };
  /** Parent group for evidence of memory kills, see engine-cgroup.ts. */
  cgroupParentOf?: (containerName: string) => string;
}

/** How long the engine may take to answer before it counts as dead. */
export interface EngineTimeouts {
  createMs: number;
  callMs: number;
  removeMs: number;
  /** From `start` until the container must be running. */
  startMs: number;
}

/** Creating may copy up a large image's layers on a busy disk; the rest is quick on an engine that is alive. */
export const ENGINE_TIMEOUTS: EngineTimeouts = {
  createMs: 60_000,
  callMs: 10_000,
  removeMs: 30_000,
  startMs: 20_000,
};

export function engineArgv(engine: Engine, ...args: readonly string[]): string[] {
  const runtime =
    engine.name === 'podman' && engine.runtime !== undefined ? ['--runtime', engine.runtime] : [];
  return [engine.program, ...runtime, '--log-level=error', ...args];
}
