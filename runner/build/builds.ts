/** Builds as a kind of work, and what must be put in order before the first one. */
import { endpointOfUrl } from './egress.ts';
import { writeCaBundle } from '../executor/ca-bundle.ts';
import { errorText } from '../platform/errors.ts';
import { restoreApps } from '../deploy/app-containers.ts';
import type { Engine } from '../executor/engine-argv.ts';
import type { Executor } from '../executor/executor.ts';
import { noteRegistry } from '../disk/last-registry.ts';
import type { Log } from '../platform/log.ts';
import type { Work } from '../work/run-work.ts';
import type { RunSettings } from '../commands/settings.ts';
import { createSlots, type Slots } from '../work/slots.ts';
import type { BuildOffer } from '../control-plane/wire.ts';
import { createBuilder } from './builder.ts';
import { startBuild } from './build.ts';
import { planOf, secretsOfBuild } from './plan.ts';
import { sweepWorkspaces, type BuildHost } from './workspace.ts';

export interface Builds {
  slots: Slots;
  work: Work<BuildOffer>;
  /** Why no builds can be taken, besides what holds for all work. */
  notReady(): string[];
}

export interface BuildsOptions {
  executor: Executor;
  settings: Pick<
    RunSettings,
    | 'buildSlots'
    | 'allowInsecureGit'
    | 'deployAddress'
    | 'deployLimits'
    | 'ca'
    | 'allowEgress'
    | 'allowRegistry'
    | 'allowUncontainedBuilds'
    | 'maxStoreMb'
  >;
  dataDir: string;
  runnerId: string;
  /** Of the control plane. */
  baseUrl: string;
  env: NodeJS.ProcessEnv;
  log: Log;
}

/** Undefined: this runner takes no builds. Before that, whatever builds of an earlier process left is killed and removed. */
export async function openBuilds(options: BuildsOptions): Promise<Builds | undefined> {
  const { executor, settings, log, dataDir, runnerId } = options;
  const { buildEngine: engine } = executor;
  const host = { dataDir, runnerId, engine };
  await sweepBuilds(host, log);
  if (engine !== undefined) await restoreDeploys(engine.engine, runnerId, log);
  if (engine === undefined) {
    log.info({ executor: executor.name }, 'taking no builds: they need podman or docker on this machine');
    return undefined;
  }
  if (settings.buildSlots === 0) return undefined;
  const builder = createBuilder({
    buildEngine: engine,
    dataDir,
    allowUncontained: settings.allowUncontainedBuilds,
    allowedEgress: settings.allowEgress,
    allowedRegistries: settings.allowRegistry,
    controlPlane: endpointOfUrl(options.baseUrl),
    maxStoreMb: settings.maxStoreMb,
    log,
    now: () => new Date(),
  });
  // Builds wait for the proof, runs do not.
  void builder.way();
  const caFile = await writeCaBundle(dataDir, { ca: settings.ca, env: options.env });
  return {
    slots: createSlots(settings.buildSlots),
    notReady: builder.notReady,
    work: {
      kind: 'build',
      secretsOf: secretsOfBuild,
      prepare(offer) {
        const plan = planOf(offer, settings);
        if (plan.image !== undefined) void noteRegistry(dataDir, plan.image);
        const build = {
          host: { ...host, engine },
          executor,
          builder,
          env: options.env,
          caFile,
          deployAddress: settings.deployAddress,
          deployLimits: settings.deployLimits,
          log,
        };
        return async (start) => startBuild(plan, build, start);
      },
    },
  };
}

async function sweepBuilds(host: BuildHost, log: Log): Promise<void> {
  try {
    // Nothing is live yet.
    for (const { problem, ...ref } of await sweepWorkspaces(host, () => false))
      if (problem === undefined) log.warn(ref, 'killed and removed what an earlier process left of a build');
      else
        log.error(
          { ...ref, problem },
          'what an earlier process left of a build cannot be removed, the next start of the daemon tries again',
        );
  } catch (error) {
    log.error({ problem: errorText(error) }, 'what builds of an earlier process left cannot be removed');
  }
}

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
