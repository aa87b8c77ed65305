/**
 * Everything that the checker may know: the journals of the clients and the rig, and what SQL says after it
 * is over. Nothing of the product is imported here, so that no mistake of the product can hide itself.
 */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import postgres from 'postgres';
import { KEY_LABEL, SETUP_PROJECT, type RigEntry, type RunnerEntry, type SubmitEntry } from './entries.ts';
import { readJournal, type Stamp } from './journal.ts';
import { moneyDifferences, type MoneyDifference } from './money.ts';

/** Times are milliseconds since 1970 by the database's clock, exact to the microsecond. */
export interface ItemRow {
  readonly id: string;
  readonly state: string;
  readonly epoch: number;
  readonly attempt: number;
  readonly maxAttempts: number;
  readonly offers: number;
  readonly runnerId: string | null;
  readonly leaseId: string | null;
  readonly exitCode: number | null;
  /** Label that names the submission; of builds, their commit. */
  readonly key: string | null;
  /** `run` when absent. */
  readonly kind?: 'run' | 'build';
  /** Team whose runners may execute it. */
  readonly pool?: string;
}

/** Row of a build's phase that the control plane heard of. */
export interface PhaseRow {
  readonly work: string;
  readonly epoch: number;
  /** 1 cloning, 2 building, 3 publishing, 4 deploying. */
  readonly phase: number;
}

/** Row of the ledger. */
export interface AuditRow {
  readonly chain: string;
  readonly seq: number;
  readonly at: number;
  readonly actor: { readonly kind: string; readonly id: string; readonly display: string };
  readonly action: string;
  readonly target: string;
  readonly details: unknown;
  readonly requestId: string;
  readonly previousHash: string;
  readonly hash: string;
}

export interface AuditHead {
  readonly chain: string;
  readonly seq: number;
  readonly hash: string;
}

export interface LeaseRow {
  readonly work: string;
  readonly epoch: number;
  readonly runnerId: string;
  readonly grantedAt: number;
  readonly startedAt: number | null;
  readonly lastContactAt: number;
  readonly endedAt: number | null;
  readonly endReason: string | null;
}

export interface ReportRow {
  readonly work: string;
  readonly epoch: number;
  readonly reportId: string;
  readonly outcome: string;
  readonly acceptedAt: number;
}

export interface EventRow {
  readonly work: string;
  readonly state: string;
  readonly epoch: number;
}

export interface ProjectRow {
  readonly id: string;
  readonly key: string;
}

/** Stored output of one grant. */
export interface OutputRow {
  readonly work: string;
  readonly epoch: number;
  readonly offsets: readonly number[];
  readonly lengths: readonly number[];
  readonly sha256: string;
  readonly lastAt: number;
}

export interface History {
  readonly times: Times;
  readonly submits: ReadonlyArray<SubmitEntry & Stamp>;
  /** Entries by the name of the simulator's process, which is also its journal's. */
  readonly runners: ReadonlyMap<string, ReadonlyArray<RunnerEntry & Stamp>>;
  readonly rig: ReadonlyArray<RigEntry & Stamp>;
  readonly items: readonly ItemRow[];
  readonly leases: readonly LeaseRow[];
  readonly reports: readonly ReportRow[];
  readonly events: readonly EventRow[];
  readonly projects: readonly ProjectRow[];
  readonly outputs: readonly OutputRow[];
  /** Teams of the runners, by runner. Absent parts are not judged. */
  readonly teamOf?: ReadonlyMap<string, string>;
  readonly phases?: readonly PhaseRow[];
  readonly audit?: readonly AuditRow[];
  readonly heads?: readonly AuditHead[];
  /** What does not hold of metered time, statements and credit, whoever it belongs to. */
  readonly money?: readonly MoneyDifference[];
}

/** Times in milliseconds that the servers were told. */
export interface Times {
  readonly leaseMs: number;
  readonly offerMs: number;
  readonly offersMax: number;
  /** Between two clocks or two statements that belong together. */
  readonly toleranceMs: number;
  /** For how long an execution may go on beside a newer one, not counting time in which it was frozen. */
  readonly staleMs: number;
  /** Within this after the last fault was healed everything has ended. Absent: not judged. */
  readonly recoverMs?: number;
}

const RUNNER_FILE = /^runner-.*\.jsonl$/;

/**
 * Reads the history. `judged` names the teams of earlier scenarios in the same database. Whatever does not
 * belong to them is looked at; of the ledger everything is.
 */
export async function loadHistory(
  databaseUrl: string,
  folder: string,
  { times, judged = [] }: { readonly times: Times; readonly judged?: readonly string[] },
): Promise<History> {
  const sql = postgres(databaseUrl, {
    max: 1,
    onnotice: () => undefined,
    connection: { application_name: 'faults checker' },
  });
  const earlier = sql`${[...judged]}::text[]`;
  const earlierWork = sql`(select id from work_items where pool_id = any(${earlier}))`;
  const at = (column: string) => sql.unsafe(`(extract(epoch from ${column}) * 1000)::float8`);
  try {
    const [items, leases, reports, events, projects, outputs, runners, phases, audit, heads, money] =
      await sql.begin('isolation level repeatable read read only', async (tx) => [
        await tx<ItemRow[]>`
        select w.id, w.state, w.epoch, w.attempt, w.max_attempts as "maxAttempts", w.offers, w.runner_id as "runnerId",
          w.lease_id as "leaseId", w.exit_code as "exitCode", coalesce(w.labels ->> ${KEY_LABEL}, b.commit) as key, w.kind,
          w.pool_id as pool
        from work_items w left join builds b on b.id = w.build_id
        where w.pool_id <> all(${earlier}) order by w.id`,
        await tx<LeaseRow[]>`
        select work_id as work, epoch, runner_id as "runnerId", ${at('granted_at')} as "grantedAt", ${at('started_at')} as "startedAt",
          ${at('last_contact_at')} as "lastContactAt", ${at('ended_at')} as "endedAt", end_reason as "endReason"
        from work_leases where work_id not in ${earlierWork} order by work_id, epoch`,
        await tx<ReportRow[]>`
        select work_id as work, epoch, report_id as "reportId", outcome, ${at('accepted_at')} as "acceptedAt" from work_reports
        where work_id not in ${earlierWork}`,
        await tx<EventRow[]>`
        select dedupe_key as work, payload ->> 'state' as state, (payload ->> 'epoch')::int as epoch from faults_events
        where kind = 'work.finished' and dedupe_key not in ${earlierWork}`,
        await tx<ProjectRow[]>`select id, name as key from projects
        where name <> ${SETUP_PROJECT} and team_id <> all(${earlier})`,
        await tx<OutputRow[]>`
        select work_id as work, epoch, array_agg("offset"::int order by "offset") as offsets,
          array_agg(length(data) order by "offset") as lengths,
          encode(sha256(string_agg(data, ''::bytea order by "offset")), 'hex') as sha256, ${at('max(at)')} as "lastAt"
        from work_logs where work_id not in ${earlierWork} group by work_id, epoch`,
        await tx<
          Array<{ id: string; team: string }>
        >`select id, team_id as team from runners where team_id <> all(${earlier})`,
        await tx<
          PhaseRow[]
        >`select work_id as work, epoch, phase from build_phases where work_id not in ${earlierWork}`,
        await tx<AuditRow[]>`
        select chain, seq, at::float8 as at, json_build_object('kind', actor_kind, 'id', actor_id, 'display', actor_display) as actor,
          action, target, details, request_id as "requestId", previous_hash as "previousHash", hash
        from audit_entries order by chain, seq`,
        await tx<AuditHead[]>`select chain, seq, hash from audit_heads`,
        await moneyDifferences(async (text) => await tx.unsafe<MoneyDifference[]>(text)),
      ]);
    const teamOf = new Map(runners.map(({ id, team }) => [id, team]));
    const rows = { items, leases, reports, events, projects, outputs, teamOf, phases, audit, heads, money };
    return { times, ...loadJournals(folder), ...rows };
  } finally {
    await sql.end();
  }
}

function loadJournals(folder: string): Pick<History, 'submits' | 'runners' | 'rig'> {
  const files = readdirSync(folder).toSorted();
  const submits = files
    .filter((file) => /^submit.*\.jsonl$/.test(file))
    .flatMap((file) => readJournal<SubmitEntry>(join(folder, file)));
  const runners = new Map(
    files
      .filter((file) => RUNNER_FILE.test(file))
      .map((file) => [file.replace(/\.jsonl$/, ''), readJournal<RunnerEntry>(join(folder, file))] as const),
  );
  return { submits, runners, rig: readJournal<RigEntry>(join(folder, 'rig.jsonl')) };
}
