/**
 * Incidents say what went wrong in an environment, and what was done about it. Nothing of the platform opens
 * one yet.
 *
 *     open ──mitigate──> mitigated
 *      │                    │
 *      └──resolve, dismiss──┴──> resolved | dismissed   (final)
 */
import { declareFeature } from '../../kit/feature.ts';
import { eq } from 'drizzle-orm';
import { implement, type Handlers } from '@svc/proto/http/implement.ts';
import {
  IncidentSchema,
  IncidentsService,
  type Incident,
} from '@svc/proto/gen/svc/incidents/v1/incidents_pb.ts';
import { environmentRows, environmentsFeature } from '../../apps/environments/index.ts';
import type { Ctx } from '../../kit/context.ts';
import { rowsOf, shown, transition, type RowOf, type Transition } from '../../kit/resource/index.ts';
import { incidents } from './schema.ts';

const rows = rowsOf(incidents);

export function createIncidents(): Handlers<Ctx> {
  return implement(IncidentsService, {
    list: async (request, ctx: Ctx) => {
      const { id } = await environmentRows.find(ctx, request.environmentId);
      const where = eq(incidents.environmentId, id);
      const { items, ...page } = await rows.page(ctx, { ...request, of: id }, { where });
      return { ...page, incidents: items.map((row) => shown(IncidentSchema, row)) };
    },
    get: async ({ incidentId }, ctx: Ctx) => shown(IncidentSchema, await rows.find(ctx, incidentId)),
    mitigate: async ({ incidentId }, ctx: Ctx) =>
      await move(ctx, incidentId, { from: ['open'], to: 'mitigated', set: { mitigatedAt: ctx.clock.now() } }),
    resolve: async ({ incidentId }, ctx: Ctx) => await close(ctx, incidentId, 'resolved'),
    dismiss: async ({ incidentId }, ctx: Ctx) => await close(ctx, incidentId, 'dismissed'),
  });
}

type Arrow = Pick<Transition<typeof incidents>, 'from' | 'to' | 'set'>;

async function close(ctx: Ctx, id: string, to: 'resolved' | 'dismissed'): Promise<Incident> {
  return await move(ctx, id, { from: ['open', 'mitigated'], to, set: { closedAt: ctx.clock.now() } });
}

async function move(ctx: Ctx, id: string, arrow: Arrow): Promise<Incident> {
  const details = ({ environmentId, title }: RowOf<typeof incidents>) => ({ environmentId, title });
  const moved = await transition(ctx, { ...arrow, rows, id, action: `incident.${arrow.to}`, details });
  return shown(IncidentSchema, moved);
}

export const incidentsFeature = declareFeature({
  name: 'incidents',
  on: { environments: environmentsFeature },
  start: () => ({ services: [createIncidents()] }),
});
