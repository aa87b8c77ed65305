/**
 * Tells the place in use: the team, project and environment that a command works in where it names none. What
 * stands nearer to the command counts first: variables of the shell, `.svc.yaml` of the folder, the profile.
 */
import { checkedAddress, type Connection } from './connection.ts';
import type { Io } from './io.ts';
import { PLACE_KINDS, type PlaceKind, type PlaceNames } from './place-kind.ts';

/** A part of the place, and who says it. */
export interface PlacePart {
  /** Name or id. */
  readonly text: string;
  readonly source: string;
}
export type Place = Partial<Record<PlaceKind, PlacePart>>;

const VARIABLES = { team: 'SVC_TEAM', project: 'SVC_PROJECT', environment: 'SVC_ENVIRONMENT' } as const;

/** Finds the place, without asking the server. */
export async function placeInUse(io: Io, connection: Connection): Promise<Place> {
  const { findPlaceFile } = await import('./place-file.ts');
  const file = await findPlaceFile(io);
  return combined([
    ...PLACE_KINDS.map((kind) => ({ source: VARIABLES[kind], names: { [kind]: io.env[VARIABLES[kind]] } })),
    ...(file === undefined ? [] : [{ source: file.path, names: file.names }]),
    { source: `profile "${connection.profileName}"`, names: placeOfProfile(connection) },
  ]);
}

/** The ids of one server say nothing to another. */
function placeOfProfile({ profile, baseUrl }: Connection): PlaceNames {
  return profile !== undefined && checkedAddress(profile.baseUrl) === baseUrl ? (profile.place ?? {}) : {};
}

interface Saying {
  readonly source: string;
  readonly names: { readonly [kind in PlaceKind]?: string | undefined };
}

/**
 * The first to name a kind counts. Who comes later says nothing of what is inside of it: the environment of
 * the profile is none of the project that a file names. Variables are of one shell, and add to each other.
 */
function combined(sayings: readonly Saying[]): Place {
  const place: Place = {};
  const isVariable = (source: string): boolean => VARIABLE_NAMES.has(source);
  for (const { source, names } of sayings) {
    const isForeign = (wider: PlaceKind): boolean => {
      const part = place[wider];
      return part !== undefined && part.source !== source && !(isVariable(part.source) && isVariable(source));
    };
    for (const [depth, kind] of PLACE_KINDS.entries()) {
      const text = names[kind];
      if (text === undefined || text === '' || place[kind] !== undefined) continue;
      if (!PLACE_KINDS.slice(0, depth).some(isForeign)) place[kind] = { text, source };
    }
  }
  return place;
}

const VARIABLE_NAMES: ReadonlySet<string> = new Set(Object.values(VARIABLES));
