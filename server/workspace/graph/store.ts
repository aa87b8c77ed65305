/** Nodes in the database: read from the tables of the resources, always within the teams of a TeamScope. */
import type { TeamScope } from '../../platform/context.ts';
import type { Database, SqlTag } from '../../platform/db/index.ts';
import type { Node, NodeKind } from './node.ts';

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
  };
  const [row] = await statements[kind]();
  return row;
}

/** A node and the id of its neighbour whose neighbours were asked for. */
export type Neighbour = Node & { readonly of: string };

/** The other end of an edge: `parent` leaves towards the node that was asked about, `child` is reached from it. */
export interface Step {
  readonly side: 'parent' | 'child';
  readonly kind: NodeKind;
  /** Neighbours of the given nodes, all of one team. `take` bounds them, newest or first by name. */
  read(
    db: Database,
    asked: { readonly teamId: string; readonly ids: readonly string[]; readonly take: number },
  ): Promise<readonly Neighbour[]>;
}

const projectsOfTeam: Step = {
  side: 'child',
  kind: 'project',
  read: async ({ sql }, { teamId, take }) =>
    await sql<Neighbour[]>`
    select ${COLUMNS.project(sql)}, p.team_id as "of" from projects p where p.team_id = ${teamId}
    order by p.created_at desc, p.id desc limit ${take}`,
};

const teamOfProjects: Step = {
  side: 'parent',
  kind: 'team',
  read: async ({ sql }, { teamId, ids, take }) =>
    await sql<Neighbour[]>`
    select ${COLUMNS.team(sql)}, p.id as "of" from projects p join teams t on t.id = p.team_id
    where p.team_id = ${teamId} and p.id = any(${[...ids]}) limit ${take}`,
};

const environmentsOfProjects: Step = {
  side: 'child',
  kind: 'environment',
  read: async ({ sql }, { teamId, ids, take }) =>
    await sql<Neighbour[]>`
    select ${COLUMNS.environment(sql)}, e.project_id as "of" from environments e
    where e.team_id = ${teamId} and e.project_id = any(${[...ids]}) order by e.name, e.id limit ${take}`,
};

const projectOfEnvironments: Step = {
  side: 'parent',
  kind: 'project',
  read: async ({ sql }, { teamId, ids, take }) =>
    await sql<Neighbour[]>`
    select ${COLUMNS.project(sql)}, e.id as "of" from environments e join projects p on p.team_id = e.team_id and p.id = e.project_id
    where e.team_id = ${teamId} and e.id = any(${[...ids]}) limit ${take}`,
};

const runsOfTeam: Step = {
  side: 'child',
  kind: 'run',
  read: async ({ sql }, { teamId, take }) =>
    await sql<Neighbour[]>`
    select ${COLUMNS.run(sql)}, w.team_id as "of" from work_items w where w.team_id = ${teamId} and w.kind = 'run'
    order by w.created_at desc nulls last, w.id desc nulls last limit ${take}`,
};

const teamOfRuns: Step = {
  side: 'parent',
  kind: 'team',
  read: async ({ sql }, { teamId, ids, take }) =>
    await sql<Neighbour[]>`
    select ${COLUMNS.team(sql)}, w.id as "of" from work_items w join teams t on t.id = w.team_id
    where w.team_id = ${teamId} and w.id = any(${[...ids]}) limit ${take}`,
};

/**
 * Both statements over labels ask for one label value at a time, in the order of its index and with `labels ?` as the index has it: asked for
 * several at once, the planner walks the team's newest runs instead, all of them when none carries the label.
 */
const runsOfEnvironments: Step = {
  side: 'child',
  kind: 'run',
  read: async ({ sql }, { teamId, ids, take }) =>
    await sql<Neighbour[]>`
    select w.*, asked.id as "of" from unnest(${[...ids]}::text[]) as asked (id) cross join lateral (
      select ${COLUMNS.run(sql)} from work_items w
      where w.team_id = ${teamId} and w.kind = 'run' and w.labels ? 'environment' and w.labels ->> 'environment' = asked.id
      order by w.created_at desc nulls last, w.id desc nulls last limit ${take}
    ) w order by w."createdAt" desc, w.id desc limit ${take}`,
};

const environmentOfRuns: Step = {
  side: 'parent',
  kind: 'environment',
  read: async ({ sql }, { teamId, ids, take }) =>
    await sql<Neighbour[]>`
    select ${COLUMNS.environment(sql)}, w.id as "of" from work_items w
    join environments e on e.team_id = w.team_id and e.id = w.labels ->> 'environment'
    where w.team_id = ${teamId} and w.id = any(${[...ids]}) limit ${take}`,
};

/** What hangs on nodes of each kind. */
export const STEPS: Readonly<Record<NodeKind, readonly Step[]>> = {
  team: [projectsOfTeam, runsOfTeam],
  project: [teamOfProjects, environmentsOfProjects],
  environment: [projectOfEnvironments, runsOfEnvironments],
  run: [environmentOfRuns, teamOfRuns],
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
