/** Names the parts of a place, and the fields of a request that it fills. It is pure. */
import type { CommandSpec, FieldSpec } from '../command.ts';

/** Widest first. */
export const PLACE_KINDS = ['team', 'project', 'environment'] as const;
export type PlaceKind = (typeof PLACE_KINDS)[number];
export type PlaceNames = Partial<Record<PlaceKind, string>>;

/** Request fields that the place fills. */
const FIELDS: Readonly<Record<string, PlaceKind>> = {
  teamId: 'team',
  projectId: 'project',
  environmentId: 'environment',
};

/** The kind of place that may be left out of a command line in this field; it is undefined for all others. */
export function placeKindOf(
  spec: Pick<CommandSpec, 'auth' | 'destructive' | 'positionals'>,
  field: FieldSpec,
): PlaceKind | undefined {
  if (!field.required || spec.auth === 'staff' || !Object.hasOwn(FIELDS, field.name)) return undefined;
  // Whoever destroys a thing has to name it.
  if (spec.destructive && spec.positionals.some(({ name }) => name === field.name)) return undefined;
  return FIELDS[field.name];
}

const FLAGS: Readonly<Record<PlaceKind, string>> = {
  team: '--team',
  project: '--project',
  environment: '--env',
};

/** Returns the flag that names this field in every command, whatever else its own flag is called. */
export function placeFlag(name: string): string | undefined {
  const kind = Object.hasOwn(FIELDS, name) ? FIELDS[name] : undefined;
  return kind && FLAGS[kind];
}
