/** Reads what the features declare of themselves, as the checks of this folder ask it. */
import { AREAS, FEATURES } from '../../server/areas.ts';
import type { Area, Declared } from '../../server/kit/feature.ts';
import { isTest, placeOf, type Source } from './sources.ts';

export interface Storeys {
  /** Returns the places on which a place stands, directly or through others. */
  below(place: string): ReadonlySet<string>;
  declaredAt(place: string): Declared | undefined;
  readonly places: readonly string[];
}

/** `features` is the area of the switches, which are a folder of their own. */
const placeIn = ({ name }: Area, feature: Declared): string =>
  name === 'features' ? 'switches' : `${name}/${feature.name}`;

export function storeysOf(areas: readonly Area[] = AREAS, features: readonly Declared[] = FEATURES): Storeys {
  const places = new Map<Declared, string>();
  const declared = new Map<string, Declared>();
  for (const area of areas)
    for (const feature of area.features) {
      places.set(feature, placeIn(area, feature));
      declared.set(placeIn(area, feature), feature);
    }
  const known = new Map<string, ReadonlySet<string>>();
  // Each feature stands behind those on which it stands.
  for (const feature of features) {
    const direct = Object.values(feature.on).map((below) => places.get(below) ?? '');
    known.set(
      places.get(feature) ?? '',
      new Set([...direct, ...direct.flatMap((below) => [...(known.get(below) ?? [])])]),
    );
  }
  return {
    below: (place) => known.get(place) ?? new Set(),
    declaredAt: (place) => declared.get(place),
    places: [...declared.keys()],
  };
}

const areaOf = (place: string): string => place.split('/')[0] ?? '';

/** The features of an area with one schema refer to each other's tables. */
export const haveOneSchema = (a: string, b: string): boolean =>
  areaOf(a) === 'engine' && areaOf(b) === 'engine';

/**
 * Returns the owner that each table has. It is the place whose schema.ts describes it, unless a feature says
 * that it owns it.
 */
export function ownersOf(files: readonly Source[], storeys: Storeys): Map<string, string> {
  const owners = new Map<string, string>();
  for (const { path, text } of files.filter((file) => file.path.endsWith('schema.ts') && !isTest(file.path)))
    for (const [, plain, ofTeam] of text.matchAll(/pgTable\(\s*'(\w+)'|teamTable\(\s*\{\s*name: '(\w+)'/g))
      owners.set(plain ?? ofTeam ?? '', placeOf(path) ?? 'server');
  for (const place of storeys.places)
    for (const table of storeys.declaredAt(place)?.owns ?? []) owners.set(table, place);
  return owners;
}
