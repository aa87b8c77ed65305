/**
 * Whoever writes a statement by hand takes the teams that a call may touch, or stands in the list of the
 * system's own.
 */
import { describe, expect, it } from 'vitest';
import { isTest, placeOf, sources, type Source } from './sources.ts';

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
    .filter(({ path }) => placeOf(path)?.includes('/') && !isTest(path) && !path.endsWith('/schema.ts'))
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

/**
 * A file whose statements take no TeamScope says why, by one of these. Rows of base, kit and switches belong
 * to no team.
 */
const REASONS: readonly string[] = [
  'rows of an account, a credential or the installation, which belong to no team',
  'a chain of the ledger, whose right is checked by its name',
  'memberships and invitations, which a TeamScope is made of',
  'members of a space, whose membership is the right to it',
  'asks whether any team has a domain, and shows no row',
  'called by gateways, workers and the outbox, which act for no caller',
  'records runs of a connection, which a webhook has, or was found within the teams of the call',
  'what the plan of a team’s payer includes, over all teams of the payer',
  'fragments of statements that take a TeamScope',
  'given the row, or the team, that the call was authorised for',
];

const reasonOf = ({ text }: Source): string | undefined => /^\/\/ No TeamScope: (.*)\.$/m.exec(text)?.[1];

describe('statements by hand', () => {
  const files = sources();
  const all = statements(files);
  const reasons = new Map(files.map((file) => [file.path, reasonOf(file)]));
  const unscoped = all.filter(({ scoped }) => !scoped);

  it('are found', () => {
    expect(all.length).toBeGreaterThan(200);
  });

  it('take a TeamScope, or their file says why they take none', () => {
    const without = unscoped.filter(({ path }) => !REASONS.includes(reasons.get(path) ?? ''));
    expect(without.map(({ path, name }) => `${path} ${name}`)).toEqual([]);
  });

  it('have a reason only where one is needed', () => {
    const idle = [...reasons].filter(
      ([path, reason]) => reason && !unscoped.some((each) => each.path === path),
    );
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
