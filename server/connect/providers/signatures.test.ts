import { createHmac, createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import type { CiProvider } from './words.ts';
import { PROVIDERS } from './known.ts';
import type { Delivery, Headers } from './types.ts';

const NOW = new Date('2022-07-15T18:47:30Z');
const SECRET = "It's a Secret to Everybody";
const hex = (key: string | Buffer, text: string) => createHmac('sha256', key).update(text).digest('hex');
const base64 = (key: string | Buffer, text: string) =>
  createHmac('sha256', key).update(text).digest('base64');
const bytes = (text: string) => Buffer.from(text);

interface Sent extends Partial<Delivery> {
  readonly body: string;
}

const verify = (provider: CiProvider, headers: Headers, { body, ...more }: Sent) =>
  PROVIDERS[provider].verify({ secrets: [SECRET], headers, rawBody: bytes(body), now: NOW, ...more });

describe('vectors of the providers', () => {
  it.each<[CiProvider, string, string, string, string]>([
    [
      'github',
      'X-Hub-Signature-256',
      'sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17',
      SECRET,
      'Hello, World!',
    ],
    [
      'bitbucket',
      'X-Hub-Signature',
      'sha256=a4771c39fbe90f317c7824e83ddef3caae9cb3d976c214ace1f2937e133263c9',
      SECRET,
      'Hello World!',
    ],
    [
      'circleci',
      'circleci-signature',
      'v1=734cc62f32841568f45715aeb9f4d7891324e6d948e4c6c60c0621cdac48623a,v2=1',
      'secret',
      'hello world',
    ],
    [
      'circleci',
      'circleci-signature',
      'v1=773ba44693c7553d6ee20f61ea5d2757a9a4f4a44d2841ae4e95b52e4cd62db4',
      'secret',
      'foo',
    ],
  ])('%s %s %s', (provider, name, value, secret, body) => {
    const headers = { [name.toLowerCase()]: value };
    expect(verify(provider, headers, { body, secrets: [secret] })).toEqual({ ok: true });
    expect(verify(provider, headers, { body, secrets: ['new', secret] })).toEqual({ ok: true });
    expect(verify(provider, headers, { body: `${body} `, secrets: [secret] }).ok).toBe(false);
    expect(verify(provider, headers, { body, secrets: ['other'] }).ok).toBe(false);
    expect(verify(provider, { [name]: [value, value] }, { body, secrets: [secret] }).ok).toBe(false);
    expect(verify(provider, { [name]: value.slice(0, 40) }, { body, secrets: [secret] }).ok).toBe(false);
  });

  it('drone: the key, date and digest of its own example', () => {
    const text =
      'date: Fri, 15 Jul 2022 18:47:25 GMT\ndigest: SHA-256=wyFE2yWKPBpOLHuIVBHf4oD21wY4yINZZzoyR9jB6xo=';
    expect(base64('a34999ae0599f579eca8582058b46eee', text)).toBe(
      'ObOcdsOSyYMy+0DDlg6X1naqPYY0qe59OrHmjv6Hav0=',
    );
  });
});

describe('drone', () => {
  const key = 'a34999ae0599f579eca8582058b46eee';
  const signed = (body: string, date = 'Fri, 15 Jul 2022 18:47:25 GMT', covered = 'date digest') => {
    const digest = `SHA-256=${createHash('sha256').update(body).digest('base64')}`;
    const text = covered
      .split(' ')
      .map((name) => `${name}: ${name === 'date' ? date : digest}`)
      .join('\n');
    return {
      Date: date,
      Digest: digest,
      Signature: `keyId="hmac-key",algorithm="hmac-sha256",signature="${base64(key, text)}",headers="${covered}"`,
    };
  };
  const check = (headers: Headers, body = '{}') => verify('drone', headers, { body, secrets: [key] });

  it('takes what was signed', () => expect(check(signed('{}'))).toEqual({ ok: true }));
  it('refuses another body under the signed digest', () => {
    expect(check(signed('{}'), '{"a":1}')).toMatchObject({ refused: 'Digest is not that of the body' });
  });
  it('refuses another digest than the signed one', () => {
    expect(check({ ...signed('{}'), Digest: signed('{"a":1}').Digest }, '{"a":1}').ok).toBe(false);
  });
  it.each(['date', 'digest', 'date date'])('refuses a signature of %s alone', (covered) => {
    expect(check(signed('{}', undefined, covered)).ok).toBe(false);
  });
  it('refuses old dates, dates to come and no date', () => {
    for (const date of ['Fri, 15 Jul 2022 18:40:00 GMT', 'Fri, 15 Jul 2022 18:55:00 GMT', 'soon'])
      expect(check(signed('{}', date))).toMatchObject({ refused: 'Date is not within 5 minutes' });
  });
  it('refuses parameters given twice', () => {
    const headers = signed('{}');
    expect(check({ ...headers, Signature: `${headers.Signature},headers="date digest"` }).ok).toBe(false);
  });
});

describe.each<CiProvider>(['gitlab', 'generic'])('Standard Webhooks of %s', (provider) => {
  const key = Buffer.alloc(32, 7);
  const secrets = [`whsec_${key.toString('base64')}`];
  const seconds = String(NOW.getTime() / 1_000);
  const headersOf = (body: string, timestamp = seconds, id = 'msg_1') => ({
    'webhook-id': id,
    'webhook-timestamp': timestamp,
    'webhook-signature': `v1a,x v1,${base64(key, `${id}.${timestamp}.${body}`)}`,
  });

  it('takes what was signed, with either secret', () => {
    expect(verify(provider, headersOf('{}'), { body: '{}', secrets })).toEqual({ ok: true });
    const both = [`whsec_${Buffer.alloc(32, 9).toString('base64')}`, ...secrets];
    expect(verify(provider, headersOf('{}'), { body: '{}', secrets: both })).toEqual({ ok: true });
  });
  it('refuses another body, id or time', () => {
    expect(verify(provider, headersOf('{}'), { body: '[]', secrets }).ok).toBe(false);
    expect(verify(provider, { ...headersOf('{}'), 'webhook-id': 'msg_2' }, { body: '{}', secrets }).ok).toBe(
      false,
    );
    const old = headersOf('{}', String(Number(seconds) - 301));
    expect(verify(provider, old, { body: '{}', secrets })).toMatchObject({
      refused: 'webhook-timestamp is not within 5 minutes',
    });
  });
  it('does not take the secret itself for a signature', () => {
    expect(verify(provider, { 'X-Gitlab-Token': secrets[0] }, { body: '{}', secrets }).ok).toBe(false);
  });
});

describe('what is signed is decided by the connection', () => {
  it('GitHub: SHA-1 is not looked at', () => {
    const sha1 = createHmac('sha1', SECRET).update('{}').digest('hex');
    expect(verify('github', { 'X-Hub-Signature': `sha1=${sha1}` }, { body: '{}' })).toMatchObject({
      refused: 'no X-Hub-Signature-256',
    });
    expect(verify('github', { 'X-Hub-Signature-256': `sha1=${sha1}` }, { body: '{}' }).ok).toBe(false);
    expect(verify('bitbucket', { 'X-Hub-Signature': `sha1=${sha1}` }, { body: '{}' }).ok).toBe(false);
  });

  it('Buildkite: a token does not stand in for a signature, except where it was chosen', () => {
    const token = { 'X-Buildkite-Token': SECRET };
    expect(verify('buildkite', token, { body: '{}' }).ok).toBe(false);
    expect(verify('buildkite', token, { body: '{}', scheme: 'token' })).toEqual({ ok: true });
    const seconds = NOW.getTime() / 1_000;
    const signature = (at: number) => ({
      'X-Buildkite-Signature': `timestamp=${at},signature=${hex(SECRET, `${at}.{}`)}`,
    });
    expect(verify('buildkite', signature(seconds), { body: '{}' })).toEqual({ ok: true });
    expect(verify('buildkite', signature(seconds), { body: '[]' }).ok).toBe(false);
    expect(verify('buildkite', signature(seconds - 400), { body: '{}' })).toMatchObject({
      refused: 'its timestamp is not within 5 minutes',
    });
    expect(verify('buildkite', signature(seconds), { body: '{}', scheme: 'token' }).ok).toBe(false);
  });

  it('GitLab: a classic secret is compared as a token', () => {
    const scheme = 'token';
    expect(verify('gitlab', { 'x-gitlab-token': SECRET }, { body: '{}', scheme })).toEqual({ ok: true });
    expect(verify('gitlab', { 'x-gitlab-token': `${SECRET}!` }, { body: '{}', scheme }).ok).toBe(false);
    expect(verify('gitlab', {}, { body: '{}', scheme }).ok).toBe(false);
    expect(verify('gitlab', { 'x-gitlab-token': SECRET }, { body: '{}' }).ok).toBe(false);
    const secrets = [`whsec_${Buffer.alloc(32, 7).toString('base64')}`];
    expect(verify('gitlab', { 'x-gitlab-token': secrets[0] }, { body: '{}', scheme, secrets }).ok).toBe(
      false,
    );
  });

  it('Azure: the whole of the Basic credentials', () => {
    const basic = (text: string) => ({ Authorization: `Basic ${bytes(text).toString('base64')}` });
    expect(verify('azure', basic(`svc:${SECRET}`), { body: '{}' })).toEqual({ ok: true });
    expect(verify('azure', basic(`ann:${SECRET}`), { body: '{}' }).ok).toBe(false);
    expect(verify('azure', basic('ann:pw'), { body: '{}', secrets: ['ann:pw'] })).toEqual({ ok: true });
    expect(verify('azure', { 'X-Svc-Webhook-Token': SECRET }, { body: '{}' }).ok).toBe(false);
    expect(verify('azure', { 'X-Svc-Webhook-Token': SECRET }, { body: '{}', scheme: 'token' }).ok).toBe(true);
    expect(verify('azure', basic(`svc:${SECRET}`), { body: '{}', scheme: 'token' })).toEqual({ ok: true });
    expect(
      verify(
        'azure',
        { 'X-Svc-Webhook-Token': 'no', ...basic(`svc:${SECRET}`) },
        { body: '{}', scheme: 'token' },
      ).ok,
    ).toBe(false);
  });

  it('Jenkins: the token of the address or of the header', () => {
    expect(verify('jenkins', {}, { body: '{}', urlToken: SECRET })).toEqual({ ok: true });
    expect(verify('jenkins', { 'X-Svc-Webhook-Token': 'no' }, { body: '{}', urlToken: SECRET }).ok).toBe(
      false,
    );
    expect(verify('jenkins', {}, { body: '{}' }).ok).toBe(false);
  });

  it.each(Object.keys(PROVIDERS) as CiProvider[])(
    '%s: nobody comes in where no secret is set',
    (provider) => {
      const seconds = String(NOW.getTime() / 1_000);
      const empty = {
        'X-Hub-Signature-256': `sha256=${hex('', '{}')}`,
        'X-Hub-Signature': `sha256=${hex('', '{}')}`,
        'circleci-signature': `v1=${hex('', '{}')}`,
        'X-Gitlab-Token': '',
        'X-Svc-Webhook-Token': '',
        'X-Buildkite-Token': '',
        'X-Buildkite-Signature': `timestamp=${seconds},signature=${hex('', `${seconds}.{}`)}`,
        Authorization: `Basic ${bytes('svc:').toString('base64')}`,
        'webhook-id': '1',
        'webhook-timestamp': seconds,
        'webhook-signature': `v1,${base64('', `1.${seconds}.{}`)}`,
      };
      for (const secrets of [[], [''], [' ', ''], ['whsec_']])
        for (const scheme of ['signature', 'token'] as const)
          expect(verify(provider, empty, { body: '{}', secrets, scheme, urlToken: '' }).ok).toBe(false);
    },
  );
});

describe('deliveryId()', () => {
  const raw = bytes('{"id":"a"}');
  const digest = 'sha256:';
  it.each<[CiProvider, Headers, string]>([
    ['github', { 'x-github-delivery': 'd1' }, 'd1'],
    ['gitlab', { 'X-Gitlab-Event-UUID': 'no', 'Idempotency-Key': 'd2' }, 'd2'],
    ['gitlab', { 'webhook-id': 'd3', 'Idempotency-Key': 'd2' }, 'd3'],
    ['bitbucket', { 'X-Request-UUID': 'd4' }, 'd4'],
    ['circleci', {}, 'a'],
    ['azure', {}, 'a'],
    ['generic', { 'webhook-id': 'd5' }, 'd5'],
    ['buildkite', {}, digest],
    ['drone', {}, digest],
    ['jenkins', {}, digest],
    ['github', { 'x-github-delivery': 'x'.repeat(300) }, digest],
  ])('%s', (provider, headers, expected) => {
    const payload = (): unknown => JSON.parse(raw.toString());
    const id = PROVIDERS[provider].deliveryId(headers, raw, payload);
    expect(id.startsWith('sha256:') ? id.slice(0, 7) : id).toBe(expected);
    expect(PROVIDERS[provider].deliveryId(headers, raw, payload)).toBe(id);
  });
});
