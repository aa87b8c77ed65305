/** What the filter does is asked of the kernel in abuse.test.ts. */
import { describe, expect, it } from 'vitest';
import { isStaticElf } from './base-image.ts';
import { ABSENT, REFUSED } from './seccomp.ts';
import { NOT_ON_X64, seccompLoader, X64_NUMBERS } from './seccomp-loader.ts';

describe('seccompLoader()', () => {
  it('is a program that needs nothing of the machine, small enough to travel in a script', () => {
    const program = seccompLoader();
    expect(isStaticElf(program)).toBe(true);
    expect(program.length).toBeLessThan(2_048);
  });

  it('knows the number of every call that the engines’ filter refuses, each once', () => {
    const numbers = Object.values(X64_NUMBERS);
    expect(new Set(numbers).size).toBe(numbers.length);
    expect([...Object.keys(X64_NUMBERS), ...NOT_ON_X64].sort()).toEqual([...REFUSED, ...ABSENT].sort());
  });
});
