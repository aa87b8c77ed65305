/** This file knows a container engine of this machine, podman or docker, and begins its command lines. */
import { runCommand, type CommandResult } from './command.ts';

export type EngineName = 'podman' | 'docker';

export interface Engine {
  name: EngineName;
  /** Absolute path. */
  program: string;
  /** An OCI runtime that works here; without it, the engine's own choice. */
  runtime?: string;
  /** Without it the engine's built-in filter stays (docker ships no file to derive one from). */
  seccompPath?: string;
  /** A shell of the host that is mounted for the launch script; without it, the image's own. */
  shellPath?: string;
  timeouts: EngineTimeouts;
  /** Hard limit of processes for the task's user, see taskProcessesMax. */
  processesPerUser: number;
  /**
   * Each container has users of the host for itself, allocated by the engine. Without it, containers share
   * the host's own users.
   */
  ownUsers?: { hooksFolder: string };
  /** Parent group for evidence of memory kills, see engine-cgroup.ts. */
  cgroupParentOf?: (containerName: string) => string;
}

/** Time limits of the engine's calls, after which it counts as dead. */
export interface EngineTimeouts {
  createMs: number;
  callMs: number;
  removeMs: number;
  /** Time from `start` until the container must be running. */
  startMs: number;
}

/**
 * Creating may copy up a large image's layers on a busy disk; the rest is quick on an engine that is alive.
 */
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

/** Runs one command of the engine. */
export async function runEngine(
  engine: Engine,
  timeoutMs: number,
  ...args: readonly string[]
): Promise<CommandResult> {
  return await runCommand(engineArgv(engine, ...args), { timeoutMs });
}
