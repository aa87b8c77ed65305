import { setImmediate } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { createPasswords, createTurnstile, DEFAULT_COST } from './password.ts';
import { TIMED } from '../../test/setup/timed.ts';

const cheap = createPasswords({ ln: 8, r: 8, p: 1 });

describe('createPasswords()', () => {
  it('stores a PHC string at the cost that OWASP asks for, and verifies it', async () => {
    const passwords = createPasswords();
    const stored = await passwords.hash('a real password');
    expect(stored).toMatch(/^\$scrypt\$ln=17,r=8,p=1\$[A-Za-z0-9+/]{22}\$[A-Za-z0-9+/]{43}$/);
    expect(await passwords.verify('a real password', stored)).toEqual({ ok: true, stale: false });
    expect((await passwords.verify('a wrong password', stored)).ok).toBe(false);
    expect(DEFAULT_COST.ln).toBe(17);
  });

  it('says that a hash of another cost is stale, only when the password was right', async () => {
    const stored = await createPasswords({ ln: 9, r: 8, p: 1 }).hash('pass word 123');
    expect(await cheap.verify('pass word 123', stored)).toEqual({ ok: true, stale: true });
    expect(await cheap.verify('other', stored)).toEqual({ ok: false, stale: false });
  });

  it('treats the same text in another Unicode form as the same password', async () => {
    const stored = await cheap.hash('caf\u00e9 au lait');
    expect((await cheap.verify('cafe\u0301 au lait', stored)).ok).toBe(true);
  });

  it('refuses nobody after the same work, and a megabyte without any', TIMED, async () => {
    expect((await cheap.verify('anything', undefined)).ok).toBe(false);
    const began = performance.now();
    expect((await createPasswords().verify('x'.repeat(1_000_000), undefined)).ok).toBe(false);
    expect(performance.now() - began).toBeLessThan(50);
  });

  it('works on two at a time and refuses more than it can queue', async () => {
    const passwords = createPasswords({ ln: 12, r: 8, p: 1 });
    const results = await Promise.allSettled(
      Array.from({ length: 80 }, async () => await passwords.hash('p')),
    );
    const refused = results.filter((result) => result.status === 'rejected');
    expect(refused).toHaveLength(80 - 2 - 64);
    expect(String((refused[0] as PromiseRejectedResult).reason)).toContain('too many sign-ins at once');
  });
});

describe('createTurnstile()', () => {
  it('lets strangers keep out neither those who are known nor each other', async () => {
    const turn = createTurnstile();
    const begun: string[] = [];
    const working: Array<() => void> = [];
    let refused = 0;
    const enter = async (who: string, stranger?: string): Promise<void> =>
      await turn(stranger, async () => {
        begun.push(who);
        await new Promise<void>((end) => working.push(end));
      }).catch(() => void (refused += 1));
    const guesses = Array.from({ length: 40 }, async (_, n) => await enter(`from ${n % 2}`, `net ${n % 2}`));
    const all = Promise.all([...guesses, enter('a newcomer', 'net 2'), enter('a known one')]);
    for (let end = working.shift(); end !== undefined; end = working.shift()) {
      end();
      await setImmediate();
    }
    await all;
    expect(refused).toBe(40 - 2 - 2 * 4);
    expect(begun[2]).toBe('a known one');
    expect(begun).toContain('a newcomer');
  });
});
