import { describe, expect, it } from 'vitest';
import { createAccountTurns, createTurns } from './turns.ts';

const settled = async (): Promise<void> => await new Promise((resolve) => setImmediate(resolve));

/** Work that ends when it is told to. */
function held() {
  const begun: string[] = [];
  const ends: Array<() => void> = [];
  return {
    begun,
    work: (name: string) => async (): Promise<string> => {
      begun.push(name);
      await new Promise<void>((resolve) => ends.push(resolve));
      return name;
    },
    /** It resolves when all that may have begun has. */
    endNext: async (): Promise<void> => {
      await settled();
      ends.shift()?.();
      await settled();
    },
  };
}

describe('createTurns()', () => {
  it('lets one of each key work, in the order in which they come', async () => {
    const inTurn = createTurns({ atOnceMax: 5, waitMs: 60_000 });
    const { begun, work, endNext } = held();
    const all = ['a1', 'a2', 'b1', 'a3'].map(async (name) => await inTurn(name.slice(0, 1), work(name)));
    await endNext();
    expect(begun).toEqual(['a1', 'b1', 'a2']);
    for (let n = 0; n < 3; n += 1) await endNext();
    expect(begun).toEqual(['a1', 'b1', 'a2', 'a3']);
    expect(await Promise.all(all)).toEqual(['a1', 'a2', 'b1', 'a3']);
  });

  it('goes on behind one that fails', async () => {
    const inTurn = createTurns({ atOnceMax: 5, waitMs: 60_000 });
    const failing = inTurn('a', async () => await Promise.reject(new Error('no')));
    const next = inTurn('a', async () => await Promise.resolve('next'));
    await expect(failing).rejects.toThrow('no');
    expect(await next).toBe('next');
  });

  it('refuses more of a key than may wait, takes those of others, and takes more when some have ended', async () => {
    const inTurn = createTurns({ atOnceMax: 2, waitMs: 60_000 });
    const { work, endNext } = held();
    const [first, second] = [inTurn('a', work('a1')), inTurn('a', work('a2'))];
    await expect(inTurn('a', work('a3'))).rejects.toMatchObject({ code: 'unavailable', retryable: true });
    const other = inTurn('b', work('b1'));
    for (let n = 0; n < 3; n += 1) await endNext();
    expect(await Promise.all([first, second, other])).toEqual(['a1', 'a2', 'b1']);
    expect(await inTurn('a', async () => await Promise.resolve('a4'))).toBe('a4');
  });

  it('gives up one that waits for too long, and begins it no more', async () => {
    const inTurn = createTurns({ atOnceMax: 3, waitMs: 1 });
    const { begun, work, endNext } = held();
    const first = inTurn('a', work('a1'));
    await expect(inTurn('a', work('a2'))).rejects.toMatchObject({ code: 'unavailable', retryable: true });
    await endNext();
    expect(await first).toBe('a1');
    const third = inTurn('a', work('a3'));
    await endNext();
    expect(await third).toBe('a3');
    expect(begun).toEqual(['a1', 'a3']);
  });
});

describe('createAccountTurns()', () => {
  it('has the acts of one caller wait for each other, of however many teams and payers', async () => {
    const inTurn = createAccountTurns();
    const { begun, work, endNext } = held();
    const act = async (callerId: string, payerId: string | null, name: string) =>
      await inTurn({ callerId, payerId, teamId: `team of ${name}` }, work(name));
    const all = [
      act('ann', 'ann', '1'),
      act('ann', 'bob', '2'),
      act('ann', null, '3'),
      act('eve', 'sue', 'of strangers'),
    ];
    await endNext();
    expect(begun).toEqual(['1', 'of strangers', '2']);
    for (let n = 0; n < 4; n += 1) await endNext();
    expect(await Promise.all(all)).toEqual(['1', '2', '3', 'of strangers']);
  });

  it('has one act of each caller wait for those of the payer’s other teams, and those that nobody calls for too', async () => {
    const inTurn = createAccountTurns();
    const { begun, work, endNext } = held();
    const act = async (callerId: string, name: string) =>
      await inTurn({ callerId, payerId: 'ann', teamId: `team of ${name}` }, work(name));
    const all = [act('bob', 'b1'), act('bob', 'b2'), act('eve', 'e1'), act('', 'nobody')];
    for (let n = 0; n < 6; n += 1) await endNext();
    expect(begun).toEqual(['nobody', 'b1', 'e1', 'b2']);
    expect(await Promise.all(all)).toEqual(['b1', 'b2', 'e1', 'nobody']);
  });

  it('lets acts of one account take their limit, and others go on', async () => {
    const inTurn = createAccountTurns();
    const { work, endNext } = held();
    const act = (callerId: string, n: number) =>
      inTurn({ callerId, payerId: `payer ${n}`, teamId: '' }, work(`${n}`));
    const many = Array.from({ length: 45 }, async (_, n) => await act('ann', n).catch(() => 'refused'));
    const other = act('eve', 99);
    for (let n = 0; n < 50; n += 1) await endNext();
    expect((await Promise.all(many)).filter((said) => said === 'refused')).toHaveLength(40);
    expect(await other).toBe('99');
  });
});
