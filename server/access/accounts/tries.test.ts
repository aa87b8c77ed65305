import { beforeEach, describe, expect, it } from 'vitest';
import { createFakeClock } from '../../../test/setup/clock.ts';
import { createTries, type Guesses, type Tries } from './tries.ts';

const ADA = 'ada@example.com';
const HOME = '192.0.2.1';
const stranger = (n: number): string => `198.51.${n >> 8}.${n & 255}`;

let clock: ReturnType<typeof createFakeClock>;
let tries: Tries;
beforeEach(() => {
  clock = createFakeClock();
  tries = createTries(clock);
});

/** Returns how many of `count` tries were let through. */
function taken(guesses: Guesses, count: number, from: (n: number) => string): number {
  let through = 0;
  for (let n = 0; n < count; n += 1) {
    try {
      guesses.spend(ADA, from(n));
      through += 1;
    } catch (error) {
      expect(error).toMatchObject({ code: 'rate_limited' });
    }
  }
  return through;
}

describe('tries at a password', () => {
  it('count for account and network together', () => {
    expect(taken(tries.password, 50, () => stranger(1))).toBe(10);
    expect(taken(tries.password, 50, () => HOME)).toBe(10);
    expect(() => tries.password.spend('bob@example.com', HOME)).not.toThrow();
    clock.advance(15 * 60_000);
    expect(taken(tries.password, 50, () => HOME)).toBe(10);
  });

  it('of one IPv6 customer are those of one network', () => {
    expect(taken(tries.password, 50, (n) => `2001:db8:0:1::${n.toString(16)}`)).toBe(10);
    expect(taken(tries.password, 1, () => '2001:db8:0:2::1')).toBe(1);
  });

  it('from very many networks leave the known one what it has, and every new one a few', () => {
    tries.password.spend(ADA, HOME);
    tries.password.wasRight(ADA, HOME);
    const through = taken(tries.password, 10_000, (n) => stranger(n % 1_000));
    expect(through).toBeLessThanOrEqual(100 + 2 * 1_000);
    expect(taken(tries.password, 50, () => HOME)).toBe(10);
    expect(taken(tries.password, 50, () => '203.0.113.9')).toBe(2);
  });

  it('are given back by the right one', () => {
    expect(taken(tries.password, 9, () => HOME)).toBe(9);
    tries.password.wasRight(ADA, HOME);
    expect(taken(tries.password, 50, () => HOME)).toBe(10);
  });
});

describe('tries at a one-time code', () => {
  it('are few for the account, but for a network that is known', () => {
    tries.code.spend(ADA, HOME);
    tries.code.wasRight(ADA, HOME);
    expect(taken(tries.code, 1_000, stranger)).toBe(19);
    expect(taken(tries.code, 50, () => HOME)).toBe(5);
  });
});
