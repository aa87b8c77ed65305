/** Nodes in the database: read from the tables of the resources, always within the teams of a TeamScope. */
import type { TeamScope } from '../../platform/context.ts';
import type { Database, SqlTag } from '../../platform/db/index.ts';
import type { Node, NodeKind, Relation } from './node.ts';

type Fragment = ReturnType<SqlTag>;

/** Columns of a node, by the alias that each query gives its table. */
const COLUMNS: Readonly<Record<NodeKind, (sql: SqlTag) => Fragment>> = {
  team: (sql) =>
    sql`'team' as kind, t.id, t.id as "teamId", t.name, null as state, t.created_at as "createdAt"`,
  project: (sql) =>
    sql`'project' as kind, p.id, p.team_id as "teamId", p.name, null as state, p.created_at as "createdAt"`,
  environment: (sql) =>
    sql`'environment' as kind, e.id, e.team_id as "teamId", e.name, null as state, e.created_at as "createdAt"`,
  run: (sql) => sql`
    'run' as kind, w.id, w.team_id as "teamId", coalesce(w.spec -> 'command' ->> 0, '') as name, w.state, w.created_at as "createdAt"`,
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
interface Asked {
  readonly teamId: string;
  readonly ids: readonly string[];
  readonly take: number;
}

/** The other end of an edge: `parent` leaves towards the node that was asked about, `child` is reached from it. */
export interface Step {
  readonly side: 'parent' | 'child';
  readonly kind: NodeKind;
  /** Default: `contains`. */
  readonly relation?: Relation;
  read(db: Database, scope: TeamScope, asked: Asked): Promise<readonly Neighbour[]>;
}

/** Whether the call reaches the team. It stands beside the condition on the one team, which the statements find their rows by. */
const reaches = (sql: SqlTag, scope: TeamScope, teamId: string): Fragment =>
  sql`${teamId}::text = any(${[...scope.teamIds]}::text[])`;

async function projectsOfTeam({ sql }: Database, scope: TeamScope, { teamId, take }: Asked) {
  return await sql<Neighbour[]>`
    select ${COLUMNS.project(sql)}, p.team_id as "of" from projects p where p.team_id = ${teamId} and ${reaches(sql, scope, teamId)}
    order by p.created_at desc, p.id desc limit ${take}`;
}

async function teamOfProjects({ sql }: Database, scope: TeamScope, { teamId, ids, take }: Asked) {
  return await sql<Neighbour[]>`
    select ${COLUMNS.team(sql)}, p.id as "of" from projects p join teams t on t.id = p.team_id
    where p.team_id = ${teamId} and ${reaches(sql, scope, teamId)} and p.id = any(${[...ids]}) limit ${take}`;
}

async function environmentsOfProjects({ sql }: Database, scope: TeamScope, { teamId, ids, take }: Asked) {
  return await sql<Neighbour[]>`
    select ${COLUMNS.environment(sql)}, e.project_id as "of" from environments e
    where e.team_id = ${teamId} and ${reaches(sql, scope, teamId)} and e.project_id = any(${[...ids]}) order by e.name, e.id limit ${take}`;
}

async function projectOfEnvironments({ sql }: Database, scope: TeamScope, { teamId, ids, take }: Asked) {
  return await sql<Neighbour[]>`
    select ${COLUMNS.project(sql)}, e.id as "of" from environments e join projects p on p.team_id = e.team_id and p.id = e.project_id
    where e.team_id = ${teamId} and ${reaches(sql, scope, teamId)} and e.id = any(${[...ids]}) limit ${take}`;
}

async function runsOfTeam({ sql }: Database, scope: TeamScope, { teamId, take }: Asked) {
  return await sql<Neighbour[]>`
    select ${COLUMNS.run(sql)}, w.team_id as "of" from work_items w where w.team_id = ${teamId} and ${reaches(sql, scope, teamId)} and w.kind = 'run'
    order by w.created_at desc nulls last, w.id desc nulls last limit ${take}`;
}

async function teamOfRuns({ sql }: Database, scope: TeamScope, { teamId, ids, take }: Asked) {
  return await sql<Neighbour[]>`
    select ${COLUMNS.team(sql)}, w.id as "of" from work_items w join teams t on t.id = w.team_id
    where w.team_id = ${teamId} and ${reaches(sql, scope, teamId)} and w.id = any(${[...ids]}) limit ${take}`;
}

/**
 * Both statements over labels ask for one label value at a time, in the order of its index and with `labels ?` as the index has it: asked for
 * several at once, the planner walks the team's newest runs instead, all of them when none carries the label.
 */
async function runsOfEnvironments({ sql }: Database, scope: TeamScope, { teamId, ids, take }: Asked) {
  return await sql<Neighbour[]>`
    select w.*, asked.id as "of" from unnest(${[...ids]}::text[]) as asked (id) cross join lateral (
      select ${COLUMNS.run(sql)} from work_items w
      where w.team_id = ${teamId} and ${reaches(sql, scope, teamId)} and w.kind = 'run' and w.labels ? 'environment' and w.labels ->> 'environment' = asked.id
      order by w.created_at desc nulls last, w.id desc nulls last limit ${take}
    ) w order by w."createdAt" desc, w.id desc limit ${take}`;
}

async function environmentOfRuns({ sql }: Database, scope: TeamScope, { teamId, ids, take }: Asked) {
  return await sql<Neighbour[]>`
    select ${COLUMNS.environment(sql)}, w.id as "of" from work_items w
    join environments e on e.team_id = w.team_id and e.id = w.labels ->> 'environment'
    where w.team_id = ${teamId} and ${reaches(sql, scope, teamId)} and w.id = any(${[...ids]}) limit ${take}`;
}

async function releasesOfProjects({ sql }: Database, scope: TeamScope, { teamId, ids, take }: Asked) {
  return await sql<Neighbour[]>`
    select r.*, asked.id as "of" from unnest(${[...ids]}::text[]) as asked (id) cross join lateral (
      select ${COLUMNS.release(sql)} from releases r
      where r.team_id = ${teamId} and ${reaches(sql, scope, teamId)} and r.project_id = asked.id order by r.id desc limit ${take}
    ) r order by r.id desc limit ${take}`;
}

async function projectOfReleases({ sql }: Database, scope: TeamScope, { teamId, ids, take }: Asked) {
  return await sql<Neighbour[]>`
    select ${COLUMNS.project(sql)}, r.id as "of" from releases r join projects p on p.team_id = r.team_id and p.id = r.project_id
    where r.team_id = ${teamId} and ${reaches(sql, scope, teamId)} and r.id = any(${[...ids]}) limit ${take}`;
}

async function artifactsOfReleases({ sql }: Database, scope: TeamScope, { teamId, ids, take }: Asked) {
  return await sql<Neighbour[]>`
    select ${COLUMNS.artifact(sql)}, x.release_id as "of" from release_artifacts x join artifacts a on a.team_id = x.team_id and a.id = x.artifact_id
    where x.team_id = ${teamId} and ${reaches(sql, scope, teamId)} and x.release_id = any(${[...ids]}) order by a.id desc limit ${take}`;
}

async function releasesOfArtifacts({ sql }: Database, scope: TeamScope, { teamId, ids, take }: Asked) {
  return await sql<Neighbour[]>`
    select r.*, asked.id as "of" from unnest(${[...ids]}::text[]) as asked (id) cross join lateral (
      select ${COLUMNS.release(sql)} from release_artifacts x join releases r on r.team_id = x.team_id and r.id = x.release_id
      where x.team_id = ${teamId} and ${reaches(sql, scope, teamId)} and x.artifact_id = asked.id order by x.release_id desc limit ${take}
    ) r order by r.id desc limit ${take}`;
}

async function promotionsOfReleases({ sql }: Database, scope: TeamScope, { teamId, ids, take }: Asked) {
  return await sql<Neighbour[]>`
    select m.*, asked.id as "of" from unnest(${[...ids]}::text[]) as asked (id) cross join lateral (
      select ${COLUMNS.promotion(sql)} from promotions m
      where m.team_id = ${teamId} and ${reaches(sql, scope, teamId)} and m.release_id = asked.id order by m.id desc limit ${take}
    ) m order by m.id desc limit ${take}`;
}

async function releaseOfPromotions({ sql }: Database, scope: TeamScope, { teamId, ids, take }: Asked) {
  return await sql<Neighbour[]>`
    select ${COLUMNS.release(sql)}, m.id as "of" from promotions m join releases r on r.team_id = m.team_id and r.id = m.release_id
    where m.team_id = ${teamId} and ${reaches(sql, scope, teamId)} and m.id = any(${[...ids]}) limit ${take}`;
}

async function promotionsOfEnvironments({ sql }: Database, scope: TeamScope, { teamId, ids, take }: Asked) {
  return await sql<Neighbour[]>`
    select m.*, asked.id as "of" from unnest(${[...ids]}::text[]) as asked (id) cross join lateral (
      select ${COLUMNS.promotion(sql)} from promotions m
      where m.team_id = ${teamId} and ${reaches(sql, scope, teamId)} and m.environment_id = asked.id order by m.id desc limit ${take}
    ) m order by m.id desc limit ${take}`;
}

async function environmentOfPromotions({ sql }: Database, scope: TeamScope, { teamId, ids, take }: Asked) {
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
    { side: 'child', kind: 'run', relation: 'ran', read: runsOfEnvironments },
    { side: 'parent', kind: 'promotion', relation: 'promoted_to', read: promotionsOfEnvironments },
  ],
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

/** Runs that carry the commit, newest first. */
export async function runsOfCommit(
  { sql }: Database,
  scope: TeamScope,
  { sha, take }: { readonly sha: string; readonly take: number },
): Promise<readonly Node[]> {
  return await sql<Node[]>`
    select w.* from unnest(${[...scope.teamIds]}::text[]) as asked (id) cross join lateral (
      select ${COLUMNS.run(sql)} from work_items w
      where w.team_id = asked.id and w.kind = 'run' and w.labels ? 'commit' and w.labels ->> 'commit' = ${sha}
      order by w.created_at desc nulls last, w.id desc nulls last limit ${take}
    ) w order by w."createdAt" desc, w.id desc limit ${take}`;
}

/** The environments that runs hang on; both ends are of one team. */
export async function environmentsOfRuns(
  { sql }: Database,
  scope: TeamScope,
  runIds: readonly string[],
): Promise<readonly Neighbour[]> {
  return await sql<Neighbour[]>`
    select ${COLUMNS.environment(sql)}, w.id as "of" from work_items w
    join environments e on e.team_id = w.team_id and e.id = w.labels ->> 'environment'
    where w.team_id = any(${[...scope.teamIds]}) and w.id = any(${[...runIds]}) order by w.created_at desc, w.id desc`;
}

/** Artifacts that came of the commit, newest first. */
export async function artifactsOfCommit(
  { sql }: Database,
  scope: TeamScope,
  { sha, take }: { readonly sha: string; readonly take: number },
): Promise<readonly Node[]> {
  return await sql<Node[]>`
    select ${COLUMNS.artifact(sql)} from artifacts a
    where a.id in (select x.artifact_id from artifact_sources x where x.team_id = any(${[...scope.teamIds]}) and x.commit = ${sha})
    order by a.id desc limit ${take}`;
}
