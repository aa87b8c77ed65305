/**
 * A team puts its runners into groups. Which routes their runners have follows from names and labels by
 * triggers of the database (see work/routes.ts), in the transaction of the change.
 */
import { apiError } from '@svc/proto/http/errors.ts';
import { implement, type Handlers } from '@svc/proto/http/implement.ts';
import {
  CreateRequestSchema,
  RunnerGroupSchema,
  RunnerGroupsService,
  UpdateRequestSchema,
  type UpdateRequest,
} from '@svc/proto/gen/svc/runnergroups/v1/runnergroups_pb.ts';
import type { Ctx } from '../../kit/context.ts';
import { declareFeature } from '../../kit/feature.ts';
import { described, findsByName } from '../../kit/search.ts';
import { teamsFeature } from '../../access/teams/index.ts';
import { workFeature } from '../work/index.ts';
import { change, rowsOf, shown, unlessTaken, type RowOf } from '../../kit/resource/index.ts';
import { runnerGroups } from './schema.ts';
import { requireTeam } from '../../kit/authorise.ts';

type Group = RowOf<typeof runnerGroups>;

const GROUPS_MAX = 100;
const LABELS_MAX = 16;

const rows = rowsOf(runnerGroups);
const details = ({ name, labels, maxRunning }: Group) => ({ name, labels, maxRunning });
const show = (row: Group) => shown(RunnerGroupSchema, row);
const unlessNameTaken = async (name: string, work: Promise<Group | undefined>) =>
  await unlessTaken(work, {
    index: 'runner_groups_name',
    resource: rows.kind,
    field: 'name',
    value: name,
  });

function createRunnerGroups(): Handlers<Ctx> {
  return implement(RunnerGroupsService, {
    list: async (_request, ctx: Ctx) => ({
      runnerGroups: (await rows.list(ctx, { by: runnerGroups.name })).map(show),
    }),
    get: async ({ groupId }, ctx: Ctx) => show(await rows.find(ctx, groupId)),
    create: async (request, ctx: Ctx) => {
      const { teamId, name, labels } = request;
      const made = change(ctx, { action: 'runner_group.created', details }, async (tx) => {
        await rows.atMost(tx, { teamId, max: GROUPS_MAX });
        return await rows.insert(tx, { ...rows.changes(CreateRequestSchema, request), teamId, name, labels });
      });
      return show((await unlessNameTaken(name, made)) as Group);
    },
    update: async (request, ctx: Ctx) => show(await update(ctx, request)),
    delete: async ({ teamId, groupId }, ctx: Ctx) => {
      await rows.find(ctx, groupId);
      await change(ctx, { action: 'runner_group.deleted', details }, async (tx) => {
        await rows.lock(tx, groupId);
        const runner = await memberOf(tx, { teamId, groupId });
        if (runner !== undefined) {
          throw apiError('in_use', `runner ${runner} is in the group; take its runners out of it first`, {
            details: { resource: rows.kind, runner },
          });
        }
        await letGoOfRevoked(tx, { teamId, groupId });
        return await rows.remove(tx, groupId);
      });
      return {};
    },
  });
}

async function update(ctx: Ctx, request: UpdateRequest): Promise<Group> {
  const { groupId, name, maxRunning } = request;
  await rows.find(ctx, groupId);
  const act = { action: 'runner_group.updated', details };
  const changed = change<Group | undefined>(ctx, act, async (tx) => {
    const before = await rows.lock(tx, groupId);
    const set = {
      ...rows.changes(UpdateRequestSchema, request),
      labels: withLabels(before.labels, request.labels, { resource: rows.kind, max: LABELS_MAX }),
      ...(maxRunning === 0 ? { maxRunning: null } : {}),
    };
    return await rows.update(tx, groupId, { set });
  });
  return (await unlessNameTaken(name ?? '', changed)) ?? (await rows.find(ctx, groupId));
}

export const runnerGroupsFeature = declareFeature({
  name: 'runnergroups',
  on: { teams: teamsFeature, work: workFeature },
  start: () => ({
    services: [createRunnerGroups()],
    fills: [
      findsByName({ ...described(runnerGroups, 'runner:read', runnerGroups.name), feature: 'host.runners' }),
    ],
  }),
});

interface GroupRef {
  readonly teamId: string;
  readonly groupId: string;
}

/** Name of one of its runners that is not revoked. */
export async function memberOf(
  { db: { sql }, teams }: Pick<Ctx, 'db' | 'teams'>,
  { teamId, groupId }: GroupRef,
): Promise<string | undefined> {
  const [row] = await sql<Array<{ name: string }>>`
    select name from runners
    where team_id = ${requireTeam(teams, teamId)} and group_id = ${groupId} and revoked_at is null order by name limit 1`;
  return row?.name;
}

/** A revoked runner holds nothing back. */
export async function letGoOfRevoked(
  { db: { sql }, teams }: Pick<Ctx, 'db' | 'teams'>,
  { teamId, groupId }: GroupRef,
): Promise<void> {
  await sql`
    update runners set group_id = null
    where team_id = ${requireTeam(teams, teamId)} and group_id = ${groupId} and revoked_at is not null`;
}

type Labels = Readonly<Record<string, string>>;

/** Returns labels with a change of them: one with an empty value is taken away. */
export function withLabels(
  before: Labels,
  changes: Labels,
  { resource, max }: { readonly resource: string; readonly max: number },
): Labels {
  const after = Object.entries({ ...before, ...changes }).filter(([, value]) => value !== '');
  if (after.length <= max) return Object.fromEntries(after);
  throw apiError(
    'limit_reached',
    `the ${resource} would have ${after.length} labels, at most ${max} are allowed`,
    { details: { resource, limit: max, current: after.length } },
  );
}
