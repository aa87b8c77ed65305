/**
 * abuse.test.ts asks the kernel what the filter does; its answer to 32-bit calls is tested here too, because
 * not every kernel has such calls.
 */
import { describe, expect, it } from 'vitest';
import { isStaticElf } from './base-image.ts';
import { ABSENT, REFUSED } from './seccomp.ts';
import { filter, NOT_ON_X64, seccompLoader, X64_NUMBERS } from './seccomp-loader.ts';

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

/** Runs the filter like the kernel: returns its answer to a call. */
function answerTo(call: { arch: number; number: number; argument?: number }): number {
  const data = new Map([
    [0, call.number],
    [4, call.arch],
    [16, call.argument ?? 0],
  ]);
  const steps: Record<number, (value: number) => boolean> = {
    0x15: (value) => loaded === value,
    0x35: (value) => loaded >= value,
    0x45: (value) => (loaded & value) !== 0,
  };
  let loaded = NaN;
  const instructions = filter();
  for (let at = 0; at < instructions.length; at += 1) {
    const [operation, skipIfTrue, skipIfFalse, value] = instructions[at]!;
    if (operation === 0x06) return value;
    if (operation === 0x20) loaded = data.get(value) ?? NaN;
    else at += steps[operation]!(value) ? skipIfTrue : skipIfFalse;
  }
  throw new Error('the filter ended without an answer');
}

describe('the filter', () => {
  const X64 = 0xc000_003e;
  const I386 = 0x4000_0003;
  const [KILL, ALLOW, REFUSE] = [0x8000_0000, 0x7fff_0000, 0x0005_0000];
  const [EPERM, ENOSYS] = [1, 38];

  it('kills whoever makes a 32-bit call, whichever it is', () => {
    const getpid386 = 20;
    const unshare386 = 310;
    for (const number of [getpid386, unshare386, 0, 39, 0xffff_ffff])
      expect(answerTo({ arch: I386, number }), `call ${number}`).toBe(KILL);
  });

  it('allows a plain call, and refuses the same one by its x32 number and what it lists', () => {
    const getpid = 39;
    expect(answerTo({ arch: X64, number: getpid })).toBe(ALLOW);
    expect(answerTo({ arch: X64, number: 0x4000_0000 + getpid })).toBe(REFUSE + ENOSYS);
    expect(answerTo({ arch: X64, number: X64_NUMBERS.unshare })).toBe(REFUSE + EPERM);
    const clone = 56;
    const newUser = 0x1000_0000;
    expect(answerTo({ arch: X64, number: clone, argument: 17 })).toBe(ALLOW);
    expect(answerTo({ arch: X64, number: clone, argument: newUser + 17 })).toBe(REFUSE + EPERM);
  });
});
