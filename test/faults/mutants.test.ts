import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { applyReplacement } from './bundles.ts';
import { MUTANT_NAMES, MUTANTS } from './mutants.ts';

const root = new URL('../..', import.meta.url).pathname;

describe('mutants', () => {
  for (const name of MUTANT_NAMES) {
    it(`${name} fits the source as it is now`, () => {
      for (const replacement of MUTANTS[name].replacements) {
        const source = readFileSync(`${root}${replacement.file}`, 'utf8');
        expect(applyReplacement(source, replacement)).not.toBe(source);
      }
    });
  }

  it('fail loudly when their text is gone or is there twice', () => {
    const replacement = { file: 'a.ts', find: 'x', replace: 'y' };
    expect(applyReplacement('axb', replacement)).toBe('ayb');
    expect(() => applyReplacement('ab', replacement)).toThrow('0 times');
    expect(() => applyReplacement('axbx', replacement)).toThrow('2 times');
  });
});
