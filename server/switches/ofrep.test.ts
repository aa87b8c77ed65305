/**
 * This file tests OFREP at a real door, with any features and any caller. The real clients are in
 * ofrep.api.test.ts.
 */
import type { SwitchState } from '@svc/proto/features/definition.ts';
import type { CallContext } from '@svc/proto/http/call.ts';
import { createDoor, type CallRecord, type OpenDoor } from '@svc/proto/http/door.ts';
import { apiError } from '@svc/proto/http/errors.ts';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { ANONYMOUS } from '../access/auth/index.ts';
import type { Caller } from '../kit/context.ts';
import { createOfrep } from './ofrep.ts';
import { resolveFeatures } from './resolve.ts';
import type { Snapshot } from './snapshot.ts';
import { feature } from './testing/feature.ts';

const MANIFEST = [
  feature('open.on'),
  feature('open.off', { default: 'disabled', lifecycle: 'preview' }),
  feature('secret.on', { visibility: 'internal', lifecycle: 'experimental' }),
  feature('secret.off', { visibility: 'internal', default: 'disabled' }),
  feature('open.blocked', { dependsOn: ['secret.off', 'open.off'] }),
];
const resolve = (states: Readonly<Record<string, SwitchState>> = {}): Snapshot =>
  resolveFeatures(MANIFEST, new Map(Object.entries(states)));

const member: Caller = { ...ANONYMOUS, kind: 'api_key', userId: 'user_1', credentialId: 'key_1' };
const staff: Caller = { ...member, staff: true, scopes: new Set(['staff']) };
const callers: Readonly<Record<string, Caller>> = { member, staff, demoted: { ...staff, scopes: new Set() } };

let snapshot = resolve();
let admitted: CallContext | undefined;
let refuse: Error | undefined;
const records: CallRecord[] = [];
let door: OpenDoor;

beforeAll(async () => {
  const pages = createOfrep({
    snapshot: () => snapshot,
    admit: (call) => {
      admitted = call;
      call.responseHeaders.set('ratelimit', '"default";r=1;t=1');
      if (refuse !== undefined) throw refuse;
      return callers[call.header('authorization') ?? ''] ?? ANONYMOUS;
    },
  });
  const log = { error: () => undefined, warn: () => undefined };
  const created = createDoor({ apps: [], pages, log, onCall: (record) => void records.push(record) });
  door = await created.listen({ port: 0, host: '127.0.0.1' });
});
beforeEach(() => {
  snapshot = resolve();
  refuse = undefined;
  records.length = 0;
});
afterAll(async () => await door.close(0));

interface Options {
  readonly as?: string;
  readonly body?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

async function ask(path: string, { as, body = '{"context":{}}', headers = {} }: Options = {}) {
  const response = await fetch(`http://127.0.0.1:${door.port}/ofrep/v1/evaluate/flags${path}`, {
    method: 'POST',
    body,
    headers: {
      'content-type': 'application/json',
      ...(as === undefined ? {} : { authorization: as }),
      ...headers,
    },
  });
  const text = await response.text();
  return {
    status: response.status,
    headers: response.headers,
    text,
    json: (text === '' ? undefined : JSON.parse(text)) as Record<string, unknown> | undefined,
  };
}

const on = { value: true, reason: 'STATIC', variant: 'enabled' };
const off = { value: false, reason: 'DISABLED', variant: 'disabled' };

describe('POST /ofrep/v1/evaluate/flags', () => {
  it('shows everybody what is enabled and public, without a word more', async () => {
    for (const as of [undefined, 'member', 'demoted']) {
      const { status, headers, json } = await ask('', as === undefined ? {} : { as });
      expect([status, headers.get('content-type')]).toEqual([200, 'application/json; charset=utf-8']);
      expect(json).toEqual({ flags: [{ key: 'open.on', ...on }] });
    }
  });

  it('shows staff every feature with its value and why', async () => {
    const { json } = await ask('', { as: 'staff' });
    const why = (featureReason: string, lifecycle: string, visibility: string) => ({
      metadata: { featureReason, lifecycle, visibility },
    });
    const blocked = {
      ...why('dependency_disabled', 'ga', 'public').metadata,
      blockedBy: 'open.off,secret.off',
    };
    expect(json).toEqual({
      flags: [
        { key: 'open.on', ...on, ...why('enabled', 'ga', 'public') },
        { key: 'open.off', ...off, ...why('disabled', 'preview', 'public') },
        { key: 'secret.on', ...on, ...why('enabled', 'experimental', 'internal') },
        { key: 'secret.off', ...off, ...why('disabled', 'ga', 'internal') },
        { key: 'open.blocked', ...off, metadata: blocked },
      ],
    });
  });

  it('answers 304 to whoever has the very body already', async () => {
    const first = await ask('');
    const etag = first.headers.get('etag') ?? '';
    expect(etag).toMatch(/^"[\w-]{22}"$/);
    for (const known of [etag, `W/${etag}`, `"other", ${etag}`, '*']) {
      const again = await ask('', { headers: { 'if-none-match': known } });
      expect([known, again.status, again.text, again.headers.get('etag')]).toEqual([known, 304, '', etag]);
    }
    expect((await ask('', { headers: { 'if-none-match': '"other"' } })).status).toBe(200);
    expect((await ask('', { as: 'staff', headers: { 'if-none-match': etag } })).status).toBe(200);
  });

  it('keeps the tag of everybody while only something internal changes', async () => {
    const before = [await ask(''), await ask('', { as: 'staff' })].map(({ headers }) => headers.get('etag'));
    snapshot = resolve({ 'secret.on': 'disabled' });
    const after = [await ask(''), await ask('', { as: 'staff' })].map(({ headers }) => headers.get('etag'));
    expect(after[0]).toBe(before[0]);
    expect(after[1]).not.toBe(before[1]);
    snapshot = resolve({ 'open.on': 'disabled' });
    const { json, headers } = await ask('');
    expect(json).toEqual({ flags: [] });
    expect(headers.get('etag')).not.toBe(before[0]);
  });

  it('may be kept by nobody for another caller', async () => {
    expect((await ask('')).headers.get('cache-control')).toBe('no-cache');
    const { headers } = await ask('', { as: 'member' });
    expect([headers.get('cache-control'), headers.get('vary')]).toEqual([
      'private, no-cache',
      'authorization, cookie',
    ]);
  });
});

describe('POST /ofrep/v1/evaluate/flags/{key}', () => {
  it('evaluates one flag, and sees a change at once', async () => {
    expect((await ask('/open.on')).json).toEqual({ key: 'open.on', ...on });
    expect((await ask('/secret.off', { as: 'staff' })).json).toMatchObject({ key: 'secret.off', ...off });
    snapshot = resolve({ 'open.on': 'disabled' });
    expect((await ask('/open.on')).status).toBe(404);
    expect((await ask('/open.on', { as: 'staff' })).json).toMatchObject({ value: false, reason: 'DISABLED' });
  });

  it('tells nobody whether a flag that they may not see exists', async () => {
    const shape = async (key: string) => {
      const { status, headers, text } = await ask(`/${key}`, { as: 'member' });
      const names = Object.fromEntries(headers);
      delete names['date'];
      delete names['x-request-id'];
      delete names['content-length'];
      return { status, headers: names, text: text.replaceAll(key, 'KEY') };
    };
    const unknown = await shape('no.such');
    expect(unknown.status).toBe(404);
    expect(JSON.parse(unknown.text)).toEqual({
      key: 'KEY',
      errorCode: 'FLAG_NOT_FOUND',
      errorDetails: 'there is no flag "KEY" for this caller',
    });
    for (const key of ['open.off', 'secret.on', 'secret.off', 'open.blocked', '__proto__', 'constructor'])
      expect(await shape(key)).toEqual(unknown);
    expect((await ask('/no.such', { as: 'staff' })).json).toMatchObject({ errorCode: 'FLAG_NOT_FOUND' });
  });

  it('names the flag that was asked for, whatever it is called', async () => {
    expect((await ask('/a%2Fb%20%22c')).json).toMatchObject({ key: 'a/b "c', errorCode: 'FLAG_NOT_FOUND' });
  });
});

describe('a request that is refused', () => {
  it.each([
    ['{', 'PARSE_ERROR'],
    ['[]', 'PARSE_ERROR'],
    ['null', 'PARSE_ERROR'],
    ['"x"', 'PARSE_ERROR'],
    ['{"context":[]}', 'INVALID_CONTEXT'],
    ['{"context":null}', 'INVALID_CONTEXT'],
    ['{"context":"x"}', 'INVALID_CONTEXT'],
  ])('for its body %s is %s', async (body, errorCode) => {
    const one = await ask('/open.on', { body });
    expect([one.status, one.json?.['errorCode'], one.json?.['key']]).toEqual([400, errorCode, 'open.on']);
    const all = await ask('', { body });
    expect([all.status, all.json?.['errorCode'], all.json?.['key']]).toEqual([400, errorCode, undefined]);
  });

  it('is none for no body, no context, or anything that a context holds', async () => {
    for (const body of ['', '{}', '{"context":{"targetingKey":"u","deep":{"a":[1]}},"more":1}'])
      expect([body, (await ask('', { body })).status]).toEqual([body, 200]);
  });

  it('is told in the shape of OFREP, with the headers of every refusal, and counted', async () => {
    refuse = apiError('rate_limited', 'too many calls', { retryAfterMs: 2_500 });
    const limited = await ask('/open.on');
    expect([limited.status, limited.headers.get('retry-after'), limited.headers.get('ratelimit')]).toEqual([
      429,
      '3',
      '"default";r=1;t=1',
    ]);
    expect(limited.json).toEqual({
      key: 'open.on',
      errorCode: 'GENERAL',
      errorDetails: 'too many calls (rate_limited)',
    });
    refuse = apiError('credentials_invalid', 'no');
    const unknown = await ask('');
    expect([unknown.status, unknown.headers.get('www-authenticate')]).toEqual([401, 'Bearer']);
    refuse = new Error('secret');
    const broken = await ask('/open.on');
    expect([broken.status, broken.json?.['errorCode']]).toEqual([500, 'GENERAL']);
    expect(broken.text).not.toContain('secret');
    expect(records.map(({ status, code }) => [status, code])).toEqual([
      [429, 'rate_limited'],
      [401, 'credentials_invalid'],
      [500, 'internal'],
    ]);
  });

  it('for its size or its kind is refused as everywhere', async () => {
    const large = await ask('', { body: `{"context":{"x":"${'x'.repeat(70_000)}"}}` });
    expect([large.status, large.json?.['errorCode']]).toEqual([413, 'GENERAL']);
    const text = await ask('', { headers: { 'content-type': 'text/plain' } });
    expect([text.status, text.json?.['errorDetails']]).toEqual([
      415,
      'a body must have the content-type application/json, got "text/plain" (unsupported_media_type)',
    ]);
    const url = `http://127.0.0.1:${door.port}/ofrep/v1/evaluate/flags/open.on`;
    const got = await fetch(url);
    expect([got.status, got.headers.get('allow')]).toEqual([405, 'POST']);
  });

  it('passes the admission of the resolver, before its body is read', async () => {
    refuse = apiError('credentials_invalid', 'no');
    expect((await ask('', { body: '{' })).status).toBe(401);
    expect(admitted).toMatchObject({ protocol: 'rest', remoteAddress: '127.0.0.1' });
    expect(admitted?.rpc).toMatchObject({ auth: 'optional', rateLimit: 'default' });
    expect(admitted?.requestId).toMatch(/^req_/);
  });
});
