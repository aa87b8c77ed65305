/** Discovery of the pipelines that a repository's files define. A call requests it, and any of the servers does it in the background. */
import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import { apiError } from '@svc/proto/http/errors.ts';
import type { Implementation } from '@svc/proto/http/implement.ts';
import { DiscoveryStateSchema } from '@svc/proto/gen/svc/ci/v1/ci_pb.ts';
import type { CiService, DiscoveryState } from '@svc/proto/gen/svc/ci/v1/ci_pb.ts';
import { enumNames } from '@svc/proto/http/enum-names.ts';
import type { Clock } from '../../../base/clock.ts';
import type { Ctx } from '../../../kit/context.ts';
import { notFound } from '../../../kit/not-found.ts';
import { askHost } from '../background.ts';
import { connectionOf } from '../connections.ts';
import { providerNumber } from '../words.ts';
import type { FoundPipeline } from './snapshot.ts';
import { latestDiscovery, openDiscovery } from './store.ts';
import type { Discovery } from './store.ts';

export { discoverJob } from './handler.ts';

type Methods = Pick<Implementation<typeof CiService, Ctx>, 'discover' | 'getDiscovery'>;

export function discoveryMethods({ clock }: { readonly clock: Clock }): Methods {
  return {
    discover: async ({ connectionId }, ctx) => {
      const connection = await connectionOf(ctx, connectionId);
      if (connection.status === 'paused') throw paused(connectionId);
      const now = clock.now();
      const discovery = await ctx.db.transact(async (db) => {
        if (await openDiscovery(db, connection, now))
          await askHost(db, connection, { kind: 'ci_discover', key: 'latest' });
        return await latestDiscovery(db, connection);
      });
      if (discovery === undefined) throw notFound('CI connection'); // Deleted meanwhile.
      return presentDiscovery(discovery);
    },
    getDiscovery: async ({ connectionId }, ctx) => {
      const discovery = await latestDiscovery(ctx.db, await connectionOf(ctx, connectionId));
      if (discovery === undefined) throw notFound('discovery');
      return presentDiscovery(discovery);
    },
  };
}

function paused(id: string): Error {
  return apiError(
    'ci_connection_paused',
    'the CI connection is paused and is not looked into; set its status to active first',
    { details: { ciConnectionId: id, status: 'paused' } },
  );
}

const states = enumNames(DiscoveryStateSchema);

function presentDiscovery({ connectionId, state, commitSha, incompleteReason, error, ...rest }: Discovery) {
  const { requestedAt, finishedAt, id, branch, scanned, truncated, pipelines, problems } = rest;
  return {
    id,
    ciConnectionId: connectionId,
    state: states.byName.get(state) as DiscoveryState,
    branch,
    ...(commitSha === null ? {} : { commitSha }),
    scanned,
    truncated,
    ...(incompleteReason === null ? {} : { incompleteReason }),
    ...(error === null ? {} : { error }),
    pipelines: pipelines.map(presentPipeline),
    problems: problems.map((problem) => ({ ...problem })),
    requestedAt: timestampFromDate(requestedAt),
    ...(finishedAt === null ? {} : { finishedAt: timestampFromDate(finishedAt) }),
  };
}

function presentPipeline({ provider, jobs, triggers, evidence, includes, ...rest }: FoundPipeline) {
  return {
    ...rest,
    provider: providerNumber(provider),
    jobs: [...jobs],
    triggers: [...triggers],
    evidence: evidence.map((sign) => ({ ...sign })),
    includes: [...includes],
  };
}
