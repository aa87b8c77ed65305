/**
 * Checks that what the help of `svc` shows works: every example, and every command and path that a text
 * names, is one that the program and the API take.
 */
import { rpcs } from '@svc/proto/gen/rpcs.ts';
import type { PathSegment } from '@svc/proto/http/rpc.ts';
import { beforeAll, describe, expect, it } from 'vitest';
import type { Spec } from '../cli/shell/command.ts';
import { commandTree, leavesOf } from '../cli/shell/tree.ts';
import { problemOf } from './docs/commands.ts';
import { commandsOf } from './docs/shell-words.ts';

interface Text {
  readonly where: string;
  readonly text: string;
}

describe('the help of svc', () => {
  let specs: readonly Spec[];
  beforeAll(async () => {
    specs = await Promise.all(leavesOf(commandTree()).map(async ({ load }) => (await load()).spec));
  });
  const nameOf = ({ group, words }: Spec) => ['svc', group, ...words].join(' ');
  const examples = (): readonly Text[] =>
    specs.flatMap((spec) => spec.examples.map(({ cli }) => ({ where: nameOf(spec), text: `svc ${cli}` })));
  const sentences = (): readonly Text[] =>
    specs.flatMap((spec) =>
      [spec, ...spec.positionals, ...spec.flags, ...spec.locals].map(({ description }) => ({
        where: nameOf(spec),
        text: description,
      })),
    );

  it('has examples that the program takes', async () => {
    const wrong: string[] = [];
    for (const { where, text } of examples())
      for (const { words } of commandsOf(text)) {
        const problem = await problemOf({ words, whole: true });
        if (problem !== undefined) wrong.push(`${where}: "${text}": ${problem}`);
      }
    expect(wrong).toEqual([]);
    expect(examples().length).toBeGreaterThan(60);
  });

  it('names commands that there are', async () => {
    const wrong: string[] = [];
    let read = 0;
    for (const { where, text } of sentences())
      for (const [, line = ''] of text.matchAll(/["`](svc [^"`]+)["`]/g)) {
        read += 1;
        const [command] = commandsOf(line);
        const problem = await problemOf({ words: command?.words ?? [], whole: false });
        if (problem !== undefined) wrong.push(`${where}: "${line}": ${problem}`);
      }
    expect(wrong).toEqual([]);
    expect(read).toBeGreaterThan(5);
  });

  it('names paths that the API serves, with queries that it takes', () => {
    const named = [...examples(), ...sentences()].flatMap(({ where, text }) => [
      ...[...text.matchAll(/\b(GET|POST|PUT|PATCH|DELETE) (\/[^\s`"'),;]*)/g)].map(
        ([, verb = '', path = '']) => ({ where, verb, path }),
      ),
      // The path of `svc api` alone is that of a reading call.
      ...[...text.matchAll(/\bsuch as (\/[a-z][^\s`"'),;]*\?[^\s`"'),;]*)/g)].map(([, path = '']) => ({
        where,
        verb: 'GET',
        path,
      })),
    ]);
    const wrong = named.flatMap(({ where, verb, path }) => {
      const problem = problemOfPath(verb, path.replace(/[.:]$/, ''));
      return problem === undefined ? [] : [`${where}: ${verb} ${path}: ${problem}`];
    });
    expect(wrong).toEqual([]);
    expect(named.length).toBeGreaterThan(3);
  });

  it('would notice an example that does not work', async () => {
    expect(problemOfPath('GET', '/teams?limit=1')).toBe('takes no "limit"');
    expect(problemOfPath('GET', '/projects?limit=1')).toBeUndefined();
    expect(problemOfPath('GET', '/nothing')).toBe('is not served');
    expect(await problemOf({ words: ['svc', 'ci', 'runs', 'list', '--nothing'], whole: true })).toContain(
      'unknown flag',
    );
  });
});

/** Paths beside the RPCs. */
const OTHERS = new Set(['POST /ci/webhooks/{hook}']);

function problemOfPath(verb: string, whole: string): string | undefined {
  const [path = '', query = ''] = whole.split('?');
  if (OTHERS.has(`${verb} ${path}`)) return undefined;
  const served = rpcs.find((rpc) =>
    rpc.routes.some((route) => route.verb === verb && fits(route.segments, path)),
  );
  if (served === undefined) return 'is not served';
  const fields = new Set(served.desc.input.fields.map(({ jsonName }) => jsonName));
  const unknown = [...new URLSearchParams(query).keys()].find((name) => !fields.has(name));
  return unknown === undefined ? undefined : `takes no "${unknown}"`;
}

function fits(segments: readonly PathSegment[], path: string): boolean {
  const parts = path.slice(1).split('/');
  const isOpen = segments.some((segment) => 'field' in segment && segment.multi === true);
  if (isOpen ? parts.length < segments.length : parts.length !== segments.length) return false;
  return segments.every((segment, place) => !('literal' in segment) || segment.literal === parts[place]);
}
