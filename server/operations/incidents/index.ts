/** Incidents: what went wrong in an environment, and what was done about it. Nothing of the platform opens one yet. */
import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import { apiError } from '@svc/proto/http/errors.ts';
import { implement } from '@svc/proto/http/implement.ts';
import type { Handlers } from '@svc/proto/http/implement.ts';
import {
  IncidentSeverity,
  IncidentsService,
  IncidentState as StateNumber,
} from '@svc/proto/gen/svc/incidents/v1/incidents_pb.ts';
import { recordAct } from '../../platform/ledger/index.ts';
import { findEnvironment } from '../../apps/environments/index.ts';
import type { Environment } from '../../apps/environments/index.ts';
import type { Clock } from '../../platform/clock.ts';
import type { Ctx } from '../../platform/context.ts';
import type { Cursors } from '../../platform/cursor.ts';
import type { Database } from '../../platform/db/index.ts';
import { newId } from '../../platform/ids.ts';
import { notFound } from '../../platform/not-found.ts';
import { closePage, openPage } from '../../platform/paging.ts';
import { FROM } from './states.ts';
import type { IncidentState, Target } from './states.ts';
import { findIncident, insertIncident, listIncidents, moveIncident } from './store.ts';
import type { Incident, Severity } from './store.ts';

export type { Incident, Severity } from './store.ts';

export interface IncidentsDeps {
  readonly clock: Clock;
  readonly cursors: Cursors;
}

export function createIncidents({ clock, cursors }: IncidentsDeps): Handlers<Ctx> {
  return implement(IncidentsService, {
    list: async ({ environmentId, limit, cursor }, ctx: Ctx) => {
      const environment = await findEnvironment(ctx.db, ctx.teams, environmentId);
      if (environment === undefined) throw notFound('environment');
      ctx.teams.require(environment.teamId);
      const page = openPage(ctx.call.rpc, cursors, environmentId, { limit, cursor });
      const [openedAt, id] = page.after ?? [];
      const rows = await listIncidents(ctx.db, {
        teamId: environment.teamId,
        environmentId,
        take: page.take,
        after:
          page.after === undefined ? undefined : { openedAt: new Date(String(openedAt)), id: String(id) },
      });
      const { items, nextCursor } = closePage(ctx.call.rpc, cursors, environmentId, page, rows, (row) => [
        row.openedAt.toISOString(),
        row.id,
      ]);
      return { incidents: items.map(present), ...(nextCursor === undefined ? {} : { nextCursor }) };
    },
    get: async ({ incidentId }, ctx: Ctx) => present(await incidentOf(ctx, incidentId)),
    mitigate: async ({ incidentId }, ctx: Ctx) => present(await move(ctx, clock, incidentId, 'mitigated')),
    resolve: async ({ incidentId }, ctx: Ctx) => present(await move(ctx, clock, incidentId, 'resolved')),
    dismiss: async ({ incidentId }, ctx: Ctx) => present(await move(ctx, clock, incidentId, 'dismissed')),
  });
}

export interface NewIncident {
  readonly severity: Severity;
  readonly title: string;
  readonly description?: string;
}

/** For what finds incidents: there is no RPC that opens one. */
export async function openIncident(
  db: Database,
  environment: Pick<Environment, 'id' | 'teamId'>,
  { severity, title, description = '' }: NewIncident,
  now: Date,
): Promise<Incident> {
  const incident: Incident = {
    id: newId('inc', now.getTime()),
    teamId: environment.teamId,
    environmentId: environment.id,
    state: 'open',
    severity,
    title,
    description,
    openedAt: now,
    mitigatedAt: null,
    closedAt: null,
  };
  await insertIncident(db, incident);
  return incident;
}

async function incidentOf(ctx: Ctx, id: string): Promise<Incident> {
  const incident = await findIncident(ctx.db, ctx.teams, id);
  if (incident === undefined) throw notFound('incident');
  ctx.teams.require(incident.teamId);
  return incident;
}

async function move(ctx: Ctx, clock: Clock, incidentId: string, target: Target): Promise<Incident> {
  const { id } = await incidentOf(ctx, incidentId); // Role and scope, before anything is changed.
  const moved = await ctx.db.transact(async (db) => {
    const incident = await moveIncident(db, ctx.teams, id, target, clock.now());
    if (incident === undefined) return undefined;
    const { teamId, environmentId, title } = incident;
    const details = { environmentId, title };
    await recordAct(db, ctx, { chain: teamId, action: `incident.${target}`, target: id, details });
    return incident;
  });
  // Read again: it may have moved since the first look, or be gone with its environment.
  const after = moved ?? (await incidentOf(ctx, incidentId));
  if (after.state === target) return after;
  throw apiError(
    'state_conflict',
    `the incident is ${after.state}, it becomes ${target} only from ${FROM[target].join(' or ')}`,
    { details: { state: after.state, target } },
  );
}

const STATES: Readonly<Record<IncidentState, StateNumber>> = {
  open: StateNumber.OPEN,
  mitigated: StateNumber.MITIGATED,
  resolved: StateNumber.RESOLVED,
  dismissed: StateNumber.DISMISSED,
};

const SEVERITIES: Readonly<Record<Severity, IncidentSeverity>> = {
  low: IncidentSeverity.LOW,
  medium: IncidentSeverity.MEDIUM,
  high: IncidentSeverity.HIGH,
};

function present({ state, severity, openedAt, mitigatedAt, closedAt, ...rest }: Incident) {
  return {
    ...rest,
    state: STATES[state],
    severity: SEVERITIES[severity],
    openedAt: timestampFromDate(openedAt),
    ...(mitigatedAt === null ? {} : { mitigatedAt: timestampFromDate(mitigatedAt) }),
    ...(closedAt === null ? {} : { closedAt: timestampFromDate(closedAt) }),
  };
}
