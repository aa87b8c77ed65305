/** Each table has one owner, and whoever else reads or writes it is declared in tables.ts: in SQL as in imports, nothing grows together unseen. */
import { describe, expect, it } from 'vitest';
import { isTest, placeOf, sources } from './sources.ts';
import type { Source } from './sources.ts';
import { SHARED } from './tables.ts';
import type { Sharing } from './tables.ts';

type Access = 'reads' | 'writes';

interface Touch {
  readonly path: string;
  readonly feature: string;
  readonly access: Access;
  readonly table: string;
}

const featureOf = (path: string): string => placeOf(path)?.feature ?? 'server';

/** Owner by table: the feature of the schema.ts that describes it, unless another one is declared. */
export function ownersOf(
  files: readonly Source[],
  shared: Readonly<Record<string, Sharing>> = SHARED,
): Map<string, string> {
  const owners = new Map<string, string>();
  for (const { path, text } of files.filter((file) => file.path.endsWith('/schema.ts'))) {
    for (const [, plain, ofTeam] of text.matchAll(/pgTable\(\s*'(\w+)'|teamTable\(\s*\{\s*name: '(\w+)'/g))
      owners.set(plain ?? ofTeam ?? '', featureOf(path));
  }
  for (const [table, { owner }] of Object.entries(shared)) if (owner !== undefined) owners.set(table, owner);
  return owners;
}

const STATEMENT =
  /\b(insert into|update|delete from|truncate|from|join)\s+(?:only\s+)?"?([a-z_]+)"?(?=[\s(,;`)])/gi;

/** Statements by hand, and tables of another feature that its schema.ts gives to typed queries. */
export function touches(files: readonly Source[], owners: ReadonlyMap<string, string>): Touch[] {
  return files
    .filter(({ path }) => path.startsWith('server/') && !isTest(path) && !path.endsWith('/schema.ts'))
    .flatMap(({ path, text }) => {
      const feature = featureOf(path);
      const code = text.replace(/^\s*(?:\/\/|\*|\/\*).*$/gm, '');
      return [...code.matchAll(STATEMENT)].flatMap(([, verb = '', name = '']): Touch[] => {
        const owner = owners.get(name);
        if (owner === undefined || owner === feature) return [];
        const access: Access = /^(?:from|join)$/i.test(verb) ? 'reads' : 'writes';
        return [{ path, feature, access, table: name }];
      });
    });
}

export function undeclared(
  found: readonly Touch[],
  shared: Readonly<Record<string, Sharing>> = SHARED,
): string[] {
  const allowed = ({ table, feature, access }: Touch): boolean => {
    const { readers = [], writers = [] } = shared[table] ?? {};
    return (access === 'reads' ? readers : writers).includes(feature);
  };
  return [
    ...new Set(
      found.filter((touch) => !allowed(touch)).map(({ path, access, table }) => `${path} ${access} ${table}`),
    ),
  ];
}

describe('tables', () => {
  const files = sources();
  const owners = ownersOf(files);
  const found = touches(files, owners);

  it('are found, and so are the statements over them', () => {
    expect(owners.size).toBeGreaterThan(45);
    expect(found.length).toBeGreaterThan(60);
  });

  it('are read and written by their owners and by declared features alone', () => {
    expect(undeclared(found)).toEqual([]);
  });

  it('have no declaration that nothing needs any more', () => {
    const used = new Set(found.map(({ table, access, feature }) => `${table} ${access} ${feature}`));
    const idle = Object.entries(SHARED).flatMap(([table, { readers = [], writers = [] }]) => [
      ...readers.map((feature) => `${table} reads ${feature}`).filter((entry) => !used.has(entry)),
      ...writers.map((feature) => `${table} writes ${feature}`).filter((entry) => !used.has(entry)),
    ]);
    expect(idle).toEqual([]);
    expect(Object.keys(SHARED).filter((table) => !owners.has(table))).toEqual([]);
  });

  it('sees a feature that writes or reads the table of another one', () => {
    const schema = { path: 'server/a/b/schema.ts', text: '' };
    const mine = [
      { ...schema, path: 'server/engine/runners/schema.ts', text: "pgTable(\n  'things', {" },
      { ...schema, path: 'server/apps/x/schema.ts', text: "teamTable(\n  { name: 'others', kind: 'other' }" },
    ];
    const of = (path: string, statement: string): Source => ({ path, text: `sql\`${statement}\`` });
    const statements = [
      of('server/engine/runners/store.ts', 'update things set x = 1'),
      of('server/engine/builds/store.ts', 'insert into things (id) values (1)'),
      of('server/money/usage/index.ts', 'select 1 from x join "things" t on true'),
      of('server/engine/runners/index.ts', 'delete from others where x'),
      of('server/money/usage/index.test.ts', 'update things set x = 1'),
    ];
    const owned = ownersOf(mine, {});
    expect(undeclared(touches(statements, owned), { things: { readers: ['money/usage'] } })).toEqual([
      'server/engine/builds/store.ts writes things',
      'server/engine/runners/index.ts writes others',
    ]);
  });
});
