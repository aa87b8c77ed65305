import { describe, expect, it } from 'vitest';
import { has } from '../setup/needs.ts';
import { runStory, STORY_MUTANTS } from './story-mutants.ts';

const there = await has('postgres');

describe.skipIf(!there)('a story of the suite', () => {
  it.each(Object.entries(STORY_MUTANTS))('catches %s', { timeout: 150_000 }, async (_name, mutant) => {
    const { passed, printed } = await runStory(mutant);
    expect(passed, printed).toBe(false);
    // It was the story that failed, not its process.
    expect(printed).toMatch(/FAIL .*test\.ts > .*/);
    expect(printed).toContain(mutant.story[1]);
    expect(printed).toMatch(/Tests +1 failed/);
  });
});
