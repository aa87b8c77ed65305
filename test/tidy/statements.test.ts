/** Whoever writes a statement by hand takes the teams that a call may touch, or stands in the list of the system's own. */
import { describe, expect, it } from 'vitest';
import { isTest, placeOf, sources } from './sources.ts';
import type { Source } from './sources.ts';
import { SYSTEMS_OWN } from './statements.ts';

interface Statement {
  readonly path: string;
  readonly name: string;
  /** Its function takes a TeamScope. */
  readonly scoped: boolean;
}

const DECLARATION = /^(?:export )?(?:async )?(?:function\*? (\w+)|const (\w+)\b)/gm;
const BY_HAND = /sql(?:<[^`]*>)?`[^`]*\b(?:select|insert|update|delete|with)\b/;

/** Functions of the features that hold a statement by hand. */
export function statements(files: readonly Source[]): Statement[] {
  return files
    .filter(({ path }) => placeOf(path) !== undefined && !isTest(path) && !path.endsWith('/schema.ts'))
    .flatMap(({ path, text }) => {
      const begins = [...text.matchAll(DECLARATION)];
      return begins.flatMap((begin, at): Statement[] => {
        const body = text.slice(begin.index, begins[at + 1]?.index ?? text.length);
        if (!BY_HAND.test(body)) return [];
        const [head = ''] = body.split('{\n');
        return [
          { path, name: begin[1] ?? begin[2] ?? '', scoped: /TeamScope|\bteams\b|\bscope\b/.test(head) },
        ];
      });
    });
}

const isUnder = (path: string, place: string): boolean =>
  place.endsWith('/') ? path.startsWith(place) : path === place;

describe('statements by hand', () => {
  const all = statements(sources());
  const declared = Object.values(SYSTEMS_OWN).flat();

  it('are found', () => {
    expect(all.length).toBeGreaterThan(200);
  });

  it('take a TeamScope, or are the system’s own', () => {
    const others = all.filter(
      ({ path, scoped }) => !scoped && !declared.some((place) => isUnder(path, place)),
    );
    expect(others.map(({ path, name }) => `${path} ${name}`)).toEqual([]);
  });

  it('stand in the list while there are any', () => {
    const idle = declared.filter((place) => !all.some(({ path, scoped }) => !scoped && isUnder(path, place)));
    expect(idle).toEqual([]);
  });

  it('are seen without a scope', () => {
    const of = (path: string, head: string): Source => ({
      path,
      text: `export async function find(${head}) {\n  return await sql\`select 1 from things\`;\n}\n`,
    });
    expect(
      statements([
        of('server/operations/alerts/store.ts', '{ sql }: Database, id: string'),
        of('server/operations/alerts/rows.ts', '{ sql }: Database, scope: TeamScope'),
        of('server/operations/alerts/a.test.ts', '{ sql }: Database'),
      ]),
    ).toEqual([
      { path: 'server/operations/alerts/store.ts', name: 'find', scoped: false },
      { path: 'server/operations/alerts/rows.ts', name: 'find', scoped: true },
    ]);
  });
});
