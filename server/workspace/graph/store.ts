/** Reads nodes from the tables of the resources, always within the teams of a TeamScope. */
import type { TeamScope } from '../../kit/context.ts';
import type { Database, SqlTag } from '../../base/db/index.ts';
import type { Node, NodeKind, Relation } from './node.ts';

type Fragment = ReturnType<SqlTag>;

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

export async function findNode(
  { sql }: Database,
  scope: TeamScope,
  { kind, id }: { readonly kind: NodeKind; readonly id: string },
): Promise<Node | undefined> {
  const teamIds = [...scope.teamIds];
  const columns = COLUMNS[kind](sql);
  const statements: Readonly<Record<NodeKind, () => PromiseLike<readonly Node[]>>> = {
    team: () => sql<Node[]>`select ${columns} from teams t where t.id = ${id} and t.id = any(${teamIds})`,
    project: () =>
      sql<Node[]>`select ${columns} from projects p where p.id = ${id} and p.team_id = any(${teamIds})`,
    environment: () =>
      sql<Node[]>`select ${columns} from environments e where e.id = ${id} and e.team_id = any(${teamIds})`,
    run: () => sql<Node[]>`
      select ${columns} from work_items w where w.id = ${id} and w.kind = 'run' and w.team_id = any(${teamIds})`,
    build: () => sql<Node[]>`
      select ${columns} from builds b left join work_items w on w.id = b.work_id where b.id = ${id} and b.team_id = any(${teamIds})`,
    ci_run: () =>
      sql<
        Node[]
      >`select ${columns} from ci_runs c join ci_pipelines l on l.id = c.pipeline_id where c.id = ${id} and c.team_id = any(${teamIds})`,
    artifact: () =>
      sql<Node[]>`select ${columns} from artifacts a where a.id = ${id} and a.team_id = any(${teamIds})`,
    release: () =>
      sql<Node[]>`select ${columns} from releases r where r.id = ${id} and r.team_id = any(${teamIds})`,
    promotion: () =>
      sql<Node[]>`select ${columns} from promotions m where m.id = ${id} and m.team_id = any(${teamIds})`,
  };
  const [row] = await statements[kind]();
  return row;
}

/** A node and the id of its neighbour whose neighbours were asked for. */
export type Neighbour = Node & { readonly of: string };

/** Nodes of one team whose neighbours are asked for. `take` bounds them, newest or first by name. */
interface NeighbourQuery {
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
  read(db: Database, scope: TeamScope, asked: NeighbourQuery): Promise<readonly Neighbour[]>;
}

/**
 * It is true if the call reaches the team. It stands beside the condition on the one team, which the
 * statements find their rows by.
 */
const reaches = (sql: SqlTag, scope: TeamScope, teamId: string): Fragment =>
  sql`${teamId}::text = any(${[...scope.teamIds]}::text[])`;

async function projectsOfTeam({ sql }: Database, scope: TeamScope, { teamId, take }: NeighbourQuery) {
  return await sql<Neighbour[]>`
    select ${COLUMNS.project(sql)}, p.team_id as "of" from projects p where p.team_id = ${teamId} and ${reaches(sql, scope, teamId)}
    order by p.created_at desc, p.id desc limit ${take}`;
}

async function teamOfProjects({ sql }: Database, scope: TeamScope, { teamId, ids, take }: NeighbourQuery) {
  return await sql<Neighbour[]>`
    select ${COLUMNS.team(sql)}, p.id as "of" from projects p join teams t on t.id = p.team_id
    where p.team_id = ${teamId} and ${reaches(sql, scope, teamId)} and p.id = any(${[...ids]}) limit ${take}`;
}

async function environmentsOfProjects(
  { sql }: Database,
  scope: TeamScope,
  { teamId, ids, take }: NeighbourQuery,
) {
  return await sql<Neighbour[]>`
    select ${COLUMNS.environment(sql)}, e.project_id as "of" from environments e
    where e.team_id = ${teamId} and ${reaches(sql, scope, teamId)} and e.project_id = any(${[...ids]}) order by e.name, e.id limit ${take}`;
}

async function projectOfEnvironments(
  { sql }: Database,
  scope: TeamScope,
  { teamId, ids, take }: NeighbourQuery,
) {
  return await sql<Neighbour[]>`
    select ${COLUMNS.project(sql)}, e.id as "of" from environments e join projects p on p.team_id = e.team_id and p.id = e.project_id
    where e.team_id = ${teamId} and ${reaches(sql, scope, teamId)} and e.id = any(${[...ids]}) limit ${take}`;
}

async function runsOfTeam({ sql }: Database, scope: TeamScope, { teamId, take }: NeighbourQuery) {
  return await sql<Neighbour[]>`
    select ${COLUMNS.run(sql)}, w.team_id as "of" from work_items w where w.team_id = ${teamId} and ${reaches(sql, scope, teamId)} and w.kind = 'run'
    order by w.created_at desc nulls last, w.id desc nulls last limit ${take}`;
}

async function teamOfRuns({ sql }: Database, scope: TeamScope, { teamId, ids, take }: NeighbourQuery) {
  return await sql<Neighbour[]>`
    select ${COLUMNS.team(sql)}, w.id as "of" from work_items w join teams t on t.id = w.team_id
    where w.team_id = ${teamId} and ${reaches(sql, scope, teamId)} and w.id = any(${[...ids]}) limit ${take}`;
}

/**
 * Both statements over labels ask for one label value at a time, in the order of its index and with `labels
 * ?` as the index has it: asked for several at once, the planner walks the team's newest runs instead, all of
 * them when none carries the label.
 */
async function runsOfEnvironments(
  { sql }: Database,
  scope: TeamScope,
  { teamId, ids, take }: NeighbourQuery,
) {
  return await sql<Neighbour[]>`
    select w.*, asked.id as "of" from unnest(${[...ids]}::text[]) as asked (id) cross join lateral (
      select ${COLUMNS.run(sql)} from work_items w
      where w.team_id = ${teamId} and ${reaches(sql, scope, teamId)} and w.kind = 'run' and w.labels ? 'environment' and w.labels ->> 'environment' = asked.id
      order by w.created_at desc nulls last, w.id desc nulls last limit ${take}
    ) w order by w."createdAt" desc, w.id desc limit ${take}`;
}

async function environmentOfRuns({ sql }: Database, scope: TeamScope, { teamId, ids, take }: NeighbourQuery) {
  return await sql<Neighbour[]>`
    select ${COLUMNS.environment(sql)}, w.id as "of" from work_items w
    join environments e on e.team_id = w.team_id and e.id = w.labels ->> 'environment'
    where w.team_id = ${teamId} and ${reaches(sql, scope, teamId)} and w.id = any(${[...ids]}) limit ${take}`;
}

async function buildsOfEnvironments(
  { sql }: Database,
  scope: TeamScope,
  { teamId, ids, take }: NeighbourQuery,
) {
  return await sql<Neighbour[]>`
    select b.*, asked.id as "of" from unnest(${[...ids]}::text[]) as asked (id) cross join lateral (
      select ${COLUMNS.build(sql)} from builds b left join work_items w on w.id = b.work_id
      where b.team_id = ${teamId} and ${reaches(sql, scope, teamId)} and b.environment_id = asked.id
      order by b.created_at desc nulls last, b.id desc nulls last limit ${take}
    ) b order by b."createdAt" desc, b.id desc limit ${take}`;
}

async function environmentOfBuilds(
  { sql }: Database,
  scope: TeamScope,
  { teamId, ids, take }: NeighbourQuery,
) {
  return await sql<Neighbour[]>`
    select ${COLUMNS.environment(sql)}, b.id as "of" from builds b join environments e on e.team_id = b.team_id and e.id = b.environment_id
    where b.team_id = ${teamId} and ${reaches(sql, scope, teamId)} and b.id = any(${[...ids]}) limit ${take}`;
}

/** They are those that have the environment as their own, and those that stand in it as well. */
async function ciRunsOfEnvironments(
  { sql }: Database,
  scope: TeamScope,
  { teamId, ids, take }: NeighbourQuery,
) {
  return await sql<Neighbour[]>`
    select c.*, asked.id as "of" from unnest(${[...ids]}::text[]) as asked (id) cross join lateral (
      select ${COLUMNS.ci_run(sql)} from (
        (select r.* from ci_runs r where r.team_id = ${teamId} and ${reaches(sql, scope, teamId)} and r.environment_id = asked.id
        order by r.occurred_at desc nulls last, r.id desc nulls last limit ${take})
        union all
        (select r.* from ci_run_environments x join ci_runs r on r.id = x.run_id
        where x.team_id = ${teamId} and ${reaches(sql, scope, teamId)} and x.environment_id = asked.id
        order by x.occurred_at desc nulls last, x.run_id desc nulls last limit ${take})
      ) c join ci_pipelines l on l.id = c.pipeline_id order by c.occurred_at desc, c.id desc limit ${take}
    ) c order by c."createdAt" desc, c.id desc limit ${take}`;
}

async function environmentsOfCiRuns(
  { sql }: Database,
  scope: TeamScope,
  { teamId, ids, take }: NeighbourQuery,
) {
  return await sql<Neighbour[]>`
    select ${COLUMNS.environment(sql)}, c.id as "of" from (
      select id, environment_id from ci_runs where team_id = ${teamId} and id = any(${[...ids]})
      union all
      select run_id, environment_id from ci_run_environments where team_id = ${teamId} and run_id = any(${[...ids]})
    ) c join environments e on e.team_id = ${teamId} and e.id = c.environment_id
    where ${reaches(sql, scope, teamId)} order by c.id desc, e.id limit ${take}`;
}

async function releasesOfProjects(
  { sql }: Database,
  scope: TeamScope,
  { teamId, ids, take }: NeighbourQuery,
) {
  return await sql<Neighbour[]>`
    select r.*, asked.id as "of" from unnest(${[...ids]}::text[]) as asked (id) cross join lateral (
      select ${COLUMNS.release(sql)} from releases r
      where r.team_id = ${teamId} and ${reaches(sql, scope, teamId)} and r.project_id = asked.id order by r.id desc limit ${take}
    ) r order by r.id desc limit ${take}`;
}

async function projectOfReleases({ sql }: Database, scope: TeamScope, { teamId, ids, take }: NeighbourQuery) {
  return await sql<Neighbour[]>`
    select ${COLUMNS.project(sql)}, r.id as "of" from releases r join projects p on p.team_id = r.team_id and p.id = r.project_id
    where r.team_id = ${teamId} and ${reaches(sql, scope, teamId)} and r.id = any(${[...ids]}) limit ${take}`;
}

async function artifactsOfReleases(
  { sql }: Database,
  scope: TeamScope,
  { teamId, ids, take }: NeighbourQuery,
) {
  return await sql<Neighbour[]>`
    select ${COLUMNS.artifact(sql)}, x.release_id as "of" from release_artifacts x join artifacts a on a.team_id = x.team_id and a.id = x.artifact_id
    where x.team_id = ${teamId} and ${reaches(sql, scope, teamId)} and x.release_id = any(${[...ids]}) order by a.id desc limit ${take}`;
}

async function releasesOfArtifacts(
  { sql }: Database,
  scope: TeamScope,
  { teamId, ids, take }: NeighbourQuery,
) {
  return await sql<Neighbour[]>`
    select r.*, asked.id as "of" from unnest(${[...ids]}::text[]) as asked (id) cross join lateral (
      select ${COLUMNS.release(sql)} from release_artifacts x join releases r on r.team_id = x.team_id and r.id = x.release_id
      where x.team_id = ${teamId} and ${reaches(sql, scope, teamId)} and x.artifact_id = asked.id order by x.release_id desc limit ${take}
    ) r order by r.id desc limit ${take}`;
}

async function promotionsOfReleases(
  { sql }: Database,
  scope: TeamScope,
  { teamId, ids, take }: NeighbourQuery,
) {
  return await sql<Neighbour[]>`
    select m.*, asked.id as "of" from unnest(${[...ids]}::text[]) as asked (id) cross join lateral (
      select ${COLUMNS.promotion(sql)} from promotions m
      where m.team_id = ${teamId} and ${reaches(sql, scope, teamId)} and m.release_id = asked.id order by m.id desc limit ${take}
    ) m order by m.id desc limit ${take}`;
}

async function releaseOfPromotions(
  { sql }: Database,
  scope: TeamScope,
  { teamId, ids, take }: NeighbourQuery,
) {
  return await sql<Neighbour[]>`
    select ${COLUMNS.release(sql)}, m.id as "of" from promotions m join releases r on r.team_id = m.team_id and r.id = m.release_id
    where m.team_id = ${teamId} and ${reaches(sql, scope, teamId)} and m.id = any(${[...ids]}) limit ${take}`;
}

async function promotionsOfEnvironments(
  { sql }: Database,
  scope: TeamScope,
  { teamId, ids, take }: NeighbourQuery,
) {
  return await sql<Neighbour[]>`
    select m.*, asked.id as "of" from unnest(${[...ids]}::text[]) as asked (id) cross join lateral (
      select ${COLUMNS.promotion(sql)} from promotions m
      where m.team_id = ${teamId} and ${reaches(sql, scope, teamId)} and m.environment_id = asked.id order by m.id desc limit ${take}
    ) m order by m.id desc limit ${take}`;
}

async function environmentOfPromotions(
  { sql }: Database,
  scope: TeamScope,
  { teamId, ids, take }: NeighbourQuery,
) {
  return await sql<Neighbour[]>`
    select ${COLUMNS.environment(sql)}, m.id as "of" from promotions m join environments e on e.team_id = m.team_id and e.id = m.environment_id
    where m.team_id = ${teamId} and ${reaches(sql, scope, teamId)} and m.id = any(${[...ids]}) limit ${take}`;
}

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
    select b.* from unnest(${[...scope.teamIds]}::text[]) as asked (id) cross join lateral (
      select ${COLUMNS.build(sql)} from builds b left join work_items w on w.id = b.work_id
      where b.team_id = asked.id and b.commit = ${sha} order by b.created_at desc nulls last, b.id desc nulls last limit ${take}
    ) b order by b."createdAt" desc, b.id desc limit ${take}`;
}

/** Finds runs of external CI systems of the commit, newest first. */
export async function ciRunsOfCommit({ sql }: Database, scope: TeamScope, { sha, take }: OfCommit) {
  return await sql<Node[]>`
    select c.* from unnest(${[...scope.teamIds]}::text[]) as asked (id) cross join lateral (
      select ${COLUMNS.ci_run(sql)} from ci_runs c join ci_pipelines l on l.id = c.pipeline_id
      where c.team_id = asked.id and c.commit_sha = ${sha} order by c.created_at desc nulls last, c.id desc nulls last limit ${take}
    ) c order by c."createdAt" desc, c.id desc limit ${take}`;
}

/** Sandbox runs that carry the commit, newest first. */
export async function runsOfCommit({ sql }: Database, scope: TeamScope, { sha, take }: OfCommit) {
  return await sql<Node[]>`
    select w.* from unnest(${[...scope.teamIds]}::text[]) as asked (id) cross join lateral (
      select ${COLUMNS.run(sql)} from work_items w
      where w.team_id = asked.id and w.kind = 'run' and w.labels ? 'commit' and w.labels ->> 'commit' = ${sha}
      order by w.created_at desc nulls last, w.id desc nulls last limit ${take}
    ) w order by w."createdAt" desc, w.id desc limit ${take}`;
}

/** Artifacts that came of the commit, newest first. */
export async function artifactsOfCommit({ sql }: Database, scope: TeamScope, { sha, take }: OfCommit) {
  return await sql<Node[]>`
    select ${COLUMNS.artifact(sql)} from artifacts a
    where a.id in (select x.artifact_id from artifact_sources x where x.team_id = any(${[...scope.teamIds]}) and x.commit = ${sha})
    order by a.id desc limit ${take}`;
}
