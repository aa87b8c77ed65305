/** Slugs are short names for addresses, of lower-case letters, digits and dashes. Each team has its own. */
import type { Ctx } from '../../kit/context.ts';

const CHARS_MAX = 48;

/**
 * `Überblick & Co.` is `uberblick-co`; a name without a usable letter is `project`. Never looks like an id,
 * which has `_`.
 */
export function slugOf(name: string): string {
  const plain = name
    .normalize('NFKD')
    .replace(/[\u0300-\u036f]/g, '')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .slice(0, CHARS_MAX)
    .replace(/^-+|-+$/g, '');
  return plain === '' ? 'project' : plain;
}

/** The first of `slug`, `slug-2`, `slug-3` … that is not taken. */
export function freeSlug(slug: string, taken: ReadonlySet<string>): string {
  if (!taken.has(slug)) return slug;
  for (let n = 2; ; n += 1) if (!taken.has(`${slug}-${n}`)) return `${slug}-${n}`;
}

/**
 * The first slug for a name that is free in the team, within the transaction that takes it. Names whose slugs
 * differ in their numbers alone could get the same one: they take turns until their transactions end.
 */
export async function nextFreeSlug(
  { db: { sql }, teams }: Pick<Ctx, 'db' | 'teams'>,
  { teamId, name }: { readonly teamId: string; readonly name: string },
): Promise<string> {
  const slug = slugOf(name);
  const turn = `projects.slug ${teamId} ${slug.replace(/(?:-\d+)+$/, '')}`;
  await sql`select pg_advisory_xact_lock(hashtextextended(${turn}, 0))`;
  const rows = await sql<Array<{ slug: string }>>`
    select slug from projects where team_id = ${teamId} and team_id = any(${teams.teamIds})
      and (slug = ${slug} or slug ~ ${`^${slug}-[0-9]+$`})`;
  return freeSlug(slug, new Set(rows.map((row) => row.slug)));
}
