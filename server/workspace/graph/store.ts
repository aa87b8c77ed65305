/** Reads nodes from the tables of the resources, always within the teams of a TeamScope. */
import type { TeamScope } from '../../kit/context.ts';
import type { Database, SqlTag } from '../../base/db/index.ts';
import type { Fragment } from '../../base/sql.ts';
import type { Node, NodeKind, Relation } from './node.ts';

/**
 * Columns of a node, by the alias that each query gives its table; `w` is the work of a build `b`, `l` the
 * pipeline of a CI run `c`.
 */
const COLUMNS: Readonly<Record<NodeKind, (sql: SqlTag) => Fragment>> = {
  team: (sql) =>
    sql`'team' as kind, t.id, t.id as "teamId", t.name, null as state, t.created_at as "createdAt"`,
  project: (sql) =>
    sql`'project' as kind, p.id, p.team_id as "teamId", p.name, null as state, p.created_at as "createdAt"`,
  environment: (sql) =>
    sql`'environment' as kind, e.id, e.team_id as "teamId", e.name, null as state, e.created_at as "createdAt"`,
  run: (sql) => sql`
    'run' as kind, w.id, w.team_id as "teamId", coalesce(w.spec -> 'command' ->> 0, '') as name, w.state, w.created_at as "createdAt"`,
  build: (sql) => sql`
    'build' as kind, b.id, b.team_id as "teamId", 'build ' || b.number as name,
    case
      when b.state <> 'open' then b.state
      when w.state is null or w.state in ('queued', 'offered') then 'queued'
      when w.phase = 3 then 'publishing'
      when w.phase = 4 then 'deploying'
      else 'running'
    end as state, b.created_at as "createdAt"`,
  ci_run: (sql) => sql`
    'ci_run' as kind, c.id, c.team_id as "teamId", l.name, c.status as state, c.created_at as "createdAt"`,
  artifact: (sql) =>
    sql`'artifact' as kind, a.id, a.team_id as "teamId", a.name, null as state, a.created_at as "createdAt"`,
  release: (sql) =>
    sql`'release' as kind, r.id, r.team_id as "teamId", r.version as name, null as state, r.created_at as "createdAt"`,
  promotion: (sql) => sql`
    'promotion' as kind, m.id, m.team_id as "teamId", m.version as name, m.state, m.created_at as "createdAt"`,
};

/** Each names the table of a node and, within the teams, its one row. */
const ROWS: Readonly<Record<NodeKind, (sql: SqlTag, id: string, teams: readonly string[]) => Fragment>> = {
  team: (sql, id, teams) => sql`from teams t where t.id = ${id} and t.id = any(${teams})`,
  project: (sql, id, teams) => sql`from projects p where p.id = ${id} and p.team_id = any(${teams})`,
  environment: (sql, id, teams) => sql`from environments e where e.id = ${id} and e.team_id = any(${teams})`,
  run: (sql, id, teams) =>
    sql`from work_items w where w.id = ${id} and w.kind = 'run' and w.team_id = any(${teams})`,
  build: (sql, id, teams) => sql`
    from builds b left join work_items w on w.id = b.work_id where b.id = ${id} and b.team_id = any(${teams})`,
  ci_run: (sql, id, teams) => sql`
    from ci_runs c join ci_pipelines l on l.id = c.pipeline_id where c.id = ${id} and c.team_id = any(${teams})`,
  artifact: (sql, id, teams) => sql`from artifacts a where a.id = ${id} and a.team_id = any(${teams})`,
  release: (sql, id, teams) => sql`from releases r where r.id = ${id} and r.team_id = any(${teams})`,
  promotion: (sql, id, teams) => sql`from promotions m where m.id = ${id} and m.team_id = any(${teams})`,
};

export async function findNode(
  { sql }: Database,
  scope: TeamScope,
  { kind, id }: Pick<Node, 'kind' | 'id'>,
): Promise<Node | undefined> {
  const [row] = await sql<Node[]>`select ${COLUMNS[kind](sql)} ${ROWS[kind](sql, id, [...scope.teamIds])}`;
  return row;
}

/** A node and the id of its neighbour whose neighbours were asked for. */
export type Neighbour = Node & { readonly of: string };

/** Nodes of one team whose neighbours are asked for. `take` bounds them, newest or first by name. */
export interface NeighbourQuery {
  readonly teamId: string;
  readonly ids: readonly string[];
  readonly take: number;
}

/**
 * The other end of an edge: `parent` leaves towards the node that was asked about, `child` is reached from
 * it.
 */
export interface Step {
  readonly side: 'parent' | 'child';
  readonly kind: NodeKind;
  /** Default: `contains`. */
  readonly relation?: Relation;
  readonly read: Read;
}

/**
 * The neighbours of nodes as a statement. `scope` holds if the call reaches the team: it stands beside the
 * condition on the one team, which the statements find their rows by.
 */
type Read = (sql: SqlTag, asked: NeighbourQuery & { readonly scope: Fragment }) => Fragment;

export async function readNeighbours(
  { sql }: Database,
  { teamIds }: TeamScope,
  { read, ...asked }: NeighbourQuery & Pick<Step, 'read'>,
): Promise<readonly Neighbour[]> {
  const scope = sql`${asked.teamId}::text = any(${teamIds}::text[])`;
  return await sql<Neighbour[]>`${read(sql, { ...asked, scope })}`;
}

const projectsOfTeam: Read = (sql, { teamId, take, scope }) => sql`
  select ${COLUMNS.project(sql)}, p.team_id as "of" from projects p where p.team_id = ${teamId} and ${scope}
  order by p.created_at desc, p.id desc limit ${take}`;

const teamOfProjects: Read = (sql, { teamId, ids, take, scope }) => sql`
  select ${COLUMNS.team(sql)}, p.id as "of" from projects p join teams t on t.id = p.team_id
  where p.team_id = ${teamId} and ${scope} and p.id = any(${ids}) limit ${take}`;

const environmentsOfProjects: Read = (sql, { teamId, ids, take, scope }) => sql`
  select ${COLUMNS.environment(sql)}, e.project_id as "of" from environments e
  where e.team_id = ${teamId} and ${scope} and e.project_id = any(${ids}) order by e.name, e.id limit ${take}`;

const projectOfEnvironments: Read = (sql, { teamId, ids, take, scope }) => sql`
  select ${COLUMNS.project(sql)}, e.id as "of" from environments e join projects p on p.team_id = e.team_id and p.id = e.project_id
  where e.team_id = ${teamId} and ${scope} and e.id = any(${ids}) limit ${take}`;

const runsOfTeam: Read = (sql, { teamId, take, scope }) => sql`
  select ${COLUMNS.run(sql)}, w.team_id as "of" from work_items w where w.team_id = ${teamId} and ${scope} and w.kind = 'run'
  order by w.created_at desc nulls last, w.id desc nulls last limit ${take}`;

const teamOfRuns: Read = (sql, { teamId, ids, take, scope }) => sql`
  select ${COLUMNS.team(sql)}, w.id as "of" from work_items w join teams t on t.id = w.team_id
  where w.team_id = ${teamId} and ${scope} and w.id = any(${ids}) limit ${take}`;

/**
 * Both statements over labels ask for one label value at a time, in the order of its index and with `labels
 * ?` as the index has it: asked for several at once, the planner walks the team's newest runs instead, all of
 * them when none carries the label.
 */
const runsOfEnvironments: Read = (sql, { teamId, ids, take, scope }) => sql`
  select w.*, asked.id as "of" from unnest(${ids}::text[]) as asked (id) cross join lateral (
    select ${COLUMNS.run(sql)} from work_items w
    where w.team_id = ${teamId} and ${scope} and w.kind = 'run' and w.labels ? 'environment' and w.labels ->> 'environment' = asked.id
    order by w.created_at desc nulls last, w.id desc nulls last limit ${take}
  ) w order by w."createdAt" desc, w.id desc limit ${take}`;

const environmentOfRuns: Read = (sql, { teamId, ids, take, scope }) => sql`
  select ${COLUMNS.environment(sql)}, w.id as "of" from work_items w
  join environments e on e.team_id = w.team_id and e.id = w.labels ->> 'environment'
  where w.team_id = ${teamId} and ${scope} and w.id = any(${ids}) limit ${take}`;

const buildsOfEnvironments: Read = (sql, { teamId, ids, take, scope }) => sql`
  select b.*, asked.id as "of" from unnest(${ids}::text[]) as asked (id) cross join lateral (
    select ${COLUMNS.build(sql)} from builds b left join work_items w on w.id = b.work_id
    where b.team_id = ${teamId} and ${scope} and b.environment_id = asked.id
    order by b.created_at desc nulls last, b.id desc nulls last limit ${take}
  ) b order by b."createdAt" desc, b.id desc limit ${take}`;

const environmentOfBuilds: Read = (sql, { teamId, ids, take, scope }) => sql`
  select ${COLUMNS.environment(sql)}, b.id as "of" from builds b join environments e on e.team_id = b.team_id and e.id = b.environment_id
  where b.team_id = ${teamId} and ${scope} and b.id = any(${ids}) limit ${take}`;

/** They are those that have the environment as their own, and those that stand in it as well. */
const ciRunsOfEnvironments: Read = (sql, { teamId, ids, take, scope }) => sql`
  select c.*, asked.id as "of" from unnest(${ids}::text[]) as asked (id) cross join lateral (
    select ${COLUMNS.ci_run(sql)} from (
      (select r.* from ci_runs r where r.team_id = ${teamId} and ${scope} and r.environment_id = asked.id
      order by r.occurred_at desc nulls last, r.id desc nulls last limit ${take})
      union all
      (select r.* from ci_run_environments x join ci_runs r on r.id = x.run_id
      where x.team_id = ${teamId} and ${scope} and x.environment_id = asked.id
      order by x.occurred_at desc nulls last, x.run_id desc nulls last limit ${take})
    ) c join ci_pipelines l on l.id = c.pipeline_id order by c.occurred_at desc, c.id desc limit ${take}
  ) c order by c."createdAt" desc, c.id desc limit ${take}`;

const environmentsOfCiRuns: Read = (sql, { teamId, ids, take, scope }) => sql`
  select ${COLUMNS.environment(sql)}, c.id as "of" from (
    select id, environment_id from ci_runs where team_id = ${teamId} and id = any(${ids})
    union all
    select run_id, environment_id from ci_run_environments where team_id = ${teamId} and run_id = any(${ids})
  ) c join environments e on e.team_id = ${teamId} and e.id = c.environment_id
  where ${scope} order by c.id desc, e.id limit ${take}`;

const releasesOfProjects: Read = (sql, { teamId, ids, take, scope }) => sql`
  select r.*, asked.id as "of" from unnest(${ids}::text[]) as asked (id) cross join lateral (
    select ${COLUMNS.release(sql)} from releases r
    where r.team_id = ${teamId} and ${scope} and r.project_id = asked.id order by r.id desc limit ${take}
  ) r order by r.id desc limit ${take}`;

const projectOfReleases: Read = (sql, { teamId, ids, take, scope }) => sql`
  select ${COLUMNS.project(sql)}, r.id as "of" from releases r join projects p on p.team_id = r.team_id and p.id = r.project_id
  where r.team_id = ${teamId} and ${scope} and r.id = any(${ids}) limit ${take}`;

const artifactsOfReleases: Read = (sql, { teamId, ids, take, scope }) => sql`
  select ${COLUMNS.artifact(sql)}, x.release_id as "of" from release_artifacts x join artifacts a on a.team_id = x.team_id and a.id = x.artifact_id
  where x.team_id = ${teamId} and ${scope} and x.release_id = any(${ids}) order by a.id desc limit ${take}`;

const releasesOfArtifacts: Read = (sql, { teamId, ids, take, scope }) => sql`
  select r.*, asked.id as "of" from unnest(${ids}::text[]) as asked (id) cross join lateral (
    select ${COLUMNS.release(sql)} from release_artifacts x join releases r on r.team_id = x.team_id and r.id = x.release_id
    where x.team_id = ${teamId} and ${scope} and x.artifact_id = asked.id order by x.release_id desc limit ${take}
  ) r order by r.id desc limit ${take}`;

const promotionsOfReleases: Read = (sql, { teamId, ids, take, scope }) => sql`
  select m.*, asked.id as "of" from unnest(${ids}::text[]) as asked (id) cross join lateral (
    select ${COLUMNS.promotion(sql)} from promotions m
    where m.team_id = ${teamId} and ${scope} and m.release_id = asked.id order by m.id desc limit ${take}
  ) m order by m.id desc limit ${take}`;

const releaseOfPromotions: Read = (sql, { teamId, ids, take, scope }) => sql`
  select ${COLUMNS.release(sql)}, m.id as "of" from promotions m join releases r on r.team_id = m.team_id and r.id = m.release_id
  where m.team_id = ${teamId} and ${scope} and m.id = any(${ids}) limit ${take}`;

const promotionsOfEnvironments: Read = (sql, { teamId, ids, take, scope }) => sql`
  select m.*, asked.id as "of" from unnest(${ids}::text[]) as asked (id) cross join lateral (
    select ${COLUMNS.promotion(sql)} from promotions m
    where m.team_id = ${teamId} and ${scope} and m.environment_id = asked.id order by m.id desc limit ${take}
  ) m order by m.id desc limit ${take}`;

const environmentOfPromotions: Read = (sql, { teamId, ids, take, scope }) => sql`
  select ${COLUMNS.environment(sql)}, m.id as "of" from promotions m join environments e on e.team_id = m.team_id and e.id = m.environment_id
  where m.team_id = ${teamId} and ${scope} and m.id = any(${ids}) limit ${take}`;

/** The steps from nodes of each kind to their neighbours. */
export const STEPS: Readonly<Record<NodeKind, readonly Step[]>> = {
  team: [
    { side: 'child', kind: 'project', read: projectsOfTeam },
    { side: 'child', kind: 'run', relation: 'ran', read: runsOfTeam },
  ],
  project: [
    { side: 'parent', kind: 'team', read: teamOfProjects },
    { side: 'child', kind: 'environment', read: environmentsOfProjects },
    { side: 'child', kind: 'release', read: releasesOfProjects },
  ],
  environment: [
    { side: 'parent', kind: 'project', read: projectOfEnvironments },
    { side: 'child', kind: 'build', relation: 'ran', read: buildsOfEnvironments },
    { side: 'child', kind: 'ci_run', relation: 'ran', read: ciRunsOfEnvironments },
    { side: 'child', kind: 'run', relation: 'ran', read: runsOfEnvironments },
    { side: 'parent', kind: 'promotion', relation: 'promoted_to', read: promotionsOfEnvironments },
  ],
  build: [{ side: 'parent', kind: 'environment', relation: 'ran', read: environmentOfBuilds }],
  ci_run: [{ side: 'parent', kind: 'environment', relation: 'ran', read: environmentsOfCiRuns }],
  run: [
    { side: 'parent', kind: 'environment', relation: 'ran', read: environmentOfRuns },
    { side: 'parent', kind: 'team', relation: 'ran', read: teamOfRuns },
  ],
  artifact: [{ side: 'child', kind: 'release', relation: 'in', read: releasesOfArtifacts }],
  release: [
    { side: 'parent', kind: 'project', read: projectOfReleases },
    { side: 'parent', kind: 'artifact', relation: 'in', read: artifactsOfReleases },
    { side: 'child', kind: 'promotion', relation: 'promoted_by', read: promotionsOfReleases },
  ],
  promotion: [
    { side: 'parent', kind: 'release', relation: 'promoted_by', read: releaseOfPromotions },
    { side: 'child', kind: 'environment', relation: 'promoted_to', read: environmentOfPromotions },
  ],
};

/** A commit, over all teams of the call. */
interface OfCommit {
  readonly sha: string;
  readonly take: number;
}

/** Builds of the commit, newest first. */
export async function buildsOfCommit({ sql }: Database, scope: TeamScope, { sha, take }: OfCommit) {
  return await sql<Node[]>`
    select b.* from unnest(${scope.teamIds}::text[]) as asked (id) cross join lateral (
      select ${COLUMNS.build(sql)} from builds b left join work_items w on w.id = b.work_id
      where b.team_id = asked.id and b.commit = ${sha} order by b.created_at desc nulls last, b.id desc nulls last limit ${take}
    ) b order by b."createdAt" desc, b.id desc limit ${take}`;
}

/** Finds runs of external CI systems of the commit, newest first. */
export async function ciRunsOfCommit({ sql }: Database, scope: TeamScope, { sha, take }: OfCommit) {
  return await sql<Node[]>`
    select c.* from unnest(${scope.teamIds}::text[]) as asked (id) cross join lateral (
      select ${COLUMNS.ci_run(sql)} from ci_runs c join ci_pipelines l on l.id = c.pipeline_id
      where c.team_id = asked.id and c.commit_sha = ${sha} order by c.created_at desc nulls last, c.id desc nulls last limit ${take}
    ) c order by c."createdAt" desc, c.id desc limit ${take}`;
}

/** Sandbox runs that carry the commit, newest first. */
export async function runsOfCommit({ sql }: Database, scope: TeamScope, { sha, take }: OfCommit) {
  return await sql<Node[]>`
    select w.* from unnest(${scope.teamIds}::text[]) as asked (id) cross join lateral (
      select ${COLUMNS.run(sql)} from work_items w
      where w.team_id = asked.id and w.kind = 'run' and w.labels ? 'commit' and w.labels ->> 'commit' = ${sha}
      order by w.created_at desc nulls last, w.id desc nulls last limit ${take}
    ) w order by w."createdAt" desc, w.id desc limit ${take}`;
}

/** Artifacts that came of the commit, newest first. */
export async function artifactsOfCommit({ sql }: Database, scope: TeamScope, { sha, take }: OfCommit) {
  return await sql<Node[]>`
    select ${COLUMNS.artifact(sql)} from artifacts a
    where a.id in (select x.artifact_id from artifact_sources x where x.team_id = any(${scope.teamIds}) and x.commit = ${sha})
    order by a.id desc limit ${take}`;
}
