/** Knows where collections and their items are in the console, and which of them an address names. */
import { entries } from '../gen/index.ts';
import { projectHref, segment, teamHref, type Place } from '../place.ts';
import type { Entry } from '../spec.ts';
import { isRow } from './value.tsx';

/** Says what an address names: a collection, one of its items, and a part of that. */
export interface FoundPlace {
  readonly entry: Entry;
  /** Ids of the items on the way, by the variables of routes. */
  readonly given: Readonly<Record<string, string>>;
  readonly itemId: string | undefined;
  /** Name of one of the item's parts, which follows it. */
  readonly tab: string | undefined;
  /** Address of the collection. */
  readonly href: string;
}

export const partsOf = (entry: Entry): readonly Entry[] =>
  entries.filter(({ parent }) => parent === entry.key);

export const entriesAt = (at: Entry['at']): readonly Entry[] =>
  entries.filter((entry) => entry.at === at && entry.parent === undefined);

/** Values of the variables that the place says. */
export function givenBy({ team, project, environment }: Place): Readonly<Record<string, string>> {
  return {
    ...(team && { teamId: team.id }),
    ...(project && { projectId: project.id }),
    ...(environment && { environmentId: environment.id }),
  };
}

export function find(place: Place): FoundPlace | undefined {
  const { rest, base } = place;
  const [entry] = entriesAt(place.at)
    .filter(
      ({ segments }) =>
        segments.every((each, index) => each.startsWith('{') || each === rest[index]) &&
        rest.length >= segments.length,
    )
    .sort((a, b) => b.segments.length - a.segments.length);
  if (entry === undefined) return undefined;
  const variables = entry.segments.flatMap((each, index) =>
    each.startsWith('{') ? [[each.slice(1, -1), rest[index] ?? ''] as const] : [],
  );
  const href = [base, ...rest.slice(0, entry.segments.length).map(segment)].join('/');
  return below(entry, {
    rest: rest.slice(entry.segments.length),
    given: { ...givenBy(place), ...Object.fromEntries(variables) },
    href,
  });
}

function below(
  entry: Entry,
  {
    rest,
    given,
    href,
  }: { readonly rest: readonly string[]; readonly given: FoundPlace['given']; readonly href: string },
): FoundPlace | undefined {
  const [itemId, tab, ...more] = rest;
  if (more.length === 0 || itemId === undefined || tab === undefined)
    return itemId !== undefined && entry.idField === undefined
      ? undefined
      : { entry, given, itemId, tab, href };
  const part = partsOf(entry).find(({ segments }) => segments[0] === tab);
  return part === undefined
    ? undefined
    : below(part, {
        rest: more,
        given: { ...given, [entry.idField ?? 'id']: itemId },
        href: `${href}/${segment(itemId)}/${segment(tab)}`,
      });
}

/** Returns the id of a row by the variable of its route. */
export function idOf({ idField }: Pick<Entry, 'idField'>, row: unknown): string | undefined {
  if (!isRow(row) || idField === undefined) return undefined;
  const id = row[idField] ?? row['id'];
  return typeof id === 'string' ? id : undefined;
}

/** Address of an item, wherever the list stands that shows it. */
export function itemHref(entry: Entry, row: unknown, href: string): string | undefined {
  const id = idOf(entry, row);
  if (id === undefined || !isRow(row) || entry.itemPath === undefined) return undefined;
  const { itemPath } = entry;
  if (entry.key === 'account-teams') return teamHref(id);
  if (/^\/projects\/\{\w+\}$/.test(itemPath)) return projectHref(id);
  if (itemPath === '/environments/{environmentId}') return projectHref(String(row['projectId']), id);
  const home =
    entries.find((each) => each.itemPath === itemPath && each.parent === undefined && isAtHome(each)) ??
    entry;
  const tail = [...home.segments, id].map(segment).join('/');
  if (home.at === 'environment')
    return `/console/environments/${segment(String(row['environmentId']))}/${tail}`;
  if (home.at === 'project') return `${projectHref(String(row['projectId']))}/${tail}`;
  if (home === entry || typeof row['teamId'] !== 'string') return `${href}/${segment(id)}`;
  return `${teamHref(row['teamId'])}/${tail}`;
}

/** Tells if the items of a collection have their addresses below it. */
function isAtHome({ at, itemPath = '', path }: Entry): boolean {
  return (
    itemPath.startsWith(`${path}/`) ||
    (at !== 'environment' && at !== 'project' && !/^\/(environments|projects)\//.test(itemPath)) ||
    itemPath.startsWith('/incidents/')
  );
}
