/**
 * The interface between the daemon and the code that runs a task on this machine.
 *
 * An executor owns everything that a run creates on the host (container, namespaces, cgroup, files) from
 * `start` until `done` has resolved; by then everything is removed. It decides the reason of an end exactly
 * once: exit, timeout, cancel and lease loss race for one variable, and the first to write it wins (see
 * supervise.ts).
 */
import type { WorkRef } from '../control-plane/work-ref.ts';
import type { Engine } from './engine.ts';
import type { WireEndReason } from '../control-plane/wire.ts';

export type ExecutorName = 'podman' | 'docker' | 'namespaces';

/**
 * The reason why a run ended. `exit`: by itself, with `exitCode` or `signal`. `engine_error`: it never ran
 * properly, through no fault of the task (image missing, engine dead or hanging); `message` gives the cause.
 * `output` is reserved: output past its limit is cut with a visible marker and the task keeps running.
 */
export type EndReason = WireEndReason | 'output';

export type KillReason = 'cancelled' | 'lease_lost';

export interface SandboxLimits {
  /** Wall time from the moment the task's process starts, on the monotonic clock. */
  timeoutSeconds: number;
  /** All memory of the task together, tmpfs included, in MiB. */
  memoryMb: number;
  /** May be a fraction. */
  cpus: number;
  /** Processes and threads together. */
  pids: number;
  /** stdout and stderr together; what comes after is dropped and one marker line says so. */
  outputBytes: number;
}

export interface SandboxSpec {
  runnerId: string;
  workId: string;
  epoch: number;
  /** A local tag or a digest reference; never pulled. Refused by the namespaces executor. */
  image?: string;
  /** Whose images `image` may name besides the operator's. */
  team?: string;
  /**
   * The machine works for teams that do not trust each other: it gives a team no images but its own and the
   * operator's.
   */
  shared?: boolean;
  command: readonly string[];
  env: Readonly<Record<string, string>>;
  /** Absolute; default `/workspace`. */
  workdir?: string;
  stdin?: string;
  /**
   * Build steps may have a network: `private` is the engine's own, without access to this machine; an
   * OwnNetwork is the container's alone, with an egress of the runner.
   */
  network: 'none' | 'private' | OwnNetwork;
  /**
   * For build steps: a folder of the host that is mounted at /workspace, writable, instead of an empty one in
   * memory.
   */
  clone?: CloneMount;
  limits: SandboxLimits;
}

export interface OwnNetwork {
  readonly nameServer: string;
  /** Makes the egress, when the network exists and nothing runs in it yet. */
  open(network: Network): Promise<{ close(): void }>;
}

/** A network, identified by its processes. */
export interface Network {
  /** A process that is in it. */
  pid: number;
  /** A process in the user namespace that owns it, which this user may join. */
  usersPid: number;
}

export interface CloneMount {
  folder: string;
  /**
   * The owner of the folder inside the container: `uid:gid`. Without capabilities no other user could write
   * there.
   */
  user: string;
  /** Certificate authorities, where the runner was given some: mounted, and named in the environment. */
  caFile?: string;
}

export interface Outcome {
  /** Absent when no process of the task ended by itself or by a visible signal. */
  exitCode?: number;
  /** `SIGKILL` and so on; `exitCode` then holds 128 + n, as in a shell. */
  signal?: string;
  reason: EndReason;
  /** Measured on the monotonic clock. */
  durationMs: number;
  message?: string;
}

export type OutputStream = 'stdout' | 'stderr';

/**
 * One call at a time, chunks below 128 KiB, cut at any byte. A returned promise is back-pressure: nothing
 * more is read from the task until it resolves; its rejection ends the run with `engine_error`.
 */
export type OnOutput = (stream: OutputStream, chunk: Uint8Array) => void | Promise<void>;

export interface Running {
  /** Never rejects. Resolves after the last `onOutput` was delivered and the host is clean again. */
  readonly done: Promise<Outcome>;
  /**
   * Idempotent: the first reason stands. SIGTERM, then SIGKILL after `graceMs` (default 5000; 0 kills at
   * once).
   */
  kill(reason: KillReason, graceMs?: number): void;
}

export interface Executor {
  readonly name: ExecutorName;
  readonly isolation: 'container' | 'namespaces';
  /**
   * True if what `reap` does not find any more runs no more and never will, at whatever moment its daemon
   * died.
   */
  readonly endsLeftovers: boolean;
  /** Describes engine, version, runtime and memory limits in one line for people. */
  describe(): string;
  /**
   * Starts the task. Rejects with InvalidSpecError when the spec can never run (bad name, leading '-');
   * anything that goes wrong with the machine is an outcome with reason `engine_error`.
   */
  start(spec: SandboxSpec, onOutput: OnOutput): Promise<Running>;
  /**
   * Kills and removes the leftovers of earlier daemons of this runner, except the live ones; returns those it
   * found.
   */
  reap(isLive: (ref: WorkRef) => boolean): Promise<WorkRef[]>;
  /**
   * The folder with the engine's images and containers on this machine; absent where there is no engine, or a
   * remote one.
   */
  readonly storageFolder?: string | undefined;
  /** Set when tasks share users of the host with other processes: the reason, and what to do about it. */
  readonly sharedUsers?: string | undefined;
  /** The container engine for builds; absent where there is none: then this runner cannot build. */
  readonly buildEngine?: BuildEngine;
}

export interface BuildEngine {
  engine: Engine;
  rootless: boolean;
  /** The folder for secrets, which is in memory where possible, and closed to other users. */
  privateFolder: string;
  /** The image of build steps. */
  stepImage: string;
}

export interface DetectOptions {
  /** Only this executor is tried; never silently another. */
  wanted?: ExecutorName;
  dataDir: string;
  runnerId: string;
  /** Used for runs without an image; default: a small base image made from this machine's own tools. */
  defaultImage?: string;
  log: (message: string, fields?: object) => void;
}
