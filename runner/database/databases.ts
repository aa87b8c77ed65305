/**
 * Brings up the databases of this machine's apps and keeps them so:
 *
 *   document ──> image, volume, network ──> container ──> answers ──> looked at, dumped every day
 *   document with `remove` ──> last backup ──> no container, and the data stays
 *
 * What no document names stays as it is. Each database is worked on by one act at a time, in the background:
 * an image may take minutes, and whoever asks meanwhile is told how far it is.
 */
import { createHash } from 'node:crypto';
import { dataOf, DATABASES } from '@svc/proto/hosting/databases.ts';
import type { AppDatabase, AppDatabases, AppLimits, AppMounts } from '../build/deployer.ts';
import { readDatabases, type DatabasePlan } from '../build/database-plan.ts';
import { BuildFailed } from '../build/failure.ts';
import type { WireHostApp, WireObservedDatabase } from '../control-plane/wire.ts';
import type { HostedApp } from '../deploy/hosted.ts';
import type { Engine } from '../executor/engine.ts';
import type { AppNetworks } from '../network/app-network.ts';
import { monotonicMs, pause, wallMs } from '../platform/clock.ts';
import { errorText } from '../platform/errors.ts';
import type { Log } from '../platform/log.ts';
import { createProblemLog, type ProblemLog } from '../platform/problem-log.ts';
import { createBackups, type Backups } from './backups.ts';
import {
  bringDatabaseImage,
  containerName,
  databaseContainers,
  retireDatabase,
  runDatabase,
  startDatabase,
  untilReady,
  type DatabaseContainer,
} from './containers.ts';
import { KINDS } from './kinds.ts';
import type { Passwords } from './passwords.ts';

/** Time in which a new one makes its files and answers. */
const FIRST_MS = 120_000;
const ANSWER_MS = 10_000;
const LOOK_MS = 30_000;
/** A database that cannot be brought up is tried again after so long. */
const AGAIN_MS = 30_000;
/** A deploy waits for so long, an image that has to be pulled included. */
const DEPLOY_MS = 10 * 60_000;
const READY_MS = 250;
const DAY_MS = 86_400_000;
/** A failed backup is tried again after so long. */
const BACKUP_AGAIN_MS = 3_600_000;
const PROBLEM_MAX = 500;
/** Name under which the containers of its app find it. */
export const HOST_NAME = 'database';

export interface DatabasesOptions {
  readonly engine: Engine;
  readonly runnerId: string;
  readonly dataDir: string;
  readonly backupDir: string;
  readonly limits: AppLimits;
  readonly networks: Pick<AppNetworks, 'enterDatabase' | 'leave'>;
  readonly mounts: AppMounts;
  readonly passwords: Passwords;
  readonly log: Log;
}

interface State {
  readonly state: 'provisioning' | 'ready' | 'unhealthy' | 'failed' | 'removed';
  readonly problem?: string;
  readonly digest: string;
}

/** An environment's database that is worked on. */
interface Placed {
  readonly plan: DatabasePlan;
  readonly environment: string;
  readonly app: string;
}

export function createDatabases(options: DatabasesOptions) {
  const all = new Databases(options);
  return {
    /** Apps that are deployed get this. */
    apps: {
      bring: async (environment, app, plans) => await all.bring(environment, app, plans),
      leave: (environment) => all.leave(environment),
    } satisfies AppDatabases,
    /** Begins what is due, and returns at once. Never rejects. */
    look: async (documents: Iterable<WireHostApp>, hosted: readonly HostedApp[]) =>
      await all.look(documents, hosted),
    /** The environment's databases, as far as this process knows of them. */
    observed: (environment: string) => all.observed(environment),
    /** True once after something has changed. */
    hasNews: () => all.hasNews(),
    /** The app of an environment that is deleted goes, and its databases with it; their data stays. */
    stop: async (environment: string) => await all.stop(environment),
    /** The data of a database has gone, and its backups go. */
    forget: async (id: string) => await all.forget(id),
  };
}

export type MachineDatabases = ReturnType<typeof createDatabases>;

class Databases {
  readonly #options: DatabasesOptions;
  readonly #backups: Backups;
  readonly #refused: ProblemLog;
  readonly #unseen: ProblemLog;
  readonly #states = new Map<string, State & { readonly environment: string }>();
  /** Databases that are worked on. */
  readonly #working = new Map<string, Promise<void>>();
  /** Databases that are being dumped: a deploy does not wait for that, their end does. */
  readonly #dumping = new Map<string, Promise<void>>();
  /** Environments that are being deployed: their databases stay on the network that the deploy chose. */
  readonly #deploying = new Set<string>();
  readonly #notBeforeMs = new Map<string, number>();
  #containers = new Map<string, DatabaseContainer>();
  #isNews = false;

  constructor(options: DatabasesOptions) {
    this.#options = options;
    const { engine, dataDir, backupDir, log } = options;
    this.#refused = createProblemLog(log, 'databases are refused');
    this.#unseen = createProblemLog(log, 'databases cannot be looked after');
    this.#backups = createBackups({ engine, dataDir, folder: backupDir });
  }

  hasNews(): boolean {
    const news = this.#isNews;
    this.#isNews = false;
    return news;
  }

  observed(environment: string): WireObservedDatabase[] {
    return [...this.#states]
      .filter(([, state]) => state.environment === environment)
      .map(([id, { environment: _of, ...state }]) => {
        const backup = this.#backups.newest(id);
        return { id, ...state, ...(backup !== undefined && { backup }) };
      });
  }

  async look(documents: Iterable<WireHostApp>, hosted: readonly HostedApp[]): Promise<void> {
    const refused: string[] = [];
    const wanted = [...documents].flatMap((document) => {
      const placed = placedOf(document, hosted);
      if (Array.isArray(placed)) return placed;
      refused.push(`${document.environmentId}: ${placed.problem}`);
      return [];
    });
    this.#refused.tell(refused.length === 0 ? undefined : refused.join('; '));
    const ids = new Set(wanted.map(({ plan }) => plan.id));
    for (const id of this.#states.keys()) if (!ids.has(id) && !this.#working.has(id)) this.#states.delete(id);
    if (wanted.length === 0) return;
    const isListed = await this.#unseen.during(async () => void (this.#containers = await this.#listed()));
    if (!isListed) return;
    for (const each of wanted) {
      const { id } = each.plan;
      if (this.#working.has(id) || (this.#notBeforeMs.get(id) ?? 0) > monotonicMs()) continue;
      void this.#work(each, async () => await this.#tend(each)).catch(() => undefined);
    }
  }

  async #listed(): Promise<Map<string, DatabaseContainer>> {
    const { engine, runnerId } = this.#options;
    const found = await databaseContainers(engine);
    return new Map(found.filter(({ runner }) => runner === runnerId).map((each) => [each.id, each]));
  }

  /** Does one act on a database at a time. Rejects as the act does, which is then the database's problem. */
  async #work({ plan: { id }, environment }: Placed, act: () => Promise<void>): Promise<void> {
    const before = this.#working.get(id) ?? Promise.resolve();
    const done = before.catch(() => undefined).then(act);
    this.#working.set(id, done);
    try {
      await done;
    } catch (error) {
      const known = this.#states.get(id);
      const state = known?.state === 'ready' || known?.state === 'unhealthy' ? 'unhealthy' : 'failed';
      this.#note(id, environment, { state, problem: errorText(error), digest: known?.digest ?? '' });
      this.#notBeforeMs.set(id, monotonicMs() + AGAIN_MS);
      throw error;
    } finally {
      if (this.#working.get(id) === done) this.#working.delete(id);
    }
  }

  #note(id: string, environment: string, { state, problem = '', digest }: State): void {
    const next = {
      environment,
      state,
      digest,
      ...(problem !== '' && { problem: problem.slice(0, PROBLEM_MAX) }),
    } as const;
    const before = this.#states.get(id);
    if (JSON.stringify(before) === JSON.stringify(next)) return;
    this.#states.set(id, next);
    this.#isNews = true;
    const { log } = this.#options;
    if (problem !== '') log.error({ database: id, environment, problem }, 'a database is not well');
    else if (state !== before?.state) log.info({ database: id, environment }, `a database is ${state}`);
  }

  async #tend(placed: Placed): Promise<void> {
    const { plan } = placed;
    // A deploy may have made it since all were listed.
    const found = this.#containers.get(plan.id) ?? (await this.#listed()).get(plan.id);
    if (plan.remove) return await this.#retire(placed, found);
    await this.#ensure(placed, { found, mayMove: !this.#deploying.has(placed.environment) });
    this.#notBeforeMs.set(plan.id, monotonicMs() + LOOK_MS);
    if (this.#isBackupDue(placed, found)) void this.#backUp(placed);
  }

  /** Resolves when it answers, in a container on the network of the app. */
  async #ensure(
    { plan, environment, app }: Placed,
    { found, mayMove }: { readonly found: DatabaseContainer | undefined; readonly mayMove: boolean },
  ): Promise<void> {
    const { engine, passwords } = this.#options;
    const { id, type } = plan;
    const name = containerName(id);
    const moves = found !== undefined && found.app !== app && mayMove;
    const known = this.#states.get(id);
    let { digest = plan.digest ?? '' } = known ?? {};
    let isNew = false;
    if (found === undefined || moves) {
      if (known?.state !== 'provisioning')
        this.#note(id, environment, { state: 'provisioning', digest: plan.digest ?? '' });
      if (moves) await retireDatabase(engine, name);
      digest = await this.#make({ plan, environment, app });
      isNew = true;
    } else if (!found.isRunning) {
      await startDatabase(engine, name);
      isNew = true;
    }
    await untilReady(
      engine,
      { name, type },
      {
        password: passwords(id),
        withinMs: isNew ? FIRST_MS : ANSWER_MS,
        everyMs: READY_MS,
      },
    );
    this.#note(id, environment, { state: 'ready', digest });
  }

  /** Returns the digest of its image. */
  async #make({ plan, environment, app }: Placed): Promise<string> {
    const { engine, runnerId, limits, networks, mounts, passwords } = this.#options;
    const image = await bringDatabaseImage(engine, plan);
    const data = await mounts.args(environment, [
      { id: plan.id, kind: 'volume', hostPath: dataOf(plan.id), containerPath: KINDS[plan.type].folder },
    ]);
    const { args } = await networks.enterDatabase(app);
    try {
      await runDatabase(engine, {
        plan,
        name: containerName(plan.id),
        runnerId,
        app,
        environment,
        imageId: image.id,
        limits,
        network: args,
        data,
        hasUsers: true,
        command: KINDS[plan.type].command,
        password: passwords(plan.id),
      });
    } finally {
      await networks.leave(app);
    }
    return image.digest;
  }

  /** A last backup must not keep it: what it holds stays for a week. */
  async #retire(
    { plan: { id, type }, environment }: Placed,
    found: DatabaseContainer | undefined,
  ): Promise<void> {
    if (found !== undefined) {
      await this.#dumping.get(id);
      if (found.isRunning) await this.#backUp({ plan: { id, type }, environment });
      await retireDatabase(this.#options.engine, found.name);
      await this.#options.networks.leave(found.app);
    }
    this.#note(id, environment, { state: 'removed', digest: '' });
  }

  #isBackupDue({ plan: { id } }: Placed, found: DatabaseContainer | undefined): boolean {
    const newest = this.#backups.newest(id);
    const nowMs = wallMs();
    if (newest?.state === 'failed') return nowMs - Date.parse(newest.at ?? '') >= BACKUP_AGAIN_MS;
    const since = newest?.at ?? found?.createdAt;
    return since !== undefined && Date.parse(since) < lastMomentMs(id, nowMs);
  }

  /** Never rejects; one that has begun is joined. */
  async #backUp(of: { readonly plan: Pick<DatabasePlan, 'id' | 'type'>; readonly environment: string }) {
    const { id } = of.plan;
    const begun = this.#dumping.get(id) ?? this.#dump(of).finally(() => this.#dumping.delete(id));
    this.#dumping.set(id, begun);
    await begun;
  }

  async #dump({
    plan: { id, type },
    environment,
  }: {
    readonly plan: Pick<DatabasePlan, 'id' | 'type'>;
    readonly environment: string;
  }): Promise<void> {
    const { passwords, log } = this.#options;
    const backup = await this.#backups.make({ id, type, name: containerName(id) }, passwords(id));
    this.#isNews = true;
    const { state, bytes, problem } = backup;
    if (state === 'good') log.info({ database: id, environment, bytes }, 'a database was backed up');
    else log.error({ database: id, environment, problem }, 'the backup of a database failed');
  }

  async bring(
    environment: string,
    app: string,
    plans: readonly DatabasePlan[],
  ): Promise<AppDatabase | undefined> {
    const plan = plans.find(({ remove }) => !remove);
    if (plan === undefined) return undefined;
    const { networks, passwords } = this.#options;
    const placed = { plan, environment, app };
    this.#deploying.add(environment);
    const ready = this.#work(placed, async () => {
      const found = (await this.#listed()).get(plan.id);
      await this.#ensure(placed, { found, mayMove: true });
    });
    await within(ready, DEPLOY_MS).catch((error: unknown) => {
      throw new BuildFailed(`the database of ${app} is not ready: ${errorText(error)}`);
    });
    const { address } = await networks.enterDatabase(app);
    const { variable } = DATABASES[plan.type];
    return {
      args: [`--add-host=${HOST_NAME}:${address}`],
      env: { [variable]: KINDS[plan.type].url(passwords(plan.id), HOST_NAME) },
    };
  }

  leave(environment: string): void {
    this.#deploying.delete(environment);
  }

  async stop(environment: string): Promise<void> {
    const found = [...(await this.#listed()).values()].filter((each) => each.environment === environment);
    for (const each of found) {
      const { id, type } = each;
      const plan = { id, type: type as DatabasePlan['type'], image: each.image, remove: true };
      await this.#work({ plan, environment, app: each.app }, async () => {
        await this.#retire({ plan, environment, app: each.app }, each);
      });
    }
    for (const [id, state] of this.#states) if (state.environment === environment) this.#states.delete(id);
  }

  async forget(id: string): Promise<void> {
    this.#states.delete(id);
    await this.#backups.remove(id);
  }
}

/** A moment of each day that is the database's own, so that those of a machine do not come together. */
export function lastMomentMs(id: string, nowMs: number): number {
  const minute = createHash('sha256').update(id).digest().readUInt32BE(0) % (24 * 60);
  const today = Math.floor(nowMs / DAY_MS) * DAY_MS + minute * 60_000;
  return today <= nowMs ? today : today - DAY_MS;
}

async function within(work: Promise<void>, ms: number): Promise<void> {
  const over = new AbortController();
  const late = pause(ms, over.signal).then(() => {
    if (!over.signal.aborted) throw new Error(`it was not ready within ${ms / 1_000} s`);
  });
  try {
    await Promise.race([work, late]);
  } finally {
    over.abort();
  }
}

/** Reads its databases; each is on the network of the container that serves the environment now. */
function placedOf(
  { environmentId, kind, app, databases = [] }: WireHostApp,
  hosted: readonly HostedApp[],
): Placed[] | { readonly problem: string } {
  if (kind !== 'container' || databases.length === 0) return [];
  const plans = readDatabases(databases);
  if ('problem' in plans) return plans;
  const serving = hosted
    .filter((each) => each.environment === environmentId && each.role === 'serves')
    .toSorted((a, b) => (a.createdAt < b.createdAt ? 1 : -1));
  return plans.map((plan) => ({ plan, environment: environmentId, app: serving[0]?.app ?? app }));
}
