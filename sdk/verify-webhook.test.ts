import { createHmac } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { IncomingHttpHeaders } from 'node:http';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { SvcWebhookError, verifyWebhook, type WebhookHeaders } from './index.ts';
import { WEBHOOK_EVENT_TYPES } from './webhook-event.ts';

const SECRET = `whsec_${Buffer.from('0123456789abcdef0123456789abcdef').toString('base64')}`;
const OTHER = `whsec_${Buffer.from('fedcba9876543210fedcba9876543210').toString('base64')}`;
const NOW_S = 1_800_000_000;
const EVENT = {
  type: 'run.finished',
  timestamp: '2027-01-15T08:00:00.000Z',
  data: { teamId: 'team_1', name: 'größer' },
};
const BODY = JSON.stringify(EVENT);

function sign(body: string, { secret = SECRET, id = 'msg_1', timestamp = String(NOW_S) } = {}): string {
  const key = Buffer.from(secret.slice('whsec_'.length), 'base64');
  return `v1,${createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64')}`;
}

function headers(more: Record<string, string> = {}): Record<string, string> {
  return {
    'content-type': 'application/json',
    'webhook-id': 'msg_1',
    'webhook-timestamp': String(NOW_S),
    'webhook-signature': sign(BODY),
    ...more,
  };
}

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['Date'], now: NOW_S * 1_000 });
});
afterEach(() => {
  vi.useRealTimers();
});

async function refusal(body: string, given: WebhookHeaders, secret = SECRET): Promise<string> {
  const error: unknown = await verifyWebhook(body, given, secret).catch((reason: unknown) => reason);
  expect(error).toBeInstanceOf(SvcWebhookError);
  return error instanceof SvcWebhookError ? `${error.code}: ${error.message}` : '';
}

describe('verifyWebhook() gives the event', () => {
  const upper = Object.fromEntries(
    Object.entries(headers()).map(([name, value]) => [name.toUpperCase(), value]),
  );
  const node: IncomingHttpHeaders = headers();
  it.each<[string, string | Uint8Array | ArrayBuffer, WebhookHeaders]>([
    ['of a text and a record', BODY, headers()],
    ['of a text and Headers', BODY, new Headers(headers())],
    ['of bytes and headers of Node', Buffer.from(BODY), node],
    ['of an ArrayBuffer and names in another case', new TextEncoder().encode(BODY).buffer, upper],
    ['of values in lists', BODY, Object.fromEntries(Object.entries(headers()).map(([k, v]) => [k, [v]]))],
  ])('%s', async (_name, body, given) => {
    expect(await verifyWebhook(body, given, SECRET)).toEqual({ id: 'msg_1', ...EVENT });
  });

  it('by the old and by the new secret while it carries the signatures of both', async () => {
    const both = headers({
      'webhook-signature': `v1a,x ${sign(BODY, { secret: OTHER })} v1,!! ${sign(BODY)}`,
    });
    for (const secret of [SECRET, OTHER])
      expect(await verifyWebhook(BODY, both, secret)).toMatchObject({ type: 'run.finished' });
  });

  it('of the vector that the rules of Standard Webhooks publish', async () => {
    vi.setSystemTime(1_614_265_330_000);
    const body = '{"test": 2432232314}';
    const given = {
      'webhook-id': 'msg_p5jXN8AQM9LWM0D4loKWxJek',
      'webhook-timestamp': '1614265330',
      'webhook-signature': 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
    };
    // Its body is no event of the service; that is said only of what is signed well.
    expect(await refusal(body, given, 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw')).toMatch(/^body_invalid/);
  });

  it.each([-299, 300])('sent %i seconds from now', async (off) => {
    const timestamp = String(NOW_S + off);
    const given = headers({ 'webhook-timestamp': timestamp, 'webhook-signature': sign(BODY, { timestamp }) });
    expect(await verifyWebhook(BODY, given, SECRET)).toMatchObject({ id: 'msg_1' });
  });
});

describe('verifyWebhook() refuses', () => {
  it.each(['webhook-id', 'webhook-timestamp', 'webhook-signature'])('a request without %s', async (name) => {
    const given: WebhookHeaders = { ...headers(), [name]: undefined };
    expect(await refusal(BODY, given)).toBe(`header_missing: the request has no header ${name}`);
    expect(await refusal(BODY, headers({ [name]: '' }))).toMatch(/^header_missing/);
  });

  it.each([
    ['another body', BODY.replace('team_1', 'team_2'), {}],
    ['another id', BODY, { 'webhook-id': 'msg_2' }],
    ['another time', BODY, { 'webhook-timestamp': String(NOW_S + 1) }],
    ['another version', BODY, { 'webhook-signature': sign(BODY).replace('v1,', 'v2,') }],
    ['half of a signature', BODY, { 'webhook-signature': sign(BODY).slice(0, 20) }],
    ['no base64', BODY, { 'webhook-signature': 'v1,\u00fc\u00fc' }],
    ['an empty signature', BODY, { 'webhook-signature': 'v1,' }],
    [
      'a good signature behind ten others',
      BODY,
      { 'webhook-signature': `${'v1,AA== '.repeat(10)}${sign(BODY)}` },
    ],
  ])('%s', async (_name, body, more) => {
    expect(await refusal(body, headers(more))).toMatch(/^signature_invalid: no v1 signature/);
  });

  it('what another secret signed, without showing either', async () => {
    const message = await refusal(BODY, headers(), OTHER);
    expect(message).toMatch(/^signature_invalid/);
    expect(message).not.toContain(OTHER.slice(6, 12));
  });

  it.each([
    ['-301', String(NOW_S - 301), '301000 ms from now'],
    ['+301', String(NOW_S + 301), '301000 ms from now'],
    ['in milliseconds', String(NOW_S * 1_000), 'not a time in seconds'],
    ['words', 'now', 'not a time in seconds'],
    ['twice', `${NOW_S}, ${NOW_S}`, 'not a time in seconds'],
  ])('a time that is %s', async (_name, timestamp, says) => {
    const given = headers({ 'webhook-timestamp': timestamp, 'webhook-signature': sign(BODY, { timestamp }) });
    const message = await refusal(BODY, given);
    expect(message).toMatch(/^timestamp_out_of_range/);
    expect(message).toContain(`${says}, expected at most 300000 ms from now`);
  });

  it.each(['no JSON', '[]', '{}', '{"type":"a","timestamp":"b","data":[]}'])(
    'the signed body %j',
    async (body) => {
      expect(await refusal(body, headers({ 'webhook-signature': sign(body) }))).toMatch(/^body_invalid/);
    },
  );

  it.each(['', 'whsec_', 'whsec_ü', SECRET.slice(6), undefined])('the secret %j', async (secret) => {
    const call = verifyWebhook(BODY, headers(), secret as string);
    await expect(call).rejects.toThrow(
      'the secret of the webhook is not one of the service, expected whsec_…',
    );
    await expect(call).rejects.toBeInstanceOf(TypeError);
  });

  it('a body that was parsed', async () => {
    const call = verifyWebhook(EVENT as never, headers(), SECRET);
    await expect(call).rejects.toThrow('is object, expected the raw text or bytes as they came');
  });
});

it('knows every event that the reference page says endpoints are sent', () => {
  const page = readFileSync(join(import.meta.dirname, '..', 'docs', 'reference', 'events.md'), 'utf8');
  const sent = [...page.matchAll(/^\| `([^`]+)` \|[^|]*\|[^|]*\bwebhook\b[^|]*\|/gm)].map(([, name]) => name);
  expect(sent.length).toBeGreaterThan(10);
  expect(new Set(WEBHOOK_EVENT_TYPES)).toEqual(new Set([...sent, 'webhook.test']));
});
