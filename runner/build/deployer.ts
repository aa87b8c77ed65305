/** The interface between a build and the code that brings an image up on this machine; `deploy/` implements it, and the daemon passes it in. */
import type { Engine } from '../executor/engine.ts';
import type { Log } from '../platform/log.ts';
import type { BuildContext } from './context.ts';
import type { DeployPlan } from './plan.ts';

/** Limits of each deployed container. */
export interface AppLimits {
  memoryMb: number;
  cpus: number;
  /** Processes and threads together. */
  pids: number;
}

export interface DeployRequest {
  target: DeployPlan;
  /** A reference by digest where the image was published; its id where it is in this engine only. */
  image: string;
  /** Variables and secrets together. */
  env: Readonly<Record<string, string>>;
  /** Address of this machine that containers are bound to. */
  bindAddress: string;
  /** Used for containers alone: Dokku has settings of its own. */
  limits: AppLimits;
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
  /** Runs after the start of a daemon and ends every deploy that an earlier process had begun. Never rejects. */
  restore(engine: Engine, runnerId: string, log: Log): Promise<void>;
}
