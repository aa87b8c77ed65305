/** The ways in which this runner brings an image up on its machine, and what an app gets there. */
import { BuildFailed, MachineFailed } from '../build/failure.ts';
import type { Admission, AppDatabases, AppMounts, Deployer, Deployers } from '../build/deployer.ts';
import type { Executor } from '../executor/executor.ts';
import { createAppNetworks, type AppNetworks, type Site } from '../network/app-network.ts';
import type { Endpoint } from '../network/egress.ts';
import { monotonicMs } from '../platform/clock.ts';
import { errorText } from '../platform/errors.ts';
import type { Log } from '../platform/log.ts';
import { createProblemLog, type ProblemLog } from '../platform/problem-log.ts';
import type { DeployPlan } from '../build/plan.ts';
import { restoreApps } from './app-containers.ts';
import { detectAppIsolation, type AppIsolation } from './app-isolation.ts';
import { appsOutside, createKeeper, type Keeper } from './app-keeper.ts';
import { containerDeployer } from './container.ts';
import { dokkuDeployer } from './dokku.ts';
import { hostedApps } from './hosted.ts';
import { createMounts } from './mounts.ts';
import { createUserRanges } from './user-ranges.ts';

const DEPLOYERS = { container: containerDeployer, dokku: dokkuDeployer };
/**
 * Rules are looked at with each check; the engine is asked so often, which costs more, and only where there
 * are apps.
 */
const ENGINE_MS = 10_000;

/** Images, volumes and sockets of engines lie there. */
const ENGINE_FOLDERS = ['/var/lib/containers', '/var/lib/docker', '/run', '/var/run'];

export interface DeployersOptions {
  executor: Pick<Executor, 'buildEngine'>;
  settings: {
    allowEgress: readonly Endpoint[];
    allowUncontainedApps: boolean;
    appNetwork: 'contained' | 'open';
    /** Folders below which apps may mount paths. */
    allowMount: readonly string[];
    /** No app mounts anything of it. */
    backupDir?: string | undefined;
  };
  dataDir: string;
  runnerId: string;
  /** Leads the names of an environment to an address of its app; absent where nobody does. */
  switchTo?: ((environment: string, address: string) => Promise<void>) | undefined;
  /** Makes the databases of apps with these parts; absent where this machine brings up none. */
  databases?: ((parts: { networks: AppNetworks; mounts: AppMounts }) => AppDatabases) | undefined;
  log: Log;
  /** Replaced in tests. */
  site?: Site;
}

export function createDeployers(options: DeployersOptions): Deployers {
  const { buildEngine } = options.executor;
  if (buildEngine === undefined)
    return {
      mounts: undefined,
      of: (kind) => DEPLOYERS[kind],
      admit: () => Promise.reject(new MachineFailed('this machine has no container engine')),
      notReady: () => [],
      restore: async () => undefined,
      left: async () => undefined,
      check: async () => undefined,
    };
  return new EngineDeployers(options, buildEngine);
}

class EngineDeployers implements Deployers {
  readonly #options: DeployersOptions;
  readonly #buildEngine: NonNullable<Executor['buildEngine']>;
  readonly #networks: AppNetworks;
  readonly #databases: AppDatabases | undefined;
  readonly mounts: AppMounts;
  readonly #keeper: Keeper;
  /** Apps whose containers are being changed. */
  readonly #busy = new Set<string>();
  #isolation: Promise<AppIsolation> | undefined;
  #refusal: string | undefined;
  readonly #problem: ProblemLog;
  #engineAtMs = Number.NEGATIVE_INFINITY;
  #hasApps = true;
  #checking: Promise<void> | undefined;

  constructor(options: DeployersOptions, buildEngine: NonNullable<Executor['buildEngine']>) {
    const { runnerId, dataDir, settings, log } = options;
    const { engine } = buildEngine;
    this.#options = options;
    this.#problem = createProblemLog(log, 'apps cannot be looked after');
    this.#buildEngine = buildEngine;
    this.#networks = createAppNetworks({
      engine,
      runnerId,
      dataDir,
      allowed: settings.allowEgress,
      log,
      site: options.site,
    });
    this.mounts = createMounts({
      engine,
      runnerId,
      roots: settings.allowMount,
      kept: [dataDir, ...(settings.backupDir === undefined ? [] : [settings.backupDir]), ...ENGINE_FOLDERS],
      ranges: createUserRanges(engine, dataDir),
    });
    this.#databases = options.databases?.({ networks: this.#networks, mounts: this.mounts });
    this.#keeper = createKeeper({ engine, runnerId, isBusy: (app) => this.#busy.has(app), log });
  }

  of(kind: Deployer['kind']): Deployer {
    return {
      kind,
      deploy: async (context, request) => {
        const { app } = request.target;
        this.#busy.add(app);
        this.#hasApps = true;
        try {
          const { environment } = request.target;
          const { switchTo } = this.#options;
          return await DEPLOYERS[kind].deploy(context, {
            ...request,
            mounts: this.mounts,
            databases: this.#databases,
            ...(environment !== undefined &&
              switchTo !== undefined && {
                switched: async (address: string) => await switchTo(environment, address),
              }),
          });
        } finally {
          this.#busy.delete(app);
        }
      },
    };
  }

  async admit(
    { kind, mounts, databases }: Pick<DeployPlan, 'kind' | 'mounts' | 'databases'>,
    shared: boolean,
  ): Promise<Admission> {
    if (databases.some(({ remove }) => !remove) && (this.#databases === undefined || kind !== 'container'))
      throw new BuildFailed(
        'the environment has a database, and this machine brings up none: start its runner with --databases',
      );
    for (const mount of mounts) {
      // A folder that its operator lists would be there for every team.
      const foreign =
        shared && mount.kind === 'path' ? 'machines of many teams mount no paths of theirs' : undefined;
      const problem = foreign ?? (await this.mounts.problemOf(mount));
      if (problem !== undefined) throw new BuildFailed(`storage ${mount.hostPath}: ${problem}`);
    }
    const { allowUncontainedApps, appNetwork } = this.#options.settings;
    if (kind === 'dokku') return admitDokku(shared);
    if (appNetwork === 'open' && !shared) return { warnings: [] };
    this.#isolation ??= this.#detect();
    const isolation = await this.#isolation;
    // A busy machine may fail its proof: the next deploy asks again.
    if (!isolation.contained) this.#isolation = undefined;
    const refusal = refusalOf(isolation, shared, allowUncontainedApps);
    if (refusal !== undefined) {
      this.#refusal = 'deploys: apps are not contained on this machine, see svc-runner doctor';
      throw new MachineFailed(refusal);
    }
    const warnings: string[] = [];
    if (!isolation.contained)
      warnings.push(
        `warning: ${stateOf(isolation)}: an app can reach ${isolation.filtered === true ? 'this machine through a hole of the engine' : 'this machine and its site'}`,
      );
    if (!isolation.contained && isolation.filtered === undefined) return { warnings };
    if (!(await this.#networks.resolvesNames()))
      warnings.push(
        'warning: every name server of this machine is on its loopback, so apps can resolve no names',
      );
    return { network: this.#networks, warnings };
  }

  notReady(): string[] {
    return this.#refusal === undefined ? [] : [this.#refusal];
  }

  async restore(): Promise<void> {
    const { runnerId, settings, log } = this.#options;
    const { engine } = this.#buildEngine;
    if (settings.appNetwork === 'open')
      log.warn(
        {},
        "apps have the network of the engine (--app-network open), except those of the service's pool, for which this is not honoured",
      );
    // Rules come before apps.
    if (!(await this.#holdRules())) return;
    await this.#leadOn();
    await restoreDeploys(engine, runnerId, log);
    this.#engineAtMs = Number.NEGATIVE_INFINITY;
    await this.check();
    if (settings.appNetwork === 'open') return;
    const outside = await appsOutside(engine, runnerId).catch(() => []); // The check has said what is wrong with the engine.
    if (outside.length > 0)
      log.warn({ apps: outside }, 'apps have no network of their own until they are deployed again');
  }

  /** Names may still lead to the container that goes now, as a deploy may have been cut off. */
  async #leadOn(): Promise<void> {
    const { switchTo, runnerId } = this.#options;
    if (switchTo === undefined) return;
    await this.#problem.during(async () => {
      const own = (await hostedApps(this.#buildEngine.engine)).filter(({ runner }) => runner === runnerId);
      const replaced = new Set(own.flatMap(({ role, app }) => (role === 'is replaced' ? [app] : [])));
      for (const { role, app, environment, address } of own)
        if (role === 'serves' && replaced.has(app) && environment !== undefined && address !== undefined)
          await switchTo(environment, address);
    });
  }

  async left(app: string): Promise<void> {
    // docker makes no networks of ours.
    if (this.#buildEngine.engine.name === 'podman') await this.#networks.leave(app);
  }

  async check(): Promise<void> {
    this.#checking ??= this.#check().finally(() => (this.#checking = undefined));
    await this.#checking;
  }

  async #check(): Promise<void> {
    if (!(await this.#holdRules())) return;
    if (!this.#hasApps || monotonicMs() - this.#engineAtMs < ENGINE_MS) return;
    this.#engineAtMs = monotonicMs();
    await this.#problem.during(async () => {
      const apps = await this.#keeper.startEnded();
      await this.#networks.sweep(apps);
      this.#hasApps = apps.size > 0 || this.#busy.size > 0;
    });
  }

  async #holdRules(): Promise<boolean> {
    // docker makes no networks of ours.
    if (this.#buildEngine.engine.name !== 'podman') return true;
    return await this.#problem.during(async () => await this.#networks.check());
  }

  async #detect(): Promise<AppIsolation> {
    const { runnerId, dataDir, log } = this.#options;
    const found = await detectAppIsolation({ buildEngine: this.#buildEngine, runnerId, dataDir, log });
    if (found.contained) log.info({ containment: found.detail }, 'apps are contained');
    else log.warn({ problem: found.why }, 'apps are not contained on this machine');
    return found;
  }
}

function stateOf({ why }: AppIsolation & { contained: false }): string {
  return `apps are not contained on this machine (${why})`;
}

/** Returns why the app must not be deployed here; undefined when it may be. */
export function refusalOf(
  isolation: AppIsolation,
  shared: boolean,
  allowUncontained: boolean,
): string | undefined {
  if (isolation.contained || !shared || allowUncontained) return undefined;
  return `${stateOf(isolation)}, and a machine that many teams deploy to refuses them: its operator runs svc-runner doctor, or allows it with --allow-uncontained-apps`;
}

/**
 * Dokku makes the containers and networks of its apps itself, and fetches images into the machine's engine,
 * where they are anybody's.
 */
function admitDokku(shared: boolean): Admission {
  if (shared)
    throw new BuildFailed(
      'Dokku fetches images and runs apps uncontained, and a machine that many teams deploy to refuses that: deploy as a container',
    );
  return { warnings: [] };
}

async function restoreDeploys(
  engine: NonNullable<Executor['buildEngine']>['engine'],
  runnerId: string,
  log: Log,
): Promise<void> {
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
