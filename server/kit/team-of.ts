/** Finds the team that a call is about where its request may leave that out. */
import { requireTeam } from './authorise.ts';
import type { Ctx } from './context.ts';
import { wrongField } from './wrong-field.ts';

/**
 * Returns the team that the request names, or else the only one that the credential reaches. The team of the
 * service's own runners counts where there is no other: its operators are members of it and mean their own.
 */
export async function teamOf(
  { db, teams }: Pick<Ctx, 'db' | 'teams'>,
  named: string | undefined,
): Promise<string> {
  if (named !== undefined) return requireTeam(teams, named);
  const reached = teams.teamIds.length > 1 ? await withoutPool(db, teams.teamIds) : teams.teamIds;
  const [only, ...others] = reached;
  if (only !== undefined && others.length === 0) return requireTeam(teams, only);
  const message = `the credential reaches ${reached.length} teams; say by teamId which one is meant`;
  throw wrongField(message, { field: 'teamId', rule: 'required' });
}

async function withoutPool({ sql }: Ctx['db'], teamIds: readonly string[]): Promise<readonly string[]> {
  const rows = await sql<Array<{ id: string }>>`
    select id from teams where id = any(${[...teamIds]}::text[]) and not service_pool`;
  return rows.map(({ id }) => id);
}
