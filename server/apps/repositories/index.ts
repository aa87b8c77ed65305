/**
 * A team has repositories that its connections and environments name, and those that the tokens of its
 * connections see at the hosts. No host is asked while somebody waits for the list.
 */
import {
  RepositoriesService,
  RepositorySchema,
  type Repository,
} from '@svc/proto/gen/svc/repositories/v1/repositories_pb.ts';
import { implement, type Handlers } from '@svc/proto/http/implement.ts';
import { connectionsFeature } from '../../connect/connections/index.ts';
import { providersFeature } from '../../connect/providers/index.ts';
import type { Ctx } from '../../kit/context.ts';
import { declareFeature } from '../../kit/feature.ts';
import { shown } from '../../kit/resource/index.ts';
import { teamOf } from '../../kit/team-of.ts';
import { environmentsFeature } from '../environments/index.ts';
import { listJob, planJob, startRefreshes } from './jobs.ts';
import { knownRepositories, type KnownRepository } from './known.ts';
import { readPage, type ListedRow } from './page.ts';
import { refresh } from './refresh.ts';

export function createRepositories(): Handlers<Ctx> {
  return implement(RepositoriesService, {
    list: async ({ teamId: named, q = '', page = 1 }, { db, teams, clock }: Ctx) => {
      const teamId = await teamOf({ db, teams }, named);
      const [known, { refreshing, problems }] = await Promise.all([
        knownRepositories(db, teams, teamId),
        refresh(db, teams, { teamId, now: clock.now() }),
      ]);
      const { rows, hasNext } = await readPage(db, teams, { teamId, q, page, known: [...known.keys()] });
      return {
        repositories: rows.map((row) => shownRepository(row, known.get(row.id))),
        page,
        ...(hasNext && { nextPage: page + 1 }),
        refreshing,
        problems: [...problems],
      };
    },
  });
}

function shownRepository(row: ListedRow, known: KnownRepository | undefined): Repository {
  const { host, path } = row;
  return shown(RepositorySchema, row, {
    host: host ?? known?.host ?? '',
    path: path ?? known?.path ?? '',
    forge: row.forge ?? known?.forge ?? null,
    connectionIds: known?.connectionIds ?? [],
    environmentIds: known?.environmentIds ?? [],
    source: host === null ? 'known' : 'forge',
  });
}

export const repositoriesFeature = declareFeature({
  name: 'repositories',
  on: { connections: connectionsFeature, environments: environmentsFeature, providers: providersFeature },
  start: (system) => ({
    services: [createRepositories()],
    loops: [() => startRefreshes(system)],
    jobs: [planJob(system), listJob(system)],
  }),
});
