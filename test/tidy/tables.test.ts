/**
 * Each table has one owner. Whoever else reads or writes it stands above the owner, which opens it: in SQL as
 * in imports, nothing runs up and nothing grows together unseen.
 */
import { describe, expect, it } from 'vitest';
import { BELOW, isTest, placeOf, sources, type Source } from './sources.ts';
import { haveOneSchema, ownersOf, storeysOf, type Storeys } from './storeys.ts';

interface Touch {
  readonly path: string;
  readonly place: string;
  readonly access: 'reads' | 'writes';
  readonly table: string;
  readonly owner: string;
}

/**
 * Tables of the kit that features may touch by hand: an event or an answer is kept in the one statement of
 * its cause, and the ledger is shown and checked.
 */
const OPEN_IN_KIT: Readonly<Record<string, 'reads' | 'writes'>> = {
  audit_entries: 'reads',
  audit_heads: 'reads',
  idempotency_keys: 'writes',
  outbox: 'writes',
  outbox_parked: 'reads',
};

const STATEMENT =
  /\b(insert into|update|delete from|truncate|from|join)\s+(?:only\s+)?"?([a-z_]+)"?(?=[\s(,;`)])/gi;

/** Statements by hand over tables of others. */
export function touches(files: readonly Source[], owners: ReadonlyMap<string, string>): Touch[] {
  return files
    .filter(({ path }) => path.startsWith('server/') && !isTest(path) && !path.endsWith('schema.ts'))
    .flatMap(({ path, text }) => {
      const place = placeOf(path);
      if (place === undefined) return [];
      const code = text.replace(/^\s*(?:\/\/|\*|\/\*).*$/gm, '');
      return [...code.matchAll(STATEMENT)].flatMap(([, verb = '', table = '']): Touch[] => {
        const owner = owners.get(table);
        if (owner === undefined || owner === place) return [];
        return [{ path, place, access: /^(?:from|join)$/i.test(verb) ? 'reads' : 'writes', table, owner }];
      });
    });
}

export function forbidden(found: readonly Touch[], storeys: Storeys): string[] {
  const isFine = ({ place, owner, table, access }: Touch): boolean => {
    if (BELOW.includes(owner))
      return BELOW.includes(place) || access === 'reads'
        ? table in OPEN_IN_KIT || BELOW.includes(place)
        : OPEN_IN_KIT[table] === 'writes';
    // Teams and regions are described by the kit, which every row refers to, and locked there.
    if (place === 'kit') return table === 'teams' && access === 'reads';
    if (haveOneSchema(place, owner)) return true;
    const { reads = [], writes = [] } = storeys.declaredAt(owner) ?? {};
    return storeys.below(place).has(owner) && (access === 'reads' ? reads : writes).includes(table);
  };
  return [
    ...new Set(
      found.filter((touch) => !isFine(touch)).map((touch) => `${touch.path} ${touch.access} ${touch.table}`),
    ),
  ];
}

describe('tables', () => {
  const files = sources();
  const storeys = storeysOf();
  const owners = ownersOf(files, storeys);
  const found = touches(files, owners);

  it('are found, and so are the statements over them', () => {
    expect(owners.size).toBeGreaterThan(100);
    expect(found.length).toBeGreaterThan(200);
  });

  it('are read and written by their owners, and by what stands above as far as they are open', () => {
    expect(forbidden(found, storeys)).toEqual([]);
  });

  it('are open no further than somebody needs it', () => {
    const used = new Set(
      found.flatMap(({ owner, place, access, table }) =>
        haveOneSchema(place, owner) ? [] : [`${owner} ${access} ${table}`],
      ),
    );
    const idle = storeys.places.flatMap((place) => {
      const { reads = [], writes = [] } = storeys.declaredAt(place) ?? {};
      return [
        ...reads.map((table) => `${place} reads ${table}`),
        ...writes.map((table) => `${place} writes ${table}`),
      ].filter((open) => !used.has(open));
    });
    expect(idle).toEqual([]);
  });

  it('sees a feature that touches what is above it, what is not open, and what is open to readers alone', () => {
    const of = (path: string, statement: string): Source => ({ path, text: `sql\`${statement}\`` });
    const planted = [
      of('server/engine/work/submit.ts', 'select from statements where true'),
      of('server/money/usage/index.ts', 'select 1 from x join "billing_customers" t on true'),
      of('server/workspace/graph/store.ts', 'update builds set x = 1'),
      of('server/workspace/graph/store.ts', 'select from builds where true'),
      of('server/money/usage/index.test.ts', 'update builds set x = 1'),
    ];
    expect(forbidden(touches(planted, owners), storeys)).toEqual([
      'server/engine/work/submit.ts reads statements',
      'server/money/usage/index.ts reads billing_customers',
      'server/workspace/graph/store.ts writes builds',
    ]);
  });
});
