/** Repositories that a team's connections and environments name. They are listed without any token. */
import {
  forgeOf,
  KNOWN_HOSTS,
  repositoryName,
  repositoryOfUrl,
  type CiProvider,
  type ForgeId,
  type RepositoryName,
} from '../../connect/providers/index.ts';
import type { Database } from '../../base/db/index.ts';
import { requireTeam } from '../../kit/authorise.ts';
import type { TeamScope } from '../../kit/context.ts';

export interface KnownRepository {
  readonly host: string;
  readonly path: string;
  readonly forge: ForgeId | undefined;
  readonly connectionIds: readonly string[];
  readonly environmentIds: readonly string[];
}

interface Naming {
  readonly ids: readonly string[];
  /** An environment names its repository by this address, and has nothing of what follows. */
  readonly address: string | null;
  readonly host: string;
  readonly path: string;
  readonly provider: CiProvider;
  readonly forge: ForgeId | null;
}

/** Returns them by their keys. */
export async function knownRepositories(
  { sql }: Database,
  scope: TeamScope,
  teamId: string,
): Promise<ReadonlyMap<string, KnownRepository>> {
  const team = requireTeam(scope, teamId);
  const rows = await sql<readonly Naming[]>`
    select array[c.id] as ids, null as address, c.repository_host as host, c.repository_path as path, c.provider, c.forge
    from ci_connections c where c.team_id = ${team}
    union all
    select array_agg(e.id order by e.id), e.repository, null, null, null, null
    from environments e where e.team_id = ${team} and e.repository is not null group by e.repository`;
  const known = new Map<string, KnownRepository>();
  for (const row of rows) {
    const name = nameOf(row);
    if (name !== undefined) known.set(name.key, joined(known.get(name.key), row, name));
  }
  return known;
}

const nameOf = ({ address, host, path }: Naming): RepositoryName | undefined =>
  address === null ? repositoryName(host, path) : repositoryOfUrl(address);

function joined(
  before: KnownRepository | undefined,
  row: Naming,
  { host, path }: RepositoryName,
): KnownRepository {
  const { address, ids, provider, forge } = row;
  const isConnection = address === null;
  const kind = isConnection ? forgeOf({ provider, repositoryHost: host, forge }) : KNOWN_HOSTS[host];
  const { connectionIds = [], environmentIds = [] } = before ?? {};
  return {
    host,
    path: before?.path ?? path,
    forge: before?.forge ?? kind,
    connectionIds: isConnection ? [...connectionIds, ...ids] : connectionIds,
    environmentIds: isConnection ? environmentIds : [...environmentIds, ...ids],
  };
}
