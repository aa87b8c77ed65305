/** Tells which fields take the name of a thing in place of its id, and has the help say so. It is pure. */
import type { KindSpec } from '../command.ts';
import { kinds } from '../gen/kinds.ts';
import type { ShellField, Spec } from './command.ts';

/**
 * Tells the kind of thing whose id a field takes: by the words in front of it in the path, or else by its
 * name.
 */
export function kindKeyOf(
  { operation }: Pick<Spec, 'operation'>,
  { name, type }: Pick<ShellField, 'name' | 'type'>,
): string | undefined {
  if (type !== 'string') return undefined;
  const segments = operation?.path.slice(1).split('/') ?? [];
  const before = segments.slice(0, Math.max(0, segments.indexOf(`{${name}}`)));
  const key = before.slice(before.findLastIndex((segment) => segment.startsWith('{')) + 1).join('/');
  if (Object.hasOwn(kinds, key) && /^id|Id$/.test(name)) return key;
  const one = name.replace(/Ids$/, 'Id');
  const [named, kind] = Object.entries(kinds).find(([, { fields }]) => fields.includes(one)) ?? [];
  // Staff name things by paths of their own, which are in no team where they would be looked for.
  const isOfStaff = segments[0] === 'admin' && segments.includes(`{${name}}`);
  return isOfStaff && kind?.list.path.includes('{teamId}') === true ? undefined : named;
}

/** Words for the fields that people know things by. */
const NAMES: Readonly<Record<string, string>> = {
  username: 'user name',
  email: 'e-mail address',
  repositoryPath: 'owner/name',
  url: 'address',
};

/** Shows what the fields take: `<team>` and not `<team-id>`. */
export function withNames<S extends Spec>(spec: S): S {
  const shown = (field: ShellField): ShellField => {
    const kind = kinds[kindKeyOf(spec, field) ?? ''];
    if (kind === undefined || kind.names.length === 0) return field;
    const placeholder = kind.word.replace(/^admin /, '').replaceAll(' ', '-');
    return { ...field, placeholder, description: describedBy(kind, field.description) };
  };
  return {
    ...spec,
    positionals: spec.positionals.map(shown),
    flags: spec.flags.map(shown),
    locals: spec.locals.map(shown),
  };
}

const PLAIN =
  /^(?:Id(?<digest> or digest)? of the (?<thing>[^.]+)|(?<kind>\S+(?: \S+)?) id(?: or slug)?)\.(?=\s|$)/;

/** `Team id.` is `Name or id of the team.` What says more stays as it is. */
function describedBy({ names }: KindSpec, description: string): string {
  const { digest, thing, kind = '' } = PLAIN.exec(description)?.groups ?? {};
  const what = thing ?? `${kind.charAt(0).toLowerCase()}${kind.slice(1)}`;
  const words = names.map((name) => NAMES[name] ?? name).join(', ');
  const text = `${words}${digest === undefined ? ' or id' : ', id or digest'} of the ${what}.`;
  return description.replace(PLAIN, `${text.charAt(0).toUpperCase()}${text.slice(1)}`);
}
