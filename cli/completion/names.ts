/** `svc completion names` is what the scripts of completion ask for names of places. */
import { defineOwn, type ContextOf, type OwnArgs } from '../shell/command.ts';
import type { Finder } from '../shell/finder.ts';
import { finderOf } from '../shell/settle.ts';
import { neutraliseLine } from '../shell/text.ts';
import { NAME_KINDS, type NameKind } from './completion-tree.ts';

/** A person waits at the key. */
const LIMIT_MS = 1_000;

const ARGS = {
  kind: { type: 'positional', required: true, options: [...NAME_KINDS], description: 'Names of what.' },
  beginning: { type: 'positional', required: false, description: 'What is typed already.' },
} satisfies OwnArgs;

export const command = defineOwn({
  description:
    'Prints names that the completion of a shell offers, one a line, and nothing where there is no credential, no answer within a second or an error.',
  args: ARGS,
  answer: false,
  run: printNames,
});

async function printNames(context: ContextOf<typeof ARGS>): Promise<void> {
  const { args, io, output } = context;
  const ending = new AbortController();
  const signal = AbortSignal.any([context.signal, ending.signal]);
  void io.pause(LIMIT_MS, signal).then(() => ending.abort());
  try {
    const { credential } = await context.connection();
    if (credential === undefined) return;
    const finder = await finderOf({ ...context, signal });
    const kind = NAME_KINDS.find((known) => known === args.kind) ?? 'teams';
    const names = await namesOf(finder, kind, args.beginning ?? '');
    // A name of several lines would be several names, and others would not be typed.
    const lines = names.filter((name) => name !== '' && neutraliseLine(name) === name);
    await output.raw(lines.map((name) => `${name}\n`).join(''));
  } catch {
    // A word here would stand in the middle of the line that somebody types.
  } finally {
    ending.abort();
  }
}

async function namesOf(finder: Finder, kind: NameKind, beginning: string): Promise<readonly string[]> {
  const inside = beginning.slice(0, beginning.lastIndexOf('/') + 1);
  const listed = async (key: string, name: string): Promise<readonly string[]> =>
    (await finder.allAt(key, beginning)).map((thing) => `${inside}${String(thing[name] ?? '')}`);
  const all = async (...lists: readonly Promise<readonly string[]>[]): Promise<readonly string[]> =>
    (await Promise.allSettled(lists)).flatMap((list) => (list.status === 'fulfilled' ? list.value : []));
  if (kind === 'teams') return await listed('teams', 'name');
  if (kind === 'projects') return await listed('projects', 'slug');
  if (inside !== '') return await listed('environments', 'name');
  if (kind === 'places') return await all(listed('teams', 'name'), listed('projects', 'slug'));
  const projects = async () => (await listed('projects', 'slug')).map((slug) => `${slug}/`);
  // The name of an environment is enough in the project in use.
  return await all(listed('environments', 'name'), projects());
}
