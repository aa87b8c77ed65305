/**
 * Accepts how work ended: exactly one report of an item, ever. The statement for the reports that came
 * together ends the items, closes their leases, keeps the reports, writes the events and judges the
 * durations; whoever comes second is answered from what the first left.
 */
// No TeamScope: called by gateways, workers and the outbox, which act for no caller.
import { createHash } from 'node:crypto';
import type { WorkKind } from '@svc/proto/queue/queue.ts';
import { apiError } from '@svc/proto/http/errors.ts';
import { wrongField } from '../../kit/wrong-field.ts';
import type { SqlTag } from '../../base/db/index.ts';
import { asked, callsInBatches, freshness, isFresh, type Freshness, type Signed } from './nonces.ts';
import type { WorkSettings } from './settings.ts';
import { buildFacts, keepSbom, type ImageEvidence } from '../evidence/index.ts';
import { publishedTag, reportedPhases, settleBuilds, tagOf, type BuildOutcome } from './build-sql.ts';
import { DEPLOYING, type EndReasonWord, type FinalState } from './words.ts';
import { announce, endedColumns, openLease, wiped } from './sql.ts';
import { rowId, type Fragment } from '../../base/sql.ts';

/** Largest value of an integer column: 24 days in milliseconds. */
const INT_MAX = 2_147_483_647;

export interface ReportInput extends Signed {
  readonly runnerId: string;
  readonly kind: WorkKind;
  readonly id: string;
  readonly epoch: number;
  readonly reportId: string;
  readonly reason: EndReasonWord;
  readonly exitCode?: number | undefined;
  readonly message?: string | undefined;
  /** Duration that the runner measured itself. */
  readonly durationMs?: number | undefined;
  /**
   * The report waited so long in the runner's outbox before this call. It differs between repetitions and is
   * not part of the report.
   */
  readonly waitedMs?: number | undefined;
  /** Builds only. */
  readonly build?: BuildOutcome | undefined;
}

/** The state that a report asks for; `cancelled` is granted only where a cancel was asked for. */
export function outcomeOf({ reason, exitCode }: Pick<ReportInput, 'reason' | 'exitCode'>): FinalState {
  if (reason === 'exit' && exitCode === 0) return 'succeeded';
  return reason === 'cancelled' ? 'cancelled' : 'failed';
}

/** SHA-256 over what must be equal in a repetition. */
function digestOf(input: ReportInput): Uint8Array {
  const { reason, exitCode = null, message = null, durationMs = null, build } = input;
  const content = [reason, exitCode, message, durationMs, ...(build === undefined ? [] : [build])];
  return createHash('sha256').update(JSON.stringify(content)).digest();
}

export interface Reported {
  /** This very report had been accepted before. */
  readonly repeated: boolean;
  /** Strikes of the runner, when this report cost it one. */
  readonly strikes?: number;
}

/** Throws `stale_epoch` when the item is not this runner's to end. */
export type Report = (input: ReportInput) => Promise<Reported>;

interface Accepted extends Freshness {
  readonly accepted: boolean;
  readonly strikes: number | null;
}

interface Lane {
  readonly kind: WorkKind;
  /**
   * It accepts what gives no reason to judge its runner, which nearly all are, and passes over others: a part
   * of a statement costs at every call, whatever it finds.
   */
  readonly isPlain: boolean;
}

/** Builds are reported one a statement, because what a build made is a part of it. */
const ITEMS_MAX: Readonly<Record<WorkKind, number>> = { run: 32, build: 1 };

export function createReport(sql: SqlTag, settings: WorkSettings): Report {
  const lane = (of: Lane) =>
    callsInBatches<ReportInput, Accepted>(sql, {
      itemsMax: ITEMS_MAX[of.kind],
      keyOf: ({ id }) => id,
      run: async (inputs) => await acceptTogether(sql, settings, { ...of, inputs }),
    });
  const plain = lane({ kind: 'run', isPlain: true });
  const whole = {
    run: lane({ kind: 'run', isPlain: false }),
    build: lane({ kind: 'build', isPlain: false }),
  };
  return async (input) => {
    let { nonce } = input;
    if (input.kind === 'build') await refuseContradiction(sql, input);
    else {
      if ((await plain(input)).accepted) return { repeated: false };
      nonce = undefined; // That statement has used it up.
    }
    const { accepted, strikes } = await whole[input.kind]({ ...input, nonce });
    if (!accepted) return await answerAgain(sql, input);
    return { repeated: false, ...(strikes === null ? {} : { strikes }) };
  };
}

/** A report that ended nothing. */
async function answerAgain(sql: SqlTag, input: ReportInput): Promise<Reported> {
  // Read in a statement of its own: the one above may have waited for the first report and cannot see it.
  const [known] = await sql<Array<{ epoch: number; report_id: string; same: boolean }>>`
    select p.epoch, p.report_id, p.digest = ${digestOf(input)} as same
    from work_reports p join work_items w on w.id = p.work_id
    where p.work_id = ${input.id} and w.runner_id = ${input.runnerId} and w.kind = ${input.kind}`;
  if (
    known !== undefined &&
    known.epoch === input.epoch &&
    known.report_id === input.reportId &&
    known.same
  ) {
    return { repeated: true };
  }
  if (input.kind === 'build' && known === undefined) await keepLateReport(sql, input);
  throw staleEpoch(
    input,
    known === undefined
      ? 'it is not held by this runner under that epoch'
      : 'another report of it was accepted',
  );
}

export function staleEpoch(input: { readonly id: string; readonly epoch: number }, why: string): Error {
  return apiError(
    'stale_epoch',
    `nothing was changed on ${input.id} with epoch ${input.epoch}: ${why}; stop it and report nothing`,
  );
}

async function acceptTogether(
  sql: SqlTag,
  settings: WorkSettings,
  { kind, isPlain, inputs }: Lane & { readonly inputs: readonly ReportInput[] },
): Promise<readonly Accepted[]> {
  const columns = (input: ReportInput) => ({
    id: input.id,
    epoch: input.epoch,
    runner_id: input.runnerId,
    report_id: input.reportId,
    digest: Buffer.from(digestOf(input)).toString('hex'),
    outcome: outcomeOf(input),
    reason: input.reason,
    exit_code: input.exitCode ?? null,
    message: input.message ?? null,
    duration_ms: input.durationMs === undefined ? null : Math.min(input.durationMs, INT_MAX),
    waited_ms: input.waitedMs ?? 0,
    phase: input.build?.phase ?? 0,
  });
  const types = sql`id text, epoch bigint, runner_id text, report_id text, digest text, outcome text, reason text, exit_code int, message text, duration_ms int, waited_ms bigint, phase int`;
  const metered = sql`least(extract(epoch from greatest(at.now, w.claimed_at) - w.claimed_at) * 1000, ${INT_MAX}::bigint)::int`;
  const build: BuildOutcome = inputs[0]?.build ?? { phase: 0, phases: [] };
  return await sql<Accepted[]>`
    with ${asked(sql, inputs, { columns, types })},
    at as materialized (
      -- To the millisecond, as the API shows it: the metered time is exactly the difference of the two times beside it.
      select date_trunc('milliseconds', clock_timestamp()) as now
    ),
    lease as materialized (
      select a.n, x.work_id, x.epoch
      from (select * from asked a where ${isFresh(sql)} order by a.id) a ${openLease(sql)}
    ),
    ended as (
      update work_items w set
        state = case when a.outcome = 'cancelled' and w.cancel_requested_at is null then 'failed' else a.outcome end,
        attempt = w.attempt + (w.state = 'offered')::int,
        finished_at = greatest(at.now, w.claimed_at),
        started_at = coalesce(w.started_at, greatest(at.now, w.claimed_at)),
        lease_id = null, deadline_at = null,
        reason = a.reason, exit_code = a.exit_code, message = a.message,
        metered_ms = ${metered},
        self_reported_ms = a.duration_ms,
        phase = greatest(w.phase, a.phase), ${wiped(sql, sql`true`)}
      from at, lease l join asked a on a.n = l.n
      -- The kind is tested in a form that no index serves: without statistics the planner would read all items of the kind.
      where w.id = l.work_id and w.epoch = l.epoch and (w.kind = ${kind}) is true and w.state in ('offered', 'running')
        ${isPlain ? sql`and (${differ(sql, settings, { own: sql`a.duration_ms`, metered })}) is not true` : sql``}
      returning a.n, ${endedColumns(sql)}
    ),
    kept as (
      insert into work_reports (work_id, team_id, epoch, report_id, outcome, digest, accepted_at)
      select e.id, e.team_id, e.epoch, a.report_id, e.state, decode(a.digest, 'hex'), e.finished_at from ended e join asked a on a.n = e.n
    ),
    closed as (
      update work_leases x set ended_at = e.finished_at, end_reason = 'reported', started_at = coalesce(x.started_at, e.finished_at)
      from ended e where x.work_id = e.id and x.epoch = e.epoch
      ${isPlain ? sql`` : sql`returning e.n, greatest(x.contact_gap_ms, extract(epoch from e.finished_at - x.last_contact_at) * 1000) as gap_ms`}
    ),
    ${isPlain ? sql`` : sql`${judgeDurations(sql, settings)},`}
    ${kind === 'build' ? sql`${settleBuilds(sql, 'ended', { lost: false, outcome: build })}, ${reportedPhases(sql, 'ended', build)}, ${keepSbom(sql, 'ended', build)}` : sql``}
    ${announce(sql, 'ended', kind === 'build' ? evidence(sql, sql`select * from settled where id = e.build_id`, build) : undefined)}
    select a.n, ${freshness(sql)}, e.n is not null as accepted, ${isPlain ? sql`null::int as strikes` : sql`(select s.strikes from strikes s where s.work_id = e.id)`}
    from asked a left join ended e on e.n = a.n
    order by a.n`;
}

const evidence = (sql: SqlTag, from: Fragment, said: ImageEvidence): Fragment =>
  buildFacts(sql, { from, deployed: sql`(e.phase >= ${DEPLOYING}::int and e.state = 'succeeded')` }, said);

/** Holds when the runner's own measure is too far from ours; null where it has none. */
const differ = (
  sql: SqlTag,
  { divergenceMs, divergenceShare, heartbeatMs }: WorkSettings,
  { own, metered }: { readonly own: Fragment; readonly metered: Fragment },
): Fragment => sql`
  abs(${own} - ${metered}) > greatest(${divergenceMs}::int, ${divergenceShare}::float8 * greatest(${own}, ${metered})) + ${heartbeatMs}::int`;

/**
 * CTEs `diverged`, `strikes` and what they need: a runner whose measure of `ended` differs too far from ours
 * gets a strike, unless an outage explains it.
 */
function judgeDurations(sql: SqlTag, settings: WorkSettings): Fragment {
  return sql`
    diverged as (
      select e.id, e.runner_id, e.metered_ms, e.self_reported_ms from ended e join closed c on c.n = e.n join asked a on a.n = e.n
      where ${differ(sql, settings, { own: sql`e.self_reported_ms`, metered: sql`e.metered_ms` })}
        and c.gap_ms <= ${2 * settings.heartbeatMs}::int and a.waited_ms <= ${settings.outboxWaitMs}::int
    ),
    struck as (
      -- A strike for each: of two diverging reports of one runner in a statement the second strikes as well.
      update runners r set strikes = r.strikes + d.count
      from (select runner_id, count(*)::int as count, array_agg(id order by id) as ids from diverged group by runner_id) d where r.id = d.runner_id
      returning r.id, r.team_id, r.name, r.strikes, d.count, d.ids
    ),
    strikes as (
      select s.id, s.team_id, s.name, s.strikes - s.count + i.place::int as strikes, d.id as work_id, d.metered_ms, d.self_reported_ms
      from struck s cross join lateral unnest(s.ids) with ordinality i(id, place) join diverged d on d.id = i.id
    ),
    noted as (
      insert into runner_events (team_id, runner_id, at, kind, detail)
      select s.team_id, s.id, clock_timestamp(), 'runner.duration_divergence',
        s.work_id || ': the runner measured ' || s.self_reported_ms || ' ms, the control plane ' || s.metered_ms || ' ms; strike ' || s.strikes
      from strikes s
    ),
    flagged as (
      insert into outbox (id, team_id, kind, dedupe_key, payload, created_at)
      select ${rowId(sql, 'evt')}, s.team_id, 'runner.flagged', s.id || ' ' || s.work_id,
        jsonb_build_object('runnerId', s.id, 'name', s.name, 'strikes', s.strikes), clock_timestamp()
      from strikes s where s.strikes = ${settings.strikesMax}::int
    )`;
}

/**
 * A success that published nothing where an image was to be published is none, and a tag is that of the
 * build's number and commit. What an item publishes never changes, so it may be read before.
 */
async function refuseContradiction(sql: SqlTag, input: ReportInput): Promise<void> {
  const { digest, tag, commit } = input.build ?? {};
  const lacksDigest = outcomeOf(input) === 'succeeded' && digest === undefined;
  if (!lacksDigest && tag === undefined) return;
  const [item] = await sql<Array<{ publishes: boolean; number: number; commit: string | null }>>`
    select coalesce((w.spec ->> 'publishes')::boolean, false) as publishes, (w.spec ->> 'number')::int as number, w.spec #>> '{source,commit}' as commit
    from work_items w where w.id = ${input.id} and w.runner_id = ${input.runnerId} and w.kind = 'build'`;
  if (item === undefined) return;
  if (lacksDigest && item.publishes)
    throw wrongField(
      'build.digest is missing: the build is reported as succeeded and was to publish an image; report the digest that the registry confirmed, or a failure',
      { field: 'build.digest', rule: 'required' },
    );
  const built = item.commit ?? commit;
  const expected = item.publishes && built !== undefined ? tagOf(item.number, built) : undefined;
  if (tag !== undefined && tag !== expected)
    throw wrongField(
      `build.tag is "${tag}", expected ${expected === undefined ? 'none without a commit that was built and published' : `"${expected}", of the build's number and commit`}`,
      { field: 'build.tag', rule: 'pattern' },
    );
}

/**
 * The report of a runner that was given up while it published or deployed, after all. It changes no state,
 * because the build has ended and a person may have acted on that; but what it reports about the image and
 * the deploy is what this person has to find out, so it is kept beside the end, once.
 */
async function keepLateReport(sql: SqlTag, input: ReportInput): Promise<void> {
  const { build } = input;
  if (build === undefined) return;
  const ending =
    outcomeOf(input) === 'succeeded' ? 'it had finished' : `it had ended otherwise (${input.reason})`;
  await sql`
    with settled as (
      update builds b set
        commit = coalesce(b.commit, ${build.commit ?? null}::text), image = coalesce(b.image, ${build.image ?? null}::text),
        digest = coalesce(b.digest, ${build.digest ?? null}::text), tag = ${publishedTag(sql, build)}, address = coalesce(b.address, ${build.address ?? null}::text),
        message = coalesce(w.message, '') || '. The runner reported afterwards: ' || ${ending}::text
          || coalesce('; digest ' || ${build.digest ?? null}::text, '') || coalesce('; bound to ' || ${build.address ?? null}::text, '')
      from work_items w
      where w.id = ${input.id} and w.epoch = ${input.epoch}::bigint and w.runner_id = ${input.runnerId} and b.id = w.build_id and b.work_id = w.id
        and b.state = 'failed' and b.needs_decision and b.message is null
      returning b.*
    ),
    ${keepSbom(sql, 'settled', build)}
    late as (select w.* from settled b join work_items w on w.id = b.work_id)
    insert into outbox (id, team_id, kind, dedupe_key, payload, created_at)
    select ${rowId(sql, 'evt')}, e.team_id, 'build.reported_late', e.id,
      jsonb_build_object('workId', e.id, 'kind', 'build', 'epoch', e.epoch, 'attempt', e.attempt) || ${evidence(sql, sql`select * from settled`, build)}, clock_timestamp()
    from late e
    on conflict (kind, dedupe_key) do nothing`;
}
