import { describe, expect, it } from 'vitest';
import { createTeamTurns } from './team-turns.ts';

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
    /** When all that may have begun has. */
    endNext: async (): Promise<void> => {
      await settled();
      ends.shift()?.();
      await settled();
    },
  };
}

describe('createTeamTurns()', () => {
  it('lets one of each team work, in the order in which they come', async () => {
    const inTurn = createTeamTurns();
    const { begun, work, endNext } = held();
    const all = ['a1', 'a2', 'b1', 'a3'].map(async (name) => await inTurn(name.slice(0, 1), work(name)));
    await endNext();
    expect(begun).toEqual(['a1', 'b1', 'a2']);
    for (let n = 0; n < 3; n += 1) await endNext();
    expect(begun).toEqual(['a1', 'b1', 'a2', 'a3']);
    expect(await Promise.all(all)).toEqual(['a1', 'a2', 'b1', 'a3']);
  });

  it('goes on behind one that fails', async () => {
    const inTurn = createTeamTurns();
    const failing = inTurn('a', async () => await Promise.reject(new Error('no')));
    const next = inTurn('a', async () => await Promise.resolve('next'));
    await expect(failing).rejects.toThrow('no');
    expect(await next).toBe('next');
  });

  it('refuses more of a team than may wait, takes those of others, and takes more when some have ended', async () => {
    const inTurn = createTeamTurns(2);
    const { work, endNext } = held();
    const [first, second] = [inTurn('a', work('a1')), inTurn('a', work('a2'))];
    await expect(inTurn('a', work('a3'))).rejects.toMatchObject({ code: 'unavailable', retryable: true });
    const other = inTurn('b', work('b1'));
    for (let n = 0; n < 3; n += 1) await endNext();
    expect(await Promise.all([first, second, other])).toEqual(['a1', 'a2', 'b1']);
    expect(await inTurn('a', async () => await Promise.resolve('a4'))).toBe('a4');
  });
});
