import { describe, it } from 'vitest';
import { ofToday } from '../nightly.ts';
import { has } from '../setup/needs.ts';
import { catchByStory, STORY_MUTANTS } from './story-mutants.ts';

const there = await has('postgres');

describe.skipIf(!there)('a story of the suite', () => {
  const name = ofToday(Object.keys(STORY_MUTANTS));
  it(`catches, today: ${name}`, { timeout: 150_000 }, async () => await catchByStory(name));
});
