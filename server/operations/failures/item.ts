/** Ended work as failures know it, and the green builds around it. */
// No TeamScope: called by gateways, workers and the outbox, which act for no caller.
import type { SqlTag } from '../../base/db/index.ts';

export interface Item {
  readonly workId: string;
  readonly teamId: string;
  readonly kind: 'build' | 'run';
  readonly state: string;
  readonly reason: string | null;
  readonly message: string | null;
  readonly phase: string | null;
  readonly runnerId: string | null;
  readonly startedAt: Date;
  readonly finishedAt: Date;
  /** Run or build. */
  readonly sourceId: string;
  /** Number of a build in its environment. */
  readonly number: number | null;
  readonly commit: string | null;
  readonly environmentId: string | null;
}

const PHASES = ['cloning', 'building', 'publishing', 'deploying'];
/** Builds of an environment that are looked through for a green one. */
const LOOKED_AT_MAX = 50;

/** Returns undefined where it is gone, or has not ended. */
export async function readItem(
  sql: SqlTag,
  { teamId, workId }: Pick<Item, 'teamId' | 'workId'>,
): Promise<Item | undefined> {
  const [item] = await sql<Item[]>`
    select w.id as "workId", w.team_id as "teamId", w.kind, w.state, w.reason, coalesce(b.message, w.message) as message,
      (${PHASES}::text[])[w.phase] as phase, w.runner_id as "runnerId", coalesce(w.claimed_at, w.created_at) as "startedAt",
      w.finished_at as "finishedAt", coalesce(b.id, w.id) as "sourceId", b.number, b.commit, v.id as "environmentId"
    from work_items w
    left join builds b on b.id = w.build_id
    left join environments v on v.id = coalesce(b.environment_id, w.labels ->> 'environment') and v.team_id = w.team_id
    where w.id = ${workId} and w.team_id = ${teamId} and w.finished_at is not null`;
  return item;
}

/** Finds the last green build before this one that was made of a commit: its output is a success's. */
export async function greenBefore(sql: SqlTag, { environmentId, number }: Item): Promise<string | undefined> {
  if (environmentId === null || number === null) return undefined;
  const [green] = await sql<Array<{ workId: string }>>`
    select b.id as "workId" from (
      select id, number, state, trigger from builds where environment_id = ${environmentId} and number < ${number}
      order by number desc limit ${LOOKED_AT_MAX}
    ) b where b.state = 'succeeded' and b.trigger = 'manual' order by b.number desc limit 1`;
  return green?.workId;
}

/** Finds the first green build behind this one. */
export async function greenAfter(
  sql: SqlTag,
  { teamId, environmentId, number }: Item,
): Promise<Item | undefined> {
  if (environmentId === null || number === null) return undefined;
  const [green] = await sql<Array<{ workId: string }>>`
    select b."workId" from (
      select work_id as "workId", number, state from builds where environment_id = ${environmentId} and number > ${number}
      order by number limit ${LOOKED_AT_MAX}
    ) b where b.state = 'succeeded' order by b.number limit 1`;
  return green && (await readItem(sql, { teamId, workId: green.workId }));
}
