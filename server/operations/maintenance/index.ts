/** Maintenance of repositories: settings and proposed tasks, stored and shown. No agent takes them on yet. */
import type { Feature, System } from '../../platform/feature.ts';
import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import { apiError } from '@svc/proto/http/errors.ts';
import { implement } from '@svc/proto/http/implement.ts';
import type { Handlers } from '@svc/proto/http/implement.ts';
import {
  MaintenanceService,
  MaintenanceTaskState,
} from '@svc/proto/gen/svc/maintenance/v1/maintenance_pb.ts';
import { recordAct } from '../../platform/ledger/index.ts';
import type { Clock } from '../../platform/clock.ts';
import type { Ctx } from '../../platform/context.ts';
import { newId } from '../../platform/ids.ts';
import { closePage, openPage } from '../../platform/paging.ts';
import { changeSettings, countOtherCategories, insertTask, listTasks } from './store.ts';
import type { Settings, SettingsChange, Task } from './store.ts';

/** Categories are free words; this bounds how many of them one repository can be given settings for. */
export const CATEGORIES_MAX = 100;

export interface MaintenanceDeps {
  readonly clock: Clock;
}

export function createMaintenance({ clock }: MaintenanceDeps): Handlers<Ctx> {
  return implement(MaintenanceService, {
    listTasks: async ({ teamId, repositoryId, limit, cursor }, ctx: Ctx) => {
      const binding = `${teamId}|${repositoryId}`;
      const page = openPage(ctx, binding, { limit, cursor });
      const [createdAt, id] = page.after ?? [];
      const after =
        page.after === undefined ? undefined : { createdAt: new Date(String(createdAt)), id: String(id) };
      const rows = await listTasks(ctx.db, { teamId, repositoryId, take: page.take, after });
      const { items, nextCursor } = closePage(page, rows, (row) => [row.createdAt.toISOString(), row.id]);
      return { tasks: items.map(presentTask), ...(nextCursor === undefined ? {} : { nextCursor }) };
    },
    updateSettings: async (request, ctx: Ctx) => presentSettings(await update(ctx, request, clock.now())),
    triggerRun: async (request, ctx: Ctx) => {
      const createdAt = clock.now();
      const { teamId, repositoryId, category, proposal, estimatedCostCents = 0, agentIdentityId } = request;
      const task: Task = {
        id: newId('mtk', createdAt.getTime()),
        teamId,
        repositoryId,
        category,
        proposal,
        estimatedCostCents,
        agentIdentityId: agentIdentityId ?? null,
        createdBy: ctx.caller.userId,
        createdAt,
      };
      await ctx.db.transact(async (db) => {
        await insertTask(db, task);
        const details = { repositoryId, category, estimatedCostCents };
        const act = { chain: teamId, action: 'maintenance.run_triggered', target: task.id, details };
        await recordAct(db, ctx, act);
      });
      return presentTask(task);
    },
  });
}

async function update(ctx: Ctx, request: SettingsChange, now: Date): Promise<Settings> {
  return await ctx.db.transact(async (db) => {
    const n = await countOtherCategories(db, request);
    if (n >= CATEGORIES_MAX) {
      throw apiError(
        'limit_reached',
        `the repository has settings of ${n} other categories, at most ${CATEGORIES_MAX} categories are allowed`,
        { details: { limit: CATEGORIES_MAX, current: n } },
      );
    }
    const settings = await changeSettings(db, request, now);
    const { teamId, repositoryId, category, enabled, monthlyBudgetCents } = settings;
    const details = { category, enabled, monthlyBudgetCents };
    const action = 'maintenance.settings_updated';
    await recordAct(db, ctx, { chain: teamId, action, target: repositoryId, details });
    return settings;
  });
}

function presentSettings({ monthlyBudgetCents, updatedAt, ...rest }: Settings) {
  return {
    ...rest,
    ...(monthlyBudgetCents === null ? {} : { monthlyBudgetCents }),
    updatedAt: timestampFromDate(updatedAt),
  };
}

function presentTask({ agentIdentityId, createdAt, ...rest }: Task) {
  return {
    ...rest,
    state: MaintenanceTaskState.PROPOSED,
    ...(agentIdentityId === null ? {} : { agentIdentityId }),
    createdAt: timestampFromDate(createdAt),
  };
}

export function maintenanceFeature(system: System): Feature {
  return { services: [createMaintenance(system)] };
}
