/**
 * Settings and proposed tasks of the maintenance of repositories are stored and shown. No agent takes them on
 * yet.
 */
import { and, eq, ne } from 'drizzle-orm';
import { apiError } from '@svc/proto/http/errors.ts';
import { implement, type Handlers } from '@svc/proto/http/implement.ts';
import {
  MaintenanceService,
  MaintenanceSettingsSchema,
  MaintenanceTaskSchema,
  MaintenanceWaitingCode,
  type UpdateSettingsRequest,
} from '@svc/proto/gen/svc/maintenance/v1/maintenance_pb.ts';
import type { Ctx } from '../../kit/context.ts';
import { declareFeature } from '../../kit/feature.ts';
import type { FeatureGate } from '../../kit/feature-gate.ts';
import { change, lockTeam, rowsOf, shown, type RowOf } from '../../kit/resource/index.ts';
import { ableAgent, agentsFeature } from '../../access/agents/index.ts';
import { teamsFeature } from '../../access/teams/index.ts';
import { switchesFeature } from '../../switches/index.ts';
import { maintenanceSettings, maintenanceTasks } from './schema.ts';

/** Categories are free words; this bounds how many of them one repository can be given settings for. */
export const CATEGORIES_MAX = 100;

const tasks = rowsOf(maintenanceTasks);
type Settings = typeof maintenanceSettings.$inferSelect;

const FEATURE_OFF = {
  code: MaintenanceWaitingCode.FEATURE_OFF,
  text: 'maintenance is switched off on this installation; switching it on starts no task that was proposed before',
} as const;

function createMaintenance(gate: FeatureGate): Handlers<Ctx> {
  const show = (row: RowOf<typeof maintenanceTasks>) => {
    const isOff = gate.state('host.automation.maintenance') !== 'open';
    return shown(MaintenanceTaskSchema, { ...row, waitingFor: isOff ? FEATURE_OFF : undefined });
  };
  return implement(MaintenanceService, {
    listTasks: async (request, ctx: Ctx) => {
      const { teamId, repositoryId } = request;
      const where = and(eq(maintenanceTasks.teamId, teamId), eq(maintenanceTasks.repositoryId, repositoryId));
      const of = `${teamId}|${repositoryId}`;
      const { items, ...page } = await tasks.page(ctx, { ...request, of }, { where });
      return { ...page, tasks: items.map(show) };
    },
    updateSettings: async (request, ctx: Ctx) =>
      shown(MaintenanceSettingsSchema, await updateSettings(ctx, request)),
    triggerRun: async (request, ctx: Ctx) => {
      const { teamId, repositoryId, category, proposal, agentIdentityId, estimatedCostCents = 0 } = request;
      const details = { repositoryId, category, estimatedCostCents };
      const act = { action: 'maintenance.run_triggered', details: () => details };
      const createdBy = ctx.caller.userId;
      const task = await change(ctx, act, async (tx) => {
        if (agentIdentityId !== undefined) await requireAgent(tx, agentIdentityId);
        return await tasks.insert(tx, { ...details, teamId, proposal, agentIdentityId, createdBy });
      });
      return show(task);
    },
  });
}

/** An agent that may not change projects could do nothing with a task. */
async function requireAgent(tx: Ctx, id: string): Promise<void> {
  if ((await ableAgent(tx, { id, permission: 'project:write' })) !== undefined) return;
  throw apiError(
    'agent_unknown',
    `agentIdentityId is "${id}", which is no agent of the team that is switched on and holds project:write`,
    { details: { agentIdentityId: id } },
  );
}

export const maintenanceFeature = declareFeature({
  name: 'maintenance',
  on: { switches: switchesFeature, teams: teamsFeature, agents: agentsFeature },
  start: (_system, { switches: { switches } }) => ({ services: [createMaintenance(switches.gate)] }),
});

/**
 * What is not named keeps its value, or begins off and without a budget. One statement: of two changes none
 * is lost.
 */
async function updateSettings(ctx: Ctx, request: UpdateSettingsRequest): Promise<Settings> {
  const { teamId, repositoryId, category, enabled, monthlyBudgetCents } = request;
  const set = { enabled, monthlyBudgetCents, updatedAt: ctx.clock.now() };
  const act = {
    action: 'maintenance.settings_updated',
    on: { id: repositoryId, teamId },
    details: (row: Settings) => ({
      category,
      enabled: row.enabled,
      monthlyBudgetCents: row.monthlyBudgetCents,
    }),
  };
  return await change(ctx, act, async (tx) => {
    await refuseTooMany(tx, request);
    const [row] = await tx.db.orm
      .insert(maintenanceSettings)
      .values({ teamId, repositoryId, category, ...set })
      .onConflictDoUpdate({
        target: [maintenanceSettings.teamId, maintenanceSettings.repositoryId, maintenanceSettings.category],
        set,
      })
      .returning();
    if (row === undefined) throw new Error('an upsert returned no row');
    return row;
  });
}

async function refuseTooMany(tx: Ctx, request: UpdateSettingsRequest): Promise<void> {
  const { teamId, repositoryId, category } = request;
  await lockTeam(tx, teamId); // Two changes take turns, so that what was counted still holds.
  const of = maintenanceSettings;
  const others = and(eq(of.teamId, teamId), eq(of.repositoryId, repositoryId), ne(of.category, category));
  const current = await tx.db.orm.$count(of, others);
  if (current < CATEGORIES_MAX) return;
  throw apiError(
    'limit_reached',
    `the repository has settings of ${current} other categories, at most ${CATEGORIES_MAX} categories are allowed`,
    { details: { resource: 'maintenance settings', limit: CATEGORIES_MAX, current } },
  );
}
