/** Brings an image up on this machine. Called in the phase `deploying`, after the control plane has confirmed that phase. */
import type { BuildContext } from '../build/context.ts';
import type { DeployPlan } from '../build/plan.ts';
import type { AppLimits } from '../commands/settings.ts';
import { containerDeployer } from './container.ts';
import { dokkuDeployer } from './dokku.ts';

export interface DeployRequest {
  target: DeployPlan;
  /** By digest where it was published; by id where it is in this engine only. */
  image: string;
  /** Variables and secrets together. */
  env: Readonly<Record<string, string>>;
  /** Address of this machine that containers are bound to. */
  bindAddress: string;
  /** Of a container; Dokku has settings of its own. */
  limits: AppLimits;
}

export interface Deployed {
  /** Where it answers, as it is bound; absent when nobody knows. */
  address?: string;
}

export interface Deployer {
  readonly kind: DeployPlan['kind'];
  /** Throws BuildFailed when the image does not come up; what was there before is then up again. */
  deploy(context: BuildContext, request: DeployRequest): Promise<Deployed>;
}

const DEPLOYERS: Readonly<Record<DeployPlan['kind'], Deployer>> = {
  container: containerDeployer,
  dokku: dokkuDeployer,
};

export function deployerOf(kind: DeployPlan['kind']): Deployer {
  return DEPLOYERS[kind];
}
