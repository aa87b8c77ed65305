import { describe, expect, it } from 'vitest';
import { createOneAtATime } from './one-at-a-time.ts';

/** Work that is let go by hand. */
function bench() {
  const oneAtATime = createOneAtATime();
  const begun: string[] = [];
  const aborted: string[] = [];
  const ends = new Map<string, () => void>();
  let at = 0;
  let most = 0;
  const ask = async (name: string, question = '', signal = new AbortController().signal): Promise<string> =>
    await oneAtATime({ name, question, signal }, async (own) => {
      const label = `${name}${question} ${begun.length + 1}`;
      begun.push(label);
      at += 1;
      most = Math.max(most, at);
      await new Promise<void>((resolve, reject) => {
        ends.set(label, resolve);
        own.addEventListener('abort', () => {
          aborted.push(label);
          reject(own.reason as Error);
        });
      }).finally(() => (at -= 1));
      return label;
    });
  const turn = async (): Promise<void> => await new Promise((resolve) => setImmediate(resolve));
  return { ask, begun, aborted, turn, end: (label: string) => ends.get(label)?.(), most: () => most };
}

describe('one at a time', () => {
  it('is the rule for each name, and who comes later shares the next with those who ask the same', async () => {
    const { ask, begun, turn, end } = bench();
    const first = ask('a');
    await turn();
    const later = [ask('a'), ask('a'), ask('a', '?'), ask('a')];
    await turn();
    expect(begun).toEqual(['a 1']);
    end('a 1');
    expect(await first).toBe('a 1');
    await turn();
    expect(begun).toEqual(['a 1', 'a 2']);
    end('a 2');
    await turn();
    end('a? 3');
    expect(await Promise.all(later)).toEqual(['a 2', 'a 2', 'a? 3', 'a 2']);
  });

  it('does not keep one name waiting for another, of few', async () => {
    const { ask, begun, turn, end, most } = bench();
    const all = ['a', 'b', 'c', 'd'].map(async (name) => await ask(name));
    await turn();
    expect(begun).toEqual(['a 1', 'b 2']);
    for (const label of ['a 1', 'b 2', 'c 3', 'd 4']) {
      end(label);
      await turn();
    }
    expect(await Promise.all(all)).toEqual(['a 1', 'b 2', 'c 3', 'd 4']);
    expect(most()).toBe(2);
  });

  it('refuses a line that has grown long', async () => {
    const { ask, turn, end } = bench();
    const first = ask('a');
    await turn();
    const waiting = Array.from({ length: 8 }, async (_, n) => await ask('a', `?${n}`));
    await expect(ask('a', '?8')).rejects.toMatchObject({ code: 'rate_limited' });
    end('a 1');
    for (let n = 0; n < 8; n += 1) {
      await turn();
      end(`a?${n} ${n + 2}`);
    }
    expect(await Promise.all([first, ...waiting])).toHaveLength(9);
  });

  it('ends work when the last who asked for it has left, and goes on with the next', async () => {
    const { ask, begun, aborted, turn, end } = bench();
    const [one, two, three] = [new AbortController(), new AbortController(), new AbortController()];
    const left = [ask('a', '', one.signal), ask('a', '', two.signal)];
    await turn();
    one.abort(new Error('gone'));
    await expect(left[0]).rejects.toThrow('gone');
    expect(aborted).toEqual([]);
    const never = ask('a', '?', three.signal);
    three.abort(new Error('gone'));
    await expect(never).rejects.toThrow('gone');
    two.abort(new Error('gone'));
    await expect(left[1]).rejects.toThrow('gone');
    expect(aborted).toEqual(['a 1']);
    const next = ask('a', '?');
    await turn();
    expect(begun).toEqual(['a 1', 'a? 2']);
    end('a? 2');
    expect(await next).toBe('a? 2');
  });
});
