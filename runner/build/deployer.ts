/**
 * The interface between a build and the code that brings an image up on this machine; `deploy/` implements
 * it, and the daemon passes it in.
 */
import type { BuildContext } from './context.ts';
import type { DatabasePlan } from './database-plan.ts';
import type { Mount } from './mount-plan.ts';
import type { DeployPlan } from './plan.ts';
import type { SandboxLimits } from '../executor/executor.ts';

/** Limits of each deployed container. */
export type AppLimits = Pick<SandboxLimits, 'memoryMb' | 'cpus' | 'pids'>;

export interface DeployRequest {
  target: DeployPlan;
  /** A reference by digest where the image was published; its local tag where it was not. */
  image: string;
  /**
   * The image's name in the store of the build that made it; absent where the image exists elsewhere, or in
   * the machine's engine.
   */
  built?: string;
  /** Variables and secrets together. */
  env: Readonly<Record<string, string>>;
  /** Address of this machine that containers are bound to. */
  bindAddress: string;
  /** Used for containers alone: Dokku has settings of its own. */
  limits: AppLimits;
  /** Absent where the app gets the engine's own network. */
  network?: AppNetwork | undefined;
  /** Brings the storage of the app; the machine's deployers add it. */
  mounts?: AppMounts;
  /** Brings up the database of the app; the machine's deployers add it. */
  databases?: AppDatabases | undefined;
  /**
   * The new container has taken its place: resolves when whoever is led to the app is led there. Rejects: the
   * earlier one has to serve on.
   */
  switched?: (address: string) => Promise<void>;
}

/** Storage of apps on this machine. */
export interface AppMounts {
  /** Makes volumes that are missing, and returns the arguments of a container that has all of them. */
  args(environment: string, mounts: readonly Mount[]): Promise<string[]>;
  /** Says in a sentence why this machine refuses the mount; undefined when it does not. */
  problemOf(mount: Mount): Promise<string | undefined>;
  /** Removes the volume of data of an environment. One that is not there is removed. */
  remove(environment: string, hostPath: string): Promise<void>;
}

/** Databases of apps on this machine. */
export interface AppDatabases {
  /**
   * Resolves when the app's database answers on the network of the app, with what a container needs to reach
   * it; undefined: it has none. Throws BuildFailed when it does not answer in time.
   */
  bring(environment: string, app: string, plans: readonly DatabasePlan[]): Promise<AppDatabase | undefined>;
  /** The deploy has ended. */
  leave(environment: string): void;
}

export interface AppDatabase {
  /** Arguments of a container. */
  readonly args: readonly string[];
  /** Variables of the deployed container, and of nothing else. */
  readonly env: Readonly<Record<string, string>>;
}

/** A network of its own for an app. */
export interface AppNetwork {
  /** Returns the arguments of a container in it. */
  enter(app: string): Promise<string[]>;
  /** The deploy has ended: the network goes when no container is in it. */
  leave(app: string): Promise<void>;
}

/** A deploy gets this on this machine. */
export interface Admission {
  network?: AppNetwork;
  /** They are for the build's output. */
  warnings: string[];
}

export interface Deployed {
  /** The address that the app is bound to; absent when it is unknown. */
  address?: string;
}

/** Called in the phase `deploying`, after the control plane has confirmed that phase. */
export interface Deployer {
  readonly kind: DeployPlan['kind'];
  /** Throws BuildFailed when the image does not come up; what was there before is then up again. */
  deploy(context: BuildContext, request: DeployRequest): Promise<Deployed>;
}

export interface Deployers {
  of(kind: DeployPlan['kind']): Deployer;
  /** Throws when the app must not be deployed here. `shared`: the machine is of many teams. */
  admit(target: DeployPlan, shared: boolean): Promise<Admission>;
  /**
   * The reasons why it takes no builds any more: it was offered a deploy that a machine of many teams must
   * refuse.
   */
  notReady(): string[];
  /**
   * Runs after the start of a daemon and ends every deploy that an earlier process had begun. Never rejects.
   */
  restore(): Promise<void>;
  readonly mounts: AppMounts | undefined;
  /** The containers of an app were removed: its network goes, too. Never rejects. */
  left(app: string): Promise<void>;
  /** Runs every few seconds: apps keep their rules, and those that have ended start again. Never rejects. */
  check(): Promise<void>;
}
