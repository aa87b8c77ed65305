/**
 * Everything that the checker may know: the journals of the clients and the rig, and what SQL says after it is over. Nothing of the
 * product is imported here, so that no mistake of the product can hide itself.
 */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import postgres from 'postgres';
import type { RigEntry, RunnerEntry, SubmitEntry } from './entries.ts';
import { KEY_LABEL } from './entries.ts';
import { readJournal } from './journal.ts';
import type { Stamp } from './journal.ts';

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
  /** Label that names the submission. */
  readonly key: string | null;
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
  /** By the name of the simulator's process, which is also its journal's. */
  readonly runners: ReadonlyMap<string, ReadonlyArray<RunnerEntry & Stamp>>;
  readonly rig: ReadonlyArray<RigEntry & Stamp>;
  readonly items: readonly ItemRow[];
  readonly leases: readonly LeaseRow[];
  readonly reports: readonly ReportRow[];
  readonly events: readonly EventRow[];
  readonly projects: readonly ProjectRow[];
  readonly outputs: readonly OutputRow[];
}

/** What the servers were told, in milliseconds. */
export interface Times {
  readonly leaseMs: number;
  readonly offerMs: number;
  readonly offersMax: number;
  /** Between two clocks or two statements that belong together. */
  readonly toleranceMs: number;
  /** For how long an execution may go on beside a newer one, not counting time in which it was frozen. */
  readonly staleMs: number;
}

const RUNNER_FILE = /^runner-.*\.jsonl$/;

export async function loadHistory(databaseUrl: string, folder: string, times: Times): Promise<History> {
  const sql = postgres(databaseUrl, {
    max: 1,
    onnotice: () => undefined,
    connection: { application_name: 'faults checker' },
  });
  const at = (column: string) => sql.unsafe(`(extract(epoch from ${column}) * 1000)::float8`);
  try {
    const [items, leases, reports, events, projects, outputs] = await sql.begin(
      'isolation level repeatable read read only',
      async (tx) => [
        await tx<ItemRow[]>`
        select id, state, epoch, attempt, max_attempts as "maxAttempts", offers, runner_id as "runnerId", lease_id as "leaseId",
          exit_code as "exitCode", labels ->> ${KEY_LABEL} as key
        from work_items order by id`,
        await tx<LeaseRow[]>`
        select work_id as work, epoch, runner_id as "runnerId", ${at('granted_at')} as "grantedAt", ${at('started_at')} as "startedAt",
          ${at('last_contact_at')} as "lastContactAt", ${at('ended_at')} as "endedAt", end_reason as "endReason"
        from work_leases order by work_id, epoch`,
        await tx<ReportRow[]>`
        select work_id as work, epoch, report_id as "reportId", outcome, ${at('accepted_at')} as "acceptedAt" from work_reports`,
        await tx<EventRow[]>`
        select dedupe_key as work, payload ->> 'state' as state, (payload ->> 'epoch')::int as epoch from outbox where kind = 'work.finished'`,
        await tx<ProjectRow[]>`select id, name as key from projects`,
        await tx<OutputRow[]>`
        select work_id as work, epoch, array_agg("offset"::int order by "offset") as offsets,
          array_agg(length(data) order by "offset") as lengths,
          encode(sha256(string_agg(data, ''::bytea order by "offset")), 'hex') as sha256, ${at('max(at)')} as "lastAt"
        from work_logs group by work_id, epoch`,
      ],
    );
    return { times, ...loadJournals(folder), items, leases, reports, events, projects, outputs };
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
