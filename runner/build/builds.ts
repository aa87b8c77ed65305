/** Builds as a kind of work, and the clean-up before the first one. */
import { writeCaBundle } from '../executor/ca-bundle.ts';
import { errorText } from '../platform/errors.ts';
import type { Executor } from '../executor/executor.ts';
import { noteRegistry } from '../disk/last-registry.ts';
import type { Log } from '../platform/log.ts';
import type { Work } from '../work/run-work.ts';
import { createSlots, type Slots } from '../work/slots.ts';
import type { BuildOffer } from '../control-plane/wire.ts';
import { createBuilder } from './builder.ts';
import { startBuild } from './build.ts';
import type { AppLimits, Deployers } from './deployer.ts';
import { endpointOfUrl, type Endpoint } from './egress.ts';
import { planOf, secretsOfBuild } from './plan.ts';
import { sweepWorkspaces, type BuildHost } from './workspace.ts';

export interface Builds {
  slots: Slots;
  work: Work<BuildOffer>;
  /** The reasons why no builds can be taken, besides those that hold for all work. */
  notReady(): string[];
}

export interface BuildSettings {
  buildSlots: number;
  allowInsecureGit: boolean;
  allowEgress: readonly Endpoint[];
  allowRegistry: readonly Endpoint[];
  allowUncontainedBuilds: boolean;
  maxStoreMb: number;
  /** Address of this machine that deployed containers are bound to. */
  deployAddress: string;
  deployLimits: AppLimits;
  /** Authorities to trust besides the usual ones, as PEM text. */
  ca?: string;
}

export interface BuildsOptions {
  executor: Executor;
  deployers: Deployers;
  settings: BuildSettings;
  dataDir: string;
  runnerId: string;
  /** The control plane's address. */
  baseUrl: string;
  env: NodeJS.ProcessEnv;
  log: Log;
}

/** Returns undefined when this runner takes no builds. Before that it kills and removes everything that builds of an earlier process left. */
export async function openBuilds(options: BuildsOptions): Promise<Builds | undefined> {
  const { executor, deployers, settings, log, dataDir, runnerId } = options;
  const { buildEngine: engine } = executor;
  const host = { dataDir, runnerId, engine };
  await sweepBuilds(host, log);
  // The sweep comes first: processes of an earlier daemon must not change the apps meanwhile.
  if (engine !== undefined) await deployers.restore(engine.engine, runnerId, log);
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
  // Builds wait for the proof of the containment, runs do not.
  void builder.isolation();
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
          deployers,
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
