import { describe, expect, it } from 'vitest';
import type { Answer } from './api.ts';
import { callsTogether } from './calls-together.ts';
import { CallError, type Failure } from './retryable.ts';
import type { CallName } from './wire.ts';

interface Sent {
  readonly name: CallName;
  readonly ids: readonly string[];
}

type Body = { readonly id: string; readonly reports?: readonly Body[]; readonly logs?: readonly Body[] };

/** A control plane that holds its answers until `done`. */
function bench(answer: (sent: Sent) => object | Failure) {
  const sent: Sent[] = [];
  const held: Array<() => void> = [];
  const together = callsTogether(async (name, body) => {
    const { id, reports, logs } = body as Body;
    const one = { name, ids: (reports ?? logs)?.map((each) => each.id) ?? [id] };
    sent.push(one);
    await new Promise<void>((resolve) => held.push(resolve));
    const value = answer(one);
    if ('verdict' in value) throw new CallError(value);
    return { value, sentMonotonicMs: 1 };
  });
  /** Lets answers go until these calls are answered. */
  const done = async <T>(calls: ReadonlyArray<Promise<T>>): Promise<T[]> => {
    let isOver = false;
    const all = Promise.all(calls).finally(() => (isOver = true));
    for (; !isOver; await new Promise((resolve) => setImmediate(resolve)))
      for (const one of held.splice(0)) one();
    return await all;
  };
  const report = async (id: string): Promise<string> => await reportUntil(id);
  const reportUntil = async (id: string, signal?: AbortSignal): Promise<string> =>
    await together('report', { id }, signal === undefined ? {} : { signal }).then(
      ({ value }: Answer<object>) => JSON.stringify(value),
      (error: CallError) => `${error.failure.verdict} ${error.failure.code}`,
    );
  return { sent, done, report, reportUntil, together };
}

const accepted = { accepted: true };
const each = ({ name, ids }: Sent, of: (id: string) => object) =>
  name === 'reports-of-many' ? { answers: ids.map(of) } : accepted;
const failure = (code: string, more: Partial<Failure> = {}): Failure => ({
  verdict: 'refused',
  code,
  message: code,
  ...more,
});
const FIVE = ['a', 'b', 'c', 'd', 'e'];

describe('calls that come together', () => {
  it('go alone where nothing is under way, and together where something is', async () => {
    const { sent, done, report } = bench((one) => each(one, () => ({ reported: accepted })));
    expect(await done(FIVE.map(report))).toEqual(FIVE.map(() => JSON.stringify(accepted)));
    expect(sent.flatMap(({ ids }) => ids).toSorted()).toEqual(FIVE);
    expect(sent.length).toBeLessThan(FIVE.length);
    const before = sent.length;
    const last = report('f');
    expect(await done([last])).toEqual([JSON.stringify(accepted)]);
    expect(sent.slice(before)).toEqual([{ name: 'report', ids: ['f'] }]);
  });

  it('have each its own refusal', async () => {
    const refused = { status: 409, code: 'stale_epoch', message: 'over' };
    const { done, report } = bench((one) =>
      each(one, (id) => (id === 'd' ? { refused } : id === 'e' ? {} : { reported: accepted })),
    );
    expect(await done(FIVE.map(report))).toEqual([
      ...['a', 'b', 'c'].map(() => JSON.stringify(accepted)),
      'refused stale_epoch',
      'retry foreign_reply',
    ]);
  });

  it('go one by one where a request for many is refused, so that one of them costs no other', async () => {
    const { done, report, sent } = bench(({ name, ids: [id] }) =>
      name === 'reports-of-many' || id === 'd' ? failure('validation_failed') : accepted,
    );
    expect(await done(FIVE.map(report))).toEqual([
      ...['a', 'b', 'c'].map(() => JSON.stringify(accepted)),
      'refused validation_failed',
      JSON.stringify(accepted),
    ]);
    expect(sent.some(({ name }) => name === 'reports-of-many')).toBe(true);
  });

  it('go one by one to a control plane that does not know of many, which is asked once', async () => {
    const unknown = failure('not_found', { verdict: 'retry', unserved: true });
    const { done, report, sent } = bench(({ name }) => (name === 'reports-of-many' ? unknown : accepted));
    for (let round = 0; round < 2; round += 1) {
      expect(await done(FIVE.map(report))).toEqual(FIVE.map(() => JSON.stringify(accepted)));
    }
    expect(sent.filter(({ name }) => name === 'reports-of-many')).toHaveLength(1);
  });

  it('fail together where nobody knows what became of them, and each repeats itself', async () => {
    const lost = failure('ECONNRESET', { verdict: 'retry' });
    const { done, report } = bench(({ name }) => (name === 'reports-of-many' ? lost : accepted));
    expect(new Set(await done(FIVE.map(report)))).toEqual(new Set(['retry ECONNRESET']));
  });

  it('end for whoever gives up', async () => {
    const { done, report, reportUntil } = bench((one) => each(one, () => ({ reported: accepted })));
    const stop = new AbortController();
    const mine = reportUntil('a', stop.signal);
    const other = report('b');
    stop.abort();
    expect(await mine).toBe('aborted aborted');
    expect(await done([other])).toEqual([JSON.stringify(accepted)]);
  });

  it('keep output within what a request takes', async () => {
    const { sent, done, together } = bench(({ name, ids }) =>
      name === 'logs-of-many'
        ? { answers: ids.map(() => ({ stored: { nextOffset: 1 } })) }
        : { nextOffset: 1 },
    );
    const chunks = [{ stream: 'stdout', data: 'x'.repeat(349_528) }];
    const answers = [...FIVE, 'f', 'g'].map(
      async (id) => await together('logs', { id, epoch: 1, offset: 0, chunks }),
    );
    expect((await done(answers)).map(({ value }) => value)).toEqual(
      [...FIVE, 'f', 'g'].map(() => ({ nextOffset: 1 })),
    );
    expect(Math.max(...sent.map(({ ids }) => ids.length))).toBe(3);
  });
});
