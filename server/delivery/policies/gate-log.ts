/** What passed gates, as it is kept and read again. */
// No TeamScope: given the row, or the team, that the call was authorised for.
import type { TeamScope } from '../../kit/context.ts';
import type { SqlTag } from '../../base/db/index.ts';
import { newId } from '../../base/ids.ts';
import { rowId } from '../../base/sql.ts';
import type { PolicyAction, PolicyDocument, PolicyMode } from './engine/document.ts';
import type { Outcome, PolicyAtGate, Verdict } from './engine/verdict.ts';
import type { FailedRule, Passage } from './passage.ts';
import { inputSha256, type RecordedInput } from './recorded-input.ts';

const KEPT_MS = 90 * 24 * 60 * 60_000;
const PURGED_AT_ONCE = 5_000;
/** Failed rules that an event names. */
const EVENT_RULES_MAX = 20;

export interface NamedPolicy extends PolicyAtGate {
  readonly name: string;
}

export interface TeamAtGate {
  readonly teamName: string;
  readonly payerId: string | null;
  readonly policies: readonly NamedPolicy[];
}

type TeamRow = Omit<TeamAtGate, 'policies'> & { [K in keyof NamedPolicy]: NamedPolicy[K] | null };

/** Name of the team, who pays for it, and its policies that are in force for the act, by id. */
export async function policiesAt(
  sql: SqlTag,
  { teamId, projectId, environmentId, action }: Passage,
): Promise<TeamAtGate> {
  const rows = await sql<TeamRow[]>`
    select t.name as "teamName", (select payer_id from team_payers y where y.team_id = t.id order by from_at desc limit 1) as "payerId", p.id as "policyId", p.name, p.revision, r.document
    from teams t
    left join (policies p join policy_revisions r on r.policy_id = p.id and r.revision = p.revision)
      on p.team_id = t.id and p.enabled and jsonb_exists(r.document -> 'on', ${action}::text)
        and (p.project_id is null or p.project_id = ${projectId ?? null}::text)
        and (p.environment_id is null or p.environment_id = ${environmentId ?? null}::text)
    where t.id = ${teamId}
    order by p.id`;
  const policies = rows.flatMap(({ policyId, name, revision, document }) =>
    policyId === null || name === null || revision === null || document === null
      ? []
      : [{ policyId, name, revision, document }],
  );
  return { teamName: rows[0]?.teamName ?? '', payerId: rows[0]?.payerId ?? null, policies };
}

export interface RevisionInForce {
  readonly policyId: string;
  readonly name: string;
  readonly revision: number;
  readonly enabledCount: number;
}

/** Reads the policies that are in force for any of the acts, by id. */
export async function revisionsInForce(
  sql: SqlTag,
  { teamId, projectId, environmentId }: Required<Pick<Passage, 'teamId' | 'projectId' | 'environmentId'>>,
  actions: readonly PolicyAction[],
): Promise<readonly RevisionInForce[]> {
  return await sql<RevisionInForce[]>`
    select p.id as "policyId", p.name, p.revision, p.enabled_count as "enabledCount"
    from policies p join policy_revisions r on r.policy_id = p.id and r.revision = p.revision
    where p.team_id = ${teamId} and p.enabled and jsonb_exists_any(r.document -> 'on', ${[...actions]}::text[])
      and (p.project_id is null or p.project_id = ${projectId ?? null}::text)
      and (p.environment_id is null or p.environment_id = ${environmentId ?? null}::text)
    order by p.id`;
}

export interface KeptGate {
  readonly gateId: string;
  readonly at: Date;
  readonly passage: Pick<Passage, 'action' | 'teamId' | 'projectId' | 'environmentId' | 'subject'>;
  readonly input: RecordedInput;
  readonly verdicts: readonly Verdict[];
  readonly outcome: 'allow' | 'deny' | 'overridden';
  readonly denied: readonly FailedRule[];
  readonly overrideReason: string | null;
}

/**
 * The gate, what it saw and what was decided; of a denial the event as well. Keeping the same again changes
 * nothing.
 */
export async function keepGate(sql: SqlTag, kept: KeptGate): Promise<void> {
  const { gateId, at, passage, input, verdicts, outcome, denied, overrideReason } = kept;
  const { action, teamId, projectId, environmentId, subject } = passage;
  const { id: actorId, kind: actorKind } = input.actor;
  const sha256 = inputSha256(input);
  const decisions = verdicts.map(({ policyId, revision, outcome: said, failed, reason, ms }) => ({
    id: newId('pdc', at.getTime()),
    policyId,
    revision,
    outcome: said,
    failed,
    reason,
    ms: Math.round(ms),
  }));
  const event = { gateId, action, subject, actorId, failed: denied.slice(0, EVENT_RULES_MAX) };
  await sql`
    with input as (
      insert into policy_inputs (team_id, sha256, input) values (${teamId}, ${sha256}, ${sql.json(input)}::jsonb)
      on conflict do nothing
    ),
    gate as (
      insert into policy_gates (id, team_id, created_at, action, subject, project_id, environment_id, input_sha256, outcome,
        actor_kind, actor_id, override_reason)
      values (${gateId}, ${teamId}, ${at}, ${action}, ${subject}, ${projectId ?? null}, ${environmentId ?? null}, ${sha256}, ${outcome},
        ${actorKind}, ${actorId}, ${overrideReason})
      on conflict do nothing returning id, team_id, created_at, outcome
    ),
    decisions as (
      insert into policy_decisions (id, team_id, created_at, gate_id, policy_id, revision, outcome, failed, reason, ms)
      select d.id, g.team_id, g.created_at, g.id, d."policyId", d.revision, d.outcome, d.failed, d.reason, d.ms
      from gate g cross join jsonb_to_recordset(${sql.json(decisions)}::jsonb) as d
        (id text, "policyId" text, revision int, outcome text, failed jsonb, reason text, ms int)
    )
    insert into outbox (id, team_id, kind, dedupe_key, payload, created_at)
    select ${rowId(sql, 'evt')}, g.team_id, 'policy.denied', g.id, ${sql.json(event)}::jsonb, now() from gate g where g.outcome = 'deny'`;
}

/** Deletes what is older than 90 days, in pieces, so that no statement runs long; ids sort by time. */
export async function purgeGates(sql: SqlTag, nowMs: number): Promise<void> {
  for (;;) {
    const { count } = await sql`
      with gone as (
        delete from policy_gates where id in (
          select id from policy_gates where id < ${newId('pgt', nowMs - KEPT_MS)} order by id limit ${PURGED_AT_ONCE}::int)
        returning team_id, input_sha256
      ), inputs as (
        delete from policy_inputs i using gone g where i.team_id = g.team_id and i.sha256 = g.input_sha256
      )
      select from gone`;
    if (count < PURGED_AT_ONCE) return;
  }
}

export interface PastGate {
  readonly id: string;
  readonly action: PolicyAction;
  readonly subject: string;
  readonly at: Date;
  /** Verdict of the policy, with its mode; both are null where it was not asked. */
  readonly before: Outcome | null;
  readonly mode: PolicyMode | null;
}

export interface PastGates {
  readonly policyId: string;
  readonly projectId: string | null;
  readonly environmentId: string | null;
  readonly actions: PolicyDocument['on'];
  readonly limit: number;
}

/** The gates are of the policy's scope and of the actions, newest first. */
export async function pastGates(
  sql: SqlTag,
  { teamIds }: TeamScope,
  { policyId, projectId, environmentId, actions, limit }: PastGates,
): Promise<readonly PastGate[]> {
  return await sql<PastGate[]>`
    with asked as (
      select g.* from unnest(${[...actions]}::text[]) a (action) cross join unnest(${teamIds}::text[]) t (id)
      cross join lateral (
        select id, action, subject, created_at as at from policy_gates
        where team_id = t.id and action = a.action and (${projectId}::text is null or project_id = ${projectId}::text)
          and (${environmentId}::text is null or environment_id = ${environmentId}::text)
        order by id desc limit ${limit}::int
      ) g
      order by g.id desc limit ${limit}::int
    )
    select g.*, d.outcome as before, r.document ->> 'mode' as mode
    from asked g
    left join policy_decisions d on d.gate_id = g.id and d.policy_id = ${policyId}
    left join policy_revisions r on r.policy_id = d.policy_id and r.revision = d.revision
    order by g.id desc`;
}

/** Inputs are found by gate. */
export async function inputsOf(
  sql: SqlTag,
  { teamIds }: TeamScope,
  gateIds: readonly string[],
): Promise<ReadonlyMap<string, RecordedInput>> {
  const rows = await sql<Array<{ id: string; input: RecordedInput }>>`
    select g.id, i.input from policy_gates g join policy_inputs i on i.team_id = g.team_id and i.sha256 = g.input_sha256
    where g.team_id = any(${teamIds}::text[]) and g.id = any(${[...gateIds]}::text[])`;
  return new Map(rows.map(({ id, input }) => [id, input]));
}
