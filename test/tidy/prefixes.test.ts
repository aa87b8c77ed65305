/**
 * Ids say by their prefix what they are of: each prefix is declared by one feature, with its table or by
 * itself, and made by it alone.
 */
import { describe, expect, it } from 'vitest';
import { BELOW, isTest, placeOf, sources, type Source } from './sources.ts';
import { storeysOf, type Storeys } from './storeys.ts';

interface Prefix {
  readonly place: string;
  readonly prefix: string;
}

const found = (files: readonly Source[], pattern: RegExp): Prefix[] =>
  files.flatMap(({ path, text }) => {
    const place = placeOf(path);
    if (place === undefined || isTest(path)) return [];
    return [...text.matchAll(pattern)].map(([, prefix = '']) => ({ place, prefix }));
  });

const MADE = /\b(?:newId|idHead|rowId)\(\s*(?:sql,\s*)?'(\w+)'/g;
const OF_TABLES = /\bprefix: '(\w+)'/g;

function declared(files: readonly Source[], storeys: Storeys): Prefix[] {
  const own = storeys.places.flatMap((place) =>
    (storeys.declaredAt(place)?.prefixes ?? []).map((prefix) => ({ place, prefix })),
  );
  return [...found(files, OF_TABLES), ...own];
}

/** Prefixes that a place makes ids with although it does not declare them. Rows of the kit are whose ever. */
function strange(files: readonly Source[], storeys: Storeys): string[] {
  const known = new Set(declared(files, storeys).map(({ place, prefix }) => `${place} ${prefix}`));
  const ofKit = new Set(
    found(files, MADE).flatMap(({ place, prefix }) => (BELOW.includes(place) ? [prefix] : [])),
  );
  return found(files, MADE).flatMap(({ place, prefix }) =>
    BELOW.includes(place) || ofKit.has(prefix) || known.has(`${place} ${prefix}`)
      ? []
      : [`${place} makes ${prefix}_…`],
  );
}

describe('prefixes of ids', () => {
  const files = sources();
  const storeys = storeysOf();

  it('are declared by whoever makes them', () => {
    expect(found(files, MADE).length).toBeGreaterThan(40);
    expect([...new Set(strange(files, storeys))]).toEqual([]);
  });

  it('are of one feature each', () => {
    const all = declared(files, storeys).filter(({ place }) => !BELOW.includes(place));
    const twice = all.filter(({ place, prefix }) =>
      all.some((other) => other.prefix === prefix && other.place !== place),
    );
    expect(twice).toEqual([]);
    expect(all.length).toBeGreaterThan(40);
  });

  it('are seen where another feature makes them', () => {
    const planted = { path: 'server/money/usage/a.ts', text: "const id = newId('bld');" };
    expect(strange([...files, planted], storeys)).toEqual(['money/usage makes bld_…']);
  });
});
