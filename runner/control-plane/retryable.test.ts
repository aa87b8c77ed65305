import { describe, expect, it } from 'vitest';
import { refusal } from '../../test/setup/runner/fake-control-plane.ts';
import { TransportError } from './http-client.ts';
import { judgeReply, judgeTransport, retryAfter } from './retryable.ts';

function judge(status: number, body: string | object, headers: Record<string, string> = {}) {
  const judged = judgeReply({
    status,
    headers,
    body: Buffer.from(typeof body === 'string' ? body : JSON.stringify(body)),
  });
  return 'failure' in judged ? judged.failure : judged.value;
}
const error = (code: string, details?: object) => refusal(400, code, { details }).body;

describe('judging a reply', () => {
  it('hands over the object of a success', () => {
    expect(judge(200, { run: {} })).toEqual({ run: {} });
    expect(judge(201, {})).toEqual({});
  });

  it('2.10 tries again whenever something in between answered, whatever the status', () => {
    for (const status of [200, 301, 302, 400, 401, 403, 404, 409, 500, 502]) {
      expect(judge(status, '<html>x</html>'), String(status)).toMatchObject({
        verdict: 'retry',
        code: 'foreign_reply',
      });
    }
    for (const body of ['', '[]', '"x"', 'null', '{"run":'])
      expect(judge(200, body), body).toMatchObject({ verdict: 'retry' });
    expect(judge(401, { message: 'Unauthorized' })).toMatchObject({
      verdict: 'retry',
      code: 'foreign_reply',
    });
  });

  it('2.10 tries again what passes by itself', () => {
    for (const status of [408, 421, 425, 429, 500, 502, 503, 504, 599]) {
      expect(judge(status, error('some_code')), String(status)).toMatchObject({ verdict: 'retry' });
    }
  });

  it("takes the control plane's own refusals as final", () => {
    expect(judge(409, error('stale_epoch'))).toMatchObject({
      verdict: 'refused',
      code: 'stale_epoch',
      requestId: 'req_1',
    });
    expect(judge(400, error('validation_failed'))).toMatchObject({ verdict: 'refused' });
    expect(judge(409, error('log_gap', { nextOffset: 7 }))).toMatchObject({
      verdict: 'refused',
      details: { nextOffset: 7 },
    });
  });

  it('2.8 never confuses a wrong clock, an unknown key or a bad signature with a revocation', () => {
    expect(judge(401, error('runner_revoked'))).toMatchObject({ verdict: 'revoked' });
    expect(judge(401, error('clock_skew'))).toMatchObject({ verdict: 'skew' });
    for (const code of ['key_unknown', 'signature_invalid', 'signature_missing', 'replayed']) {
      expect(judge(401, error(code)), code).toMatchObject({ verdict: 'retry' });
    }
    expect(judge(409, error('boot_superseded'))).toMatchObject({ verdict: 'boot_superseded' });
  });

  it('tries again when runners are switched off', () => {
    expect(judge(404, error('not_found'))).toMatchObject({ verdict: 'retry' });
    expect(judge(403, error('feature_disabled'))).toMatchObject({ verdict: 'retry' });
  });

  it('knows the answer of a control plane that serves no runners, and takes no other 404 for it', () => {
    const unknown = (status: number, code: string, message: string) =>
      judge(status, refusal(status, code, { message }).body);
    expect(unknown(404, 'not_found', 'there is nothing here')).toMatchObject({
      verdict: 'retry',
      unserved: true,
    });
    for (const other of [
      unknown(404, 'not_found', 'runner "rnr_1" does not exist'),
      unknown(404, 'feature_unknown', 'there is nothing here'),
      unknown(403, 'feature_disabled', 'there is nothing here'),
      unknown(503, 'not_found', 'there is nothing here'),
      judge(404, 'there is nothing here'),
      judge(404, { message: 'there is nothing here' }),
    ])
      expect(other).not.toHaveProperty('unserved');
  });

  it('reads Retry-After in both forms', () => {
    expect(retryAfter('7')).toBe(7_000);
    expect(retryAfter('Thu, 01 Jan 1970 00:01:00 GMT', 30_000)).toBe(30_000);
    expect(retryAfter('Thu, 01 Jan 1970 00:00:00 GMT', 30_000)).toBe(0);
    expect(retryAfter('soon')).toBeUndefined();
    expect(judge(429, error('rate_limited'), { 'retry-after': '2' })).toMatchObject({ retryAfterMs: 2_000 });
  });

  it('shows neither passwords nor tokens of a foreign page', () => {
    const failure = judge(502, 'proxy http://user:hunter2@proxy:3128 said no to enr_abcdefgh') as {
      message: string;
    };
    expect(failure.message).not.toContain('hunter2');
    expect(failure.message).not.toContain('abcdefgh');
  });
});

describe('judging no reply', () => {
  it('tries again, unless we ended it ourselves', () => {
    expect(judgeTransport(new TransportError('ECONNRESET', 'reset'))).toMatchObject({
      verdict: 'retry',
      code: 'ECONNRESET',
    });
    expect(judgeTransport(new TransportError('timeout', 'no reply within 5 ms'))).toMatchObject({
      verdict: 'retry',
    });
    expect(judgeTransport(new TransportError('aborted', 'aborted'))).toMatchObject({ verdict: 'aborted' });
    expect(judgeTransport(new Error('odd'))).toMatchObject({ verdict: 'retry' });
  });
});
