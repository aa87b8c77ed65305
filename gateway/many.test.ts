import { create } from '@bufbuild/protobuf';
import { NonceSchema } from '@svc/proto/gen/svc/dispatch/v1/dispatch_pb.ts';
import { apiError, type ApiError, type ErrorCode } from '@svc/proto/http/errors.ts';
import { describe, expect, it } from 'vitest';
import { oneByOne, refusalOf } from './many.ts';

const nonce = create(NonceSchema, { keyId: 'key', nonce: 'n' });

/** Calls of which some are refused; says which of them brought the nonce. */
async function run(refusals: Readonly<Record<string, ErrorCode>>, items = ['a', 'b', 'c']) {
  const withNonce: string[] = [];
  const outcomes = oneByOne(items, nonce, async (item, fresh) => {
    if (fresh !== undefined) withNonce.push(item);
    const code = refusals[item];
    return await (code === undefined ? Promise.resolve(item) : Promise.reject(apiError(code, `not ${item}`)));
  });
  const words = (await outcomes).map((one) => (typeof one === 'string' ? one : one.code));
  return { words, withNonce };
}

describe('calls of one request', () => {
  it('have each its own answer, and use the nonce once', async () => {
    expect(await run({})).toEqual({ words: ['a', 'b', 'c'], withNonce: ['a'] });
    expect(await run({ a: 'stale_epoch' })).toEqual({ words: ['stale_epoch', 'b', 'c'], withNonce: ['a'] });
    expect(await run({ b: 'log_gap' })).toEqual({ words: ['a', 'log_gap', 'c'], withNonce: ['a'] });
    expect(await run({ c: 'unavailable' })).toEqual({ words: ['a', 'b', 'unavailable'], withNonce: ['a'] });
  });

  it('hand the nonce on where one was refused before it was looked at', async () => {
    expect(await run({ a: 'validation_failed', b: 'validation_failed' })).toEqual({
      words: ['validation_failed', 'validation_failed', 'c'],
      withNonce: ['a', 'b', 'c'],
    });
  });

  it.each<ErrorCode>(['replayed', 'unavailable', 'runner_revoked'])(
    'are none of them made where the first is answered %s',
    async (code) => {
      const made: string[] = [];
      const calls = oneByOne(['a', 'b'], nonce, async (item) => {
        made.push(item);
        return await Promise.reject(apiError(code, 'no'));
      });
      await expect(calls).rejects.toMatchObject({ code });
      expect(made).toEqual(['a']);
    },
  );

  it('say of a refusal what it would have said alone', () => {
    const refused = apiError('log_gap', 'a gap', { details: { nextOffset: 4 }, retryAfterMs: 7 }) as ApiError;
    expect(refusalOf(refused)).toEqual({
      status: 409,
      code: 'log_gap',
      message: 'a gap',
      retryable: false,
      details: { nextOffset: 4 },
      retryAfterMs: 7,
    });
  });
});
