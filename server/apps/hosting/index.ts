/** Hosting: which runner's machine an environment is deployed on, and what it should host there. */
import { eq } from 'drizzle-orm';
import { HostedAppSchema, HostingService } from '@svc/proto/gen/svc/hosting/v1/hosting_pb.ts';
import { implement } from '@svc/proto/http/implement.ts';
import type { Ctx } from '../../kit/context.ts';
import { declareFeature } from '../../kit/feature.ts';
import { notFound } from '../../kit/not-found.ts';
import { shown } from '../../kit/resource/index.ts';
import { environmentRows, environmentsFeature } from '../environments/index.ts';
import { purgeTombstones } from './purge.ts';
import { hostApps } from './schema.ts';

export { appOnHost } from './app-name.ts';
export { addedBy, hostChanged, hostParts } from './parts.ts';
export type { HostPart } from './parts.ts';

export const hostingFeature = declareFeature({
  name: 'hosting',
  on: { environments: environmentsFeature },
  prefixes: ['tmb'],
  reads: ['host_apps', 'host_revisions', 'host_tombstones'],
  writes: ['host_apps', 'host_tombstones'],
  start: ({ db }) => ({
    services: [
      implement(HostingService, {
        get: async ({ environmentId }, ctx: Ctx) => {
          const { id } = await environmentRows.find(ctx, environmentId);
          const [app] = await ctx.db.orm.select().from(hostApps).where(eq(hostApps.environmentId, id));
          if (app === undefined) throw notFound('hosting');
          const { observed, observedAt: at, ...row } = app;
          const startedAt = observed?.startedAt === undefined ? undefined : new Date(observed.startedAt);
          return shown(HostedAppSchema, {
            ...row,
            ...(observed !== null && at !== null && { observed: { ...observed, startedAt, at } }),
          });
        },
      }),
    ],
    purges: [async () => await purgeTombstones(db.sql)],
  }),
});
