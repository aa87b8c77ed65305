/** What a build needs of whoever brings an image up on this machine; `deploy/` implements it, and the daemon hands it in. */
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
  /** By digest where it was published; by id where it is in this engine only. */
  image: string;
  /** Variables and secrets together. */
  env: Readonly<Record<string, string>>;
  /** Address of this machine that containers are bound to. */
  bindAddress: string;
  /** For containers alone: Dokku has settings of its own. */
  limits: AppLimits;
}

export interface Deployed {
  /** Where it answers, as it is bound; absent when nobody knows. */
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
  /** After the start of a daemon: ends every deploy that an earlier process had begun. Never rejects. */
  restore(engine: Engine, runnerId: string, log: Log): Promise<void>;
}
