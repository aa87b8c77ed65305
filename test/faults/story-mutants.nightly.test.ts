import { describe, it } from 'vitest';
import { others } from '../nightly.ts';
import { has } from '../setup/needs.ts';
import { catchByStory, STORY_MUTANTS } from './story-mutants.ts';

const there = await has('postgres');

describe.skipIf(!there)('a story of the suite', () => {
  it.each(others(Object.keys(STORY_MUTANTS)))(
    'catches %s',
    { timeout: 150_000 },
    async (name) => await catchByStory(name),
  );
});
