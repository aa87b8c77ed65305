/** The ways in which this runner brings an image up on its machine. */
import type { Deployers } from '../build/deployer.ts';
import type { Engine } from '../executor/engine.ts';
import { errorText } from '../platform/errors.ts';
import type { Log } from '../platform/log.ts';
import { restoreApps } from './app-containers.ts';
import { containerDeployer } from './container.ts';
import { dokkuDeployer } from './dokku.ts';

const DEPLOYERS = { container: containerDeployer, dokku: dokkuDeployer };

export const deployers: Deployers = { of: (kind) => DEPLOYERS[kind], restore: restoreDeploys };

async function restoreDeploys(engine: Engine, runnerId: string, log: Log): Promise<void> {
  try {
    for (const { app, problem } of await restoreApps(engine, runnerId))
      if (problem === undefined)
        log.warn(
          { app },
          'a deploy of an earlier process was not finished: what served before it serves again',
        );
      else
        log.error(
          { app, problem },
          'a deploy of an earlier process was not finished, and what served before it cannot be brought back',
        );
  } catch (error) {
    log.error({ problem: errorText(error) }, 'deploys of an earlier process cannot be looked for');
  }
}
