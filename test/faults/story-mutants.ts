/**
 * Mistakes that no fault brings to light, because they need a caller who asks for what is not his, or one bad
 * item among good ones. Each is planted into the source while a story of the suite runs, and that story must
 * fail.
 */
import { execFile } from 'node:child_process';
import { expect } from 'vitest';
import type { Replacement } from './bundles.ts';

export interface StoryMutant {
  readonly what: string;
  readonly replacements: readonly Replacement[];
  /** Path of the test file, and what its story is called. */
  readonly story: readonly [file: string, name: string];
}

export const STORY_MUTANTS: Readonly<Record<string, StoryMutant>> = {
  'first-error': {
    what: 'a batch answers all with the first error',
    replacements: [
      {
        file: 'proto/process/batches.ts',
        find: 'const answer = answers[at];',
        replace: 'const answer = answers.find((each) => each instanceof Error) ?? answers[at];',
      },
    ],
    story: ['gateway/dispatch-client.test.ts', 'each answered by itself'],
  },
  'poisoned-batch': {
    what: 'a batch that one item fails fails for all',
    replacements: [
      {
        file: 'server/engine/work/nonces.ts',
        find: 'divides: (error: unknown): boolean => !isConnectionError(error),',
        replace: 'divides: (error: unknown): boolean => isConnectionError(error),',
      },
    ],
    story: ['server/engine/work/together.test.ts', 'fails the one that cannot be stored, and no other'],
  },
  'one-bad-event': {
    what: 'an event that one effect cannot take stops the events of all teams',
    replacements: [
      {
        file: 'server/kit/events/publish.ts',
        find: 'if (!isRefusal(cause) ||',
        replace: 'if (isRefusal(cause) ||',
      },
    ],
    story: [
      'server/engine/adminevents/parked.api.test.ts',
      'leaves everything else to happen, by a trigger that raises',
    ],
  },
  'any-holder': {
    what: 'a heartbeat is by (work, epoch) alone',
    replacements: [
      {
        file: 'server/engine/work/sql.ts',
        find: 'x.epoch = a.epoch and x.runner_id = a.runner_id',
        replace: 'x.epoch = a.epoch',
      },
    ],
    story: ['server/engine/work/lease.test.ts', 'is left alone by another runner'],
  },
  'no-turn': {
    what: 'a claim moves no turn on',
    replacements: [
      {
        file: 'server/engine/work/turns.ts',
        find: 'set vtime = t.vtime + g.count / t.weight::float8, waiting = g.more',
        replace: 'set waiting = g.more',
      },
    ],
    story: ['server/engine/work/fairness.test.ts', 'give a team that floods its part'],
  },
  'first-refusal': {
    what: 'a request of many answers all with the first refusal',
    replacements: [
      {
        file: 'gateway/many.ts',
        find: 'return [...outcomes, ...(await Promise.all(rest))];',
        replace: `const all = [...outcomes, ...(await Promise.all(rest))];
  const refused = all.find(isError);
  return refused === undefined ? all : all.map(() => refused);`,
      },
    ],
    story: ['gateway/many.test.ts', 'have each its own answer'],
  },
  'many-as-one': {
    what: 'a request of many counts as its first call',
    replacements: [
      {
        file: 'gateway/many.ts',
        find: 'const rest = items.slice(outcomes.length).map(async (item) => await call(item).catch(toApiError));',
        replace:
          'const rest = items.slice(outcomes.length).map(() => Promise.resolve(outcomes.at(-1) as Answer));',
      },
    ],
    story: ['gateway/many.test.ts', 'have each its own answer'],
  },
  'whole-queue': {
    what: 'a poll takes the whole queue while others wait',
    replacements: [
      {
        file: 'gateway/polls.ts',
        find: '|| this.#isWaitedFor(poolId, ask)',
        replace: '|| (this.#isWaitedFor(poolId, ask) && false)',
      },
    ],
    story: ['gateway/polls.test.ts', 'takes one where others wait'],
  },
};

const root = new URL('../..', import.meta.url).pathname;
const LIMIT_MS = 120_000;

/** The story is run with the mutation, in a process of its own. */
async function runStory({ story: [file, name], replacements }: StoryMutant) {
  const args = ['node_modules/vitest/vitest.mjs', 'run', file, '--testNamePattern', name];
  const config = ['--config', 'test/faults/vitest.config.ts', '--no-color'];
  const env = { ...process.env, SVC_MUTATION: JSON.stringify(replacements) };
  return await new Promise<{ readonly passed: boolean; readonly printed: string }>((resolve) => {
    execFile(
      process.execPath,
      [...args, ...config],
      { cwd: root, env, timeout: LIMIT_MS },
      (error, stdout, stderr) => resolve({ passed: error === null, printed: stdout + stderr }),
    );
  });
}

/** The story fails, and not its process. */
export async function catchByStory(name: string): Promise<void> {
  const mutant = STORY_MUTANTS[name];
  if (mutant === undefined) throw new Error(`no mutant ${name}`);
  const { passed, printed } = await runStory(mutant);
  expect(passed, printed).toBe(false);
  expect(printed).toMatch(/FAIL .*test\.ts > .*/);
  expect(printed).toContain(mutant.story[1]);
  expect(printed).toMatch(/Tests +1 failed/);
}
