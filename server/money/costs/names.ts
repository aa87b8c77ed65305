/** Names that the rows of an export refer to, looked up a piece at a time. */
import type { Ctx } from '../../kit/context.ts';
import type { Named } from './charge.ts';

/** So many names are remembered; with more, all are forgotten. */
const KNOWN_MAX = 20_000;

export interface Names {
  /** Before rows with these ids are written. Those that are empty name nothing. */
  load(ids: Iterable<string>): Promise<void>;
  of(id: string): Named | undefined;
}

export function createNames({ db, teams }: Pick<Ctx, 'db' | 'teams'>, teamId: string): Names {
  const known = new Map<string, Named>();
  return {
    load: async (ids) => {
      if (known.size > KNOWN_MAX) known.clear();
      const missing = [...new Set(ids)].filter((id) => id !== '' && !known.has(id));
      if (missing.length === 0) return;
      const rows = await db.behind.sql<Array<{ id: string; name: string }>>`
        select id, name from cost_names where team_id = ${teamId} and team_id = any(${teams.teamIds}::text[]) and id = any(${missing}::text[])`;
      for (const id of missing) known.set(id, { id, name: undefined });
      for (const row of rows) known.set(row.id, row);
    },
    of: (id) => (id === '' ? undefined : known.get(id)),
  };
}
