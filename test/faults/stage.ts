/**
 * A stage is what one scenario adds to a rig that is up: teams, environments, runner simulators, a submitter
 * and journals of its own. A rig may carry one scenario after the other: what belongs to the teams of earlier
 * ones has been judged, and everything else is this one's.
 */
import { mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import postgres, { type Sql } from 'postgres';
import { prepareAccount, type Account } from './account.ts';
import type { Broker } from './broker.ts';
import type { Bundles } from './bundles.ts';
import { clockFile } from './clock.ts';
import type { RigEntry } from './entries.ts';
import { inject } from './injection.ts';
import { openJournal } from './journal.ts';
import type { Links } from './links.ts';
import { manageNode, type ManagedProcess } from './managed-process.ts';
import type { Cluster } from './postgres.ts';
import type { RigTimes } from './rig.ts';
import type { SimConfig } from './runner-sim.ts';
import type { Fault } from './schedule.ts';
import type { SubmitConfig } from './submitter.ts';
import type { Supervisor } from './supervisor.ts';

export type SimBehaviour = Pick<
  SimConfig,
  'slots' | 'buildSlots' | 'workMs' | 'longShare' | 'lateShare' | 'lateMs' | 'failShare' | 'outputShare'
>;

export interface StageOptions {
  /** Journals, keys and logs of the simulators and the submitter. */
  readonly folder: string;
  readonly seed: number;
  /** So many of the runners, the last ones, are of another team that has work of its own. */
  readonly otherRunners: number;
  /** Number of environments that builds are submitted for. */
  readonly environments: number;
  readonly sims: SimBehaviour;
}

/** Parts of the rig, for the scenario that is under way. */
export interface RigParts {
  readonly folder: string;
  readonly bundles: Bundles;
  readonly broker: Broker;
  readonly cluster: Cluster;
  readonly times: RigTimes;
  readonly databaseUrl: string;
  readonly sql: Sql;
  readonly links: Links;
  readonly supervisor: Supervisor;
  readonly servers: readonly ManagedProcess[];
  readonly gateways: readonly ManagedProcess[];
  readonly poolers: readonly ManagedProcess[];
  /** One for each runner. */
  readonly uplinks: readonly string[];
  /** Address in front of all servers. */
  readonly serverUrl: string;
  /** Each server by itself, past the proxy. */
  readonly serverUrls: readonly string[];
  /** Written by the first server at its first start. */
  readonly bootstrapPath: string;
}

export type SubmitLoad = Pick<
  SubmitConfig,
  'runs' | 'runsPerSecond' | 'projectsPerHundred' | 'buildsPerHundred' | 'patienceMs'
>;

export type Stage = Awaited<ReturnType<typeof openStage>>;

/** Opens a stage. `judged` names the teams of earlier scenarios. */
export async function openStage(parts: RigParts, options: StageOptions, judged: readonly string[]) {
  const { supervisor, sql, databaseUrl, uplinks, serverUrl, serverUrls, bootstrapPath } = parts;
  const { folder, otherRunners, environments } = options;
  mkdirSync(folder, { recursive: true });
  const journal = openJournal<RigEntry>(join(folder, 'rig.jsonl'));
  const { account, tokens } = await prepareAccount({
    serverUrl,
    bootstrapPath,
    runners: uplinks.length,
    otherRunners,
    environments,
  });
  supervisor.journal = journal;
  const runners = uplinks.map((url, i) =>
    simulator(parts, options, { name: `runner-${i}`, token: tokens[i] ?? '', url }),
  );
  let submitter: ManagedProcess | undefined;
  /** The simulators end; what they had under way ends with them. */
  const stopRunners = async (): Promise<void> => {
    for (const { name } of runners) supervisor.handled.add(name);
    for (const runner of runners) {
      await runner.kill();
      await journal.append({ event: 'dead', process: runner.name });
    }
  };
  return {
    account,
    serverUrls,
    journal,
    startSubmitter: async (load: SubmitLoad): Promise<ManagedProcess> => {
      submitter = submitterOf(parts, options, { ...account, ...load });
      await submitter.start();
      return submitter;
    },
    inject: async (fault: Fault) =>
      await inject(
        {
          ...parts,
          ...supervisor,
          journal,
          runners,
          poolIds: teamsOf(account),
          clockFile: (role, name) => clockFile(role === 'runner' ? folder : parts.folder, name),
          lockItems: async () => await lockItems(databaseUrl),
        },
        fault,
      ),
    /** Nobody may write work items until the answer is called. */
    lockItems: async () => await lockItems(databaseUrl),
    /** Returns whether one of these work items is not there. */
    missing: async (ids: readonly string[]): Promise<boolean> => {
      const [row] = await sql<
        Array<{ count: number }>
      >`select count(*)::int as count from work_items where id = any(${[...ids]}::text[])`;
      return row?.count !== ids.length;
    },
    startRunners: async () =>
      void (await Promise.all(runners.map(async (runner) => await supervisor.up(runner)))),
    unfinished: async () => await unfinished(sql, folder, judged),
    stopRunners,
    /** Nothing of it runs any more. */
    end: async (): Promise<void> => {
      await Promise.all([stopRunners(), submitter?.kill()]);
      supervisor.journal = undefined;
      for (const { name } of runners) supervisor.handled.delete(name);
      await journal.close();
    },
  };
}

export function teamsOf({ teamId, otherTeamId }: Account): readonly string[] {
  return otherTeamId === undefined ? [teamId] : [teamId, otherTeamId];
}

const READY = /^ready$/m;

function simulator(
  { bundles, times }: RigParts,
  { folder, seed, sims }: StageOptions,
  { name, token, url }: { readonly name: string; readonly token: string; readonly url: string },
): ManagedProcess {
  const { heartbeatMs, leaseMs, pollWaitMs } = times;
  const config: SimConfig = { name, url, token, folder, seed, heartbeatMs, leaseMs, pollWaitMs, ...sims };
  return manageNode(bundles, folder, {
    name,
    script: bundles.runnerSim,
    readyPattern: READY,
    env: { FAULT_SIM: JSON.stringify(config) },
  });
}

function submitterOf(
  { bundles, serverUrl }: RigParts,
  { folder, seed }: StageOptions,
  load: Account & SubmitLoad,
): ManagedProcess {
  const config: SubmitConfig = {
    // Begins every key: earlier scenarios of this rig had theirs under the same account.
    name: `s${seed}`,
    folder,
    url: serverUrl,
    seed,
    ...load,
  };
  const env = { FAULT_SUBMIT: JSON.stringify(config) };
  return manageNode(bundles, folder, {
    name: 'submitter',
    script: bundles.submitter,
    readyPattern: READY,
    env,
  });
}

/**
 * The lock is that of a session of its own. A transaction of the driver writes ROLLBACK to a connection that
 * is lost, which ends this process when the database is killed.
 */
async function lockItems(databaseUrl: string): Promise<() => Promise<void>> {
  const own = postgres(databaseUrl, {
    max: 1,
    onnotice: () => undefined,
    connection: { application_name: 'faults lock' },
  });
  try {
    await own.unsafe('begin; lock table work_items in exclusive mode').simple();
  } catch (error) {
    await own.end({ timeout: 0 });
    throw error;
  }
  return async () => await own.end({ timeout: 0 });
}

async function unfinished(sql: Sql, folder: string, judged: readonly string[]) {
  const [row] = await sql<Array<{ items: number; waiting: number; sign: string }>>`
    select count(*) filter (where finished_at is null)::int as items,
      count(*) filter (where state = 'queued' and run_after > now() and run_after < 'infinity')::int as waiting,
      concat(sum(epoch), ' ', count(finished_at), ' ', (select max(expires_at) from work_leases where ended_at is null), ' ', max(finished_at)) as sign
    from work_items where pool_id <> all(${[...judged]}::text[])`;
  const outboxes = readdirSync(folder).filter((name) => name.endsWith('-outbox'));
  const reports = outboxes
    .flatMap((name) => readdirSync(join(folder, name)))
    .filter((name) => name.endsWith('.json')).length;
  return {
    /** Work items that have not ended. */
    items: row?.items ?? 0,
    /** Work that waits by the clock before it is offered again, after it lost runners. */
    waiting: row?.waiting ?? 0,
    /** Reports that no simulator has an answer to yet. */
    reports,
    /** It changes with every grant, renewal and end: as long as it does, something is going on. */
    sign: row?.sign ?? '',
  };
}
