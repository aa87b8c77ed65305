/**
 * Makes the request of a command whole: names become ids, and the place in use fills what the command line
 * leaves out. It asks the server only where a name was given or where nothing else says the team.
 */
import type { FieldSpec } from '../command.ts';
import { kinds } from '../gen/kinds.ts';
import { isOwn, type Context } from './command.ts';
import { Finder, isId } from './finder.ts';
import { kindKeyOf } from './kinds.ts';
import { getPath, mergeDeep, setPath, type Json } from './paths.ts';
import { placeInUse } from './place.ts';
import { placeKindOf } from './place-kind.ts';

/** The same context with a request that is whole. */
export async function settled(context: Context): Promise<Context> {
  const { spec } = context;
  const fields = [...spec.positionals, ...spec.flags, ...spec.locals];
  const open = inOrder(fields.flatMap((field) => openField(context, field) ?? []));
  if (open.length === 0) return context;
  const finder = await finderOf(context);
  const input = mergeDeep({}, context.input);
  const args = mergeDeep({}, context.args);
  for (const { field, key, place } of open) {
    const into = isOwn(spec, field) ? args : input;
    const given = getPath(into, field.name);
    if (given !== undefined)
      setPath(into, field.name, await idsOf(finder, { key, given, scope: { ...input, ...args } }));
    else if (place !== undefined) {
      const id = await finder.inUse(place);
      if (id === undefined) throw await finder.unknown(place, field.flag);
      setPath(into, field.name, id);
    }
  }
  return { ...context, input, args };
}

export async function finderOf(context: Context): Promise<Finder> {
  const place = await placeInUse(context.io, await context.connection());
  return new Finder(await context.client(), { place, signal: context.signal });
}

interface Open {
  readonly field: FieldSpec;
  readonly key: string;
  /** Kind of place that may be filled in. */
  readonly place: ReturnType<typeof placeKindOf>;
}

/** A field that holds a name, or nothing where the place says it. */
function openField({ spec, input, args }: Context, field: FieldSpec): Open | undefined {
  const key = kindKeyOf(spec, field);
  const kind = key === undefined ? undefined : kinds[key];
  if (key === undefined || kind === undefined) return undefined;
  const given = getPath(input, field.name) ?? getPath(args, field.name);
  const place = placeKindOf(spec, field);
  if (given === undefined) return place === undefined ? undefined : { field, key, place };
  return textsOf(given).every((text) => isId(kind, text)) ? undefined : { field, key, place };
}

const WIDEST_FIRST: readonly string[] = ['teams', 'projects', 'environments'];

/** A thing inside of a team is looked for in it, so that the team comes first. */
function inOrder(fields: readonly Open[]): readonly Open[] {
  const depth = ({ key }: Open): number => {
    const at = WIDEST_FIRST.indexOf(key);
    return at === -1 ? WIDEST_FIRST.length : at;
  };
  return fields.toSorted((a, b) => depth(a) - depth(b));
}

async function idsOf(
  finder: Finder,
  { key, given, scope }: { readonly key: string; readonly given: unknown; readonly scope: Json },
): Promise<unknown> {
  if (!Array.isArray(given)) return await finder.idOf(key, String(given), scope);
  const ids: string[] = [];
  for (const text of textsOf(given)) ids.push(await finder.idOf(key, text, scope));
  return ids;
}

function textsOf(given: unknown): readonly string[] {
  return (Array.isArray(given) ? given : [given]).map(String);
}
