/** Builds as a kind of work, and the clean-up before the first one. */
import { writeCaBundle } from '../executor/ca-bundle.ts';
import { errorText } from '../platform/errors.ts';
import type { Engine } from '../executor/engine.ts';
import type { Executor } from '../executor/executor.ts';
import { createTeamImages } from '../executor/team-images.ts';
import { noteRegistry } from '../disk/last-registry.ts';
import type { Log } from '../platform/log.ts';
import type { Work } from '../work/run-work.ts';
import { createSlots, type Slots } from '../work/slots.ts';
import type { BuildOffer } from '../control-plane/wire.ts';
import { createBuilder } from './builder.ts';
import { startBuild } from './build.ts';
import type { AppLimits, Deployers } from './deployer.ts';
import { endpointOfUrl, type Endpoint } from '../network/egress.ts';
import { planOf, secretsOfBuild } from './plan.ts';
import type { TestDatabases } from './test-database.ts';
import { machinePaths, sweepWorkspaces, workspaceOf, type BuildHost } from './workspace.ts';

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
  allowUncontainedApps: boolean;
  allowMount: readonly string[];
  /** `open`: apps of this runner's own team have the engine's network. */
  appNetwork: 'contained' | 'open';
  maxStoreMb: number;
  minFreeMb: number;
  /** Address of this machine that deployed containers are bound to. */
  deployAddress: string;
  deployLimits: AppLimits;
  /** Authorities to trust besides the usual ones, as PEM text. */
  ca: string | undefined;
}

export interface DatabasesOfBuilds {
  tests: TestDatabases;
  /** Returns the password of a database of an app. */
  passwordOf: (id: string) => string;
}

export interface BuildsOptions {
  executor: Executor;
  deployers: Deployers;
  /** Absent where this machine brings up no databases. */
  databases: DatabasesOfBuilds | undefined;
  settings: BuildSettings;
  dataDir: string;
  runnerId: string;
  /** The control plane's address. */
  baseUrl: string;
  env: NodeJS.ProcessEnv;
  log: Log;
}

/**
 * Returns undefined when this runner takes no builds. Before that it kills and removes everything that builds
 * of an earlier process left.
 */
export async function openBuilds(options: BuildsOptions): Promise<Builds | undefined> {
  const { executor, deployers, databases, settings, log, dataDir, runnerId } = options;
  const { buildEngine: engine } = executor;
  const host = { dataDir, runnerId, engine };
  await sweepBuilds(host, log);
  // The sweep comes first: processes of an earlier daemon must not change the apps meanwhile.
  await databases?.tests.sweep().catch((error: unknown) => {
    log.error({ problem: errorText(error) }, 'test databases of earlier builds are not removed');
  });
  await deployers.restore();
  if (engine === undefined) {
    log.info({ executor: executor.name }, 'taking no builds: they need podman or docker on this machine');
    return undefined;
  }
  await learnImages(engine.engine, dataDir, log);
  if (settings.buildSlots === 0) return undefined;
  const builder = createBuilder({
    buildEngine: engine,
    dataDir,
    allowUncontained: settings.allowUncontainedBuilds,
    allowedEgress: settings.allowEgress,
    allowedRegistries: settings.allowRegistry,
    controlPlane: endpointOfUrl(options.baseUrl),
    maxStoreMb: settings.maxStoreMb,
    minFreeMb: settings.minFreeMb,
    log,
    now: () => new Date(),
  });
  // Builds wait for the proof of the containment, runs do not.
  void builder.isolation();
  const caFile = await writeCaBundle(dataDir, { ca: settings.ca, env: options.env });
  return {
    slots: createSlots(settings.buildSlots),
    notReady: () => [...builder.notReady(), ...deployers.notReady()],
    work: {
      kind: 'build',
      secretsOf: (offer) => [
        ...secretsOfBuild(offer),
        ...(databases === undefined ? [] : passwordsOf(databases, offer)),
        // A stranger who builds here is not told how the machine is set up.
        ...(offer.shared === true ? machinePaths(host, workspaceOf(host, offer.id, offer.epoch)) : []),
      ],
      prepare(offer) {
        const plan = planOf(offer, settings);
        if (plan.image !== undefined) void noteRegistry(dataDir, plan.image);
        const build = {
          host: { ...host, engine },
          executor,
          builder,
          deployers,
          testDatabases: databases?.tests,
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

/** Until it has succeeded once, names that deploys of an earlier version brought count as the operator's. */
async function learnImages(engine: Engine, dataDir: string, log: Log): Promise<void> {
  try {
    await createTeamImages(dataDir).learn(engine);
  } catch (error) {
    log.error(
      { problem: errorText(error) },
      'images that deploys of an earlier version brought cannot be looked for, the next start of the daemon tries again',
    );
  }
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

/** Returns what a build may print of its databases: an app that does not come up says what it was given. */
function passwordsOf({ tests, passwordOf }: DatabasesOfBuilds, offer: BuildOffer): string[] {
  const { deploy, testDatabase } = offer;
  return [
    ...(deploy?.databases ?? []).map(({ id }) => passwordOf(id)),
    ...(testDatabase === undefined ? [] : tests.secretsOf(offer)),
  ];
}
