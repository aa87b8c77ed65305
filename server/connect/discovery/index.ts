/** Repositories are searched for the files that define pipelines. */
import { declareFeature } from '../../kit/feature.ts';
import { askHost, connectionRows, connectionsFeature } from '../connections/index.ts';
import { pipelinesFeature } from '../pipelines/index.ts';
import { providersFeature } from '../providers/index.ts';
import { discoverJob } from './handler.ts';
import { apiError } from '@svc/proto/http/errors.ts';
import { implementPart, type Handlers } from '@svc/proto/http/implement.ts';
import { CiDiscoverySchema, CiService } from '@svc/proto/gen/svc/ci/v1/ci_pb.ts';
import type { Ctx } from '../../kit/context.ts';
import { notFound } from '../../kit/not-found.ts';
import { shown } from '../../kit/resource/index.ts';
import { latestDiscovery, openDiscovery, type Discovery } from './store.ts';

export const discoveryFeature = declareFeature({
  name: 'discovery',
  on: { connections: connectionsFeature, pipelines: pipelinesFeature, providers: providersFeature },
  prefixes: ['cid'],
  start: (system) => ({
    services: [createDiscoveries()],
    jobs: [discoverJob(system)],
  }),
});

// Discovery of the pipelines that a repository's files define. A call requests it, and any of the servers
// does it in the background.

export function createDiscoveries(): Handlers<Ctx> {
  return implementPart(CiService, {
    discover: async ({ connectionId }, ctx) => {
      const connection = await connectionRows.find(ctx, connectionId);
      if (connection.status === 'paused') throw paused(connectionId);
      const discovery = await ctx.db.transact(async (db) => {
        if (await openDiscovery(db, connection, ctx.clock.now()))
          await askHost(db, connection, { kind: 'ci_discover', key: 'latest' });
        return await latestDiscovery(db, connection);
      });
      if (discovery === undefined) throw notFound('CI connection'); // Deleted meanwhile.
      return shownDiscovery(discovery);
    },
    getDiscovery: async ({ connectionId }, ctx) => {
      const discovery = await latestDiscovery(ctx.db, await connectionRows.find(ctx, connectionId));
      if (discovery === undefined) throw notFound('discovery');
      return shownDiscovery(discovery);
    },
  });
}

function paused(id: string): Error {
  return apiError(
    'ci_connection_paused',
    'the CI connection is paused and is not looked into; set its status to active first',
    { details: { ciConnectionId: id, status: 'paused' } },
  );
}

const shownDiscovery = (discovery: Discovery) =>
  shown(CiDiscoverySchema, discovery, { ciConnectionId: discovery.connectionId });
