import { createHash, generateKeyPairSync, sign, type KeyObject } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { apiError, useFakeApi, useFolder } from '../testing/fake-api.ts';
import { ends, svc } from '../testing/session.ts';
import { paeOf } from './envelope.ts';

const PROVENANCE = 'https://slsa.dev/provenance/v1';
const PAYLOAD_TYPE = 'application/vnd.in-toto+json';

interface Pair {
  readonly privateKey: KeyObject;
  readonly publicKey: KeyObject;
  readonly hint: string;
  readonly pem: string;
}

function pair(): Pair {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const der = publicKey.export({ format: 'der', type: 'spki' });
  const hint = createHash('sha256').update(der).digest('base64');
  return { privateKey, publicKey, hint, pem: String(publicKey.export({ format: 'pem', type: 'spki' })) };
}

const [builds, platform, stranger] = [pair(), pair(), pair()];
const bytes = Buffer.from('what was built');
const digest = `sha256:${createHash('sha256').update(bytes).digest('hex')}`;
const other = `sha256:${'2'.repeat(64)}`;

const api = await useFakeApi();
const folder = useFolder('verify');

function file(name: string, content: string | Uint8Array): string {
  const path = join(folder, name);
  writeFileSync(path, content);
  return path;
}

/** An answer of `/signing-keys`, where each key may be told otherwise. */
const listed = (more: object = {}) => ({
  keys: [
    {
      id: 'sgk_1',
      purpose: 'build_service',
      state: 'active',
      hint: builds.hint,
      publicKey: builds.pem,
      ...more,
    },
    { id: 'sgk_2', purpose: 'platform', state: 'retired', hint: platform.hint, publicKey: platform.pem },
  ],
});

interface Making {
  readonly by?: Pair;
  readonly hint?: string;
  readonly type?: string;
  readonly predicateType?: string;
  readonly payloadType?: string;
  readonly payload?: string;
}

const FINISHED = '2026-11-20T08:00:00.000Z';
const statement = ({ type = 'https://in-toto.io/Statement/v1', predicateType = PROVENANCE }: Making = {}) =>
  JSON.stringify({
    _type: type,
    subject: [{ name: 'web.tgz', digest: { sha256: digest.slice('sha256:'.length) } }],
    predicateType,
    // Two bytes of base64 that differ in base64url.
    predicate: { note: '~~~???', runDetails: { metadata: { finishedOn: FINISHED } } },
  });

function envelope(making: Making = {}) {
  const { by = builds, payloadType = PAYLOAD_TYPE, payload = statement(making) } = making;
  const sig = sign('sha256', paeOf(payloadType, Buffer.from(payload)), by.privateKey).toString('base64');
  return { payload: Buffer.from(payload).toString('base64'), payloadType, signatures: [{ sig }] };
}

const bundle = (making: Making = {}) => ({
  mediaType: 'application/vnd.dev.sigstore.bundle.v0.3+json',
  verificationMaterial: { publicKey: { hint: making.hint ?? (making.by ?? builds).hint }, tlogEntries: [] },
  dsseEnvelope: envelope(making),
});

interface Answer {
  readonly ok: boolean;
  readonly checks: readonly { readonly check: string; readonly ok: boolean; readonly detail: string }[];
  readonly keyId?: string;
}

interface Asking {
  readonly of?: string;
  readonly keys?: unknown;
}

/** It is offline, as there is no server at the address. */
async function verify(signed: unknown, { of = digest, keys = listed() }: Asking = {}) {
  const text = (value: unknown): string | Uint8Array =>
    typeof value === 'string' || value instanceof Uint8Array ? value : JSON.stringify(value);
  const [signedAt, keysAt] = [file('bundle.json', text(signed)), file('keys', text(keys))];
  const line = ['artifacts', 'verify', of, '--bundle', signedAt, '--keys', keysAt, '--json'];
  const { code, out, err } = await svc({ url: 'http://127.0.0.1:1' }, line);
  expect(err).toBe('');
  const answer = JSON.parse(out) as Answer;
  const failed = answer.checks.filter(({ ok }) => !ok);
  expect(answer.ok, 'the exit code says what the answer says').toBe(code === 0);
  return { code, ...answer, failed: failed.map(({ check, detail }) => `${check}: ${detail}`).join('\n') };
}

describe('paeOf()', () => {
  it('is that of the specification, and counts bytes', () => {
    const body = Buffer.from('hello world');
    expect(paeOf('http://example.com/HelloWorld', body).toString()).toBe(
      'DSSEv1 29 http://example.com/HelloWorld 11 hello world',
    );
    expect(paeOf('ü', Buffer.from('日')).toString()).toBe('DSSEv1 2 ü 3 日');
  });
});

describe('svc artifacts verify', () => {
  it('says of each check what was seen, and ends with 0 when all hold', async () => {
    const line = `artifacts verify ${file('web.tgz', bytes)} --bundle ${file('good.json', JSON.stringify(bundle()))}`;
    api.on('GET /signing-keys', { body: listed() });
    const people = await svc(api, line, { terminal: true });
    expect(people.out.split('\n')).toEqual([
      'ok      bundle        Sigstore bundle 0.3, one signature',
      `ok      payload type  ${PAYLOAD_TYPE}`,
      `ok      statement     https://in-toto.io/Statement/v1 of ${PROVENANCE}`,
      `ok      subject       ${digest}`,
      'ok      signature     by sgk_1',
      `ok      purpose       build_service may sign ${PROVENANCE}`,
      'ok      revocation    the key is active',
      '',
    ]);
    expect([people.code, people.err]).toEqual([0, '']);
    const json = JSON.parse((await svc(api, `${line} --json`)).out) as object;
    expect(json).toMatchObject({ ok: true, predicateType: PROVENANCE, subject: digest, keyId: 'sgk_1' });
    expect((await svc(api, line)).out).toMatch(/^result\tcheck\tdetail\nok\tbundle\t/);
  });

  it('takes an image by its digest, with or without a tag', async () => {
    for (const of of [`registry.example.com:5000/acme/web@${digest}`, `acme/web:1.4@${digest}`])
      expect((await verify(bundle(), { of })).failed).toBe('');
    expect((await verify(bundle(), { of: `acme/web@${other}` })).failed).toMatch(/^subject: /);
  });

  it('takes an envelope alone, in base64url, that names no key', async () => {
    const { payload, ...rest } = envelope();
    expect(payload).toMatch(/[+/]/);
    const urlSafe = payload.replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
    const found = await verify({ ...rest, payload: urlSafe });
    expect([found.failed, found.keyId]).toEqual(['', 'sgk_1']);
    expect(found.checks[0]?.detail).toBe('DSSE envelope, one signature');
  });

  it.each(['0.1', '0.2', '0.3'])('takes a bundle of version %s', async (version) => {
    const mediaType = `application/vnd.dev.sigstore.bundle+json;version=${version}`;
    expect((await verify({ ...bundle(), mediaType })).failed).toBe('');
  });

  const twice = bundle().dsseEnvelope.signatures[0];
  it.each<[string, object | string, RegExp]>([
    [
      'another subject',
      bundle({ payload: statement().replace(digest.slice(7), other.slice(7)) }),
      /^subject: it is about sha256:2222.*, expected sha256:/,
    ],
    [
      'a foreign key',
      bundle({ by: stranger }),
      /^signature: the bundle names the key .*, which none of the 2 known keys is$/,
    ],
    [
      'a foreign key under the name of a known one',
      bundle({ by: stranger, hint: builds.hint }),
      /^signature: the key .* did not make it$/,
    ],
    [
      'a foreign key without a name',
      envelope({ by: stranger }),
      /^signature: none of the 2 known keys made it$/,
    ],
    ['a known key under the name of another', bundle({ by: platform, hint: builds.hint }), /^signature: /],
    [
      'provenance by the key of the platform',
      bundle({ by: platform }),
      /^purpose: a key for platform may not sign/,
    ],
    [
      'a release by a key for builds',
      bundle({ predicateType: 'https://x.example/release/v1' }),
      /^purpose: a key for build_service/,
    ],
    [
      'another payload type',
      bundle({ payloadType: 'text/plain' }),
      /^payload type: it is "text\/plain", expected/,
    ],
    [
      'a payload type that was not signed',
      { ...envelope(), payloadType: 'text/plain' },
      /^payload type: .*\nsignature: /,
    ],
    ['another statement', bundle({ type: 'https://example.com/Statement' }), /^statement: its _type is/],
    [
      'two signatures',
      { ...envelope(), signatures: [twice, twice] },
      /^bundle: it has 2 signatures, expected one$/,
    ],
    ['no signature', { ...envelope(), signatures: [] }, /^bundle: it has 0 signatures/],
    ['a signature of bytes', { ...bundle(), messageSignature: {} }, /^bundle: it signs bytes/],
    [
      'a bundle of the future',
      { ...bundle(), mediaType: 'application/vnd.dev.sigstore.bundle.v0.9+json' },
      /^bundle: its media type/,
    ],
    ['what is no base64', { ...envelope(), payload: '*' }, /^bundle: its payload is not base64$/],
    ['what is no JSON', 'bundle', /^bundle: it is not JSON$/],
    [
      'a member twice',
      bundle({ payload: `{"_type":1,${statement().slice(1)}` }),
      /^statement: an object in it has the same member twice$/,
    ],
    ['nesting of 200,000', '['.repeat(200_000) + ']'.repeat(200_000), /^bundle: it has no DSSE envelope/],
    ['more than six mebibytes', ' '.repeat(6_291_457), /^bundle: it has more than 6291456 bytes/],
    [
      'a gzip of more than six mebibytes',
      gzipSync(' '.repeat(6_291_457)),
      /^bundle: it unpacks to more than 6291456 bytes/,
    ],
    ['a gzip that is cut', gzipSync('{}').subarray(0, 15), /^bundle: it is no whole gzip file/],
    [
      'members of the prototype',
      '{"__proto__":{"payload":"e30","payloadType":"a","signatures":[{"sig":""}]}}',
      /^bundle: it has no DSSE/,
    ],
  ])('finds fault with %s', async (_what, signed, problem) => {
    const { code, failed } = await verify(signed);
    expect([code, failed]).toEqual([1, expect.stringMatching(problem)]);
  });

  it('finds fault with a flipped byte wherever it is signed', async () => {
    const whole = envelope();
    const flipped = (text: string): string => {
      const raw = Buffer.from(text, 'base64');
      raw[raw.length - 3] = (raw[raw.length - 3] ?? 0) ^ 1;
      return raw.toString('base64');
    };
    const [{ sig } = { sig: '' }] = whole.signatures;
    expect((await verify({ ...whole, payload: flipped(whole.payload) })).failed).toMatch(/signature: none/);
    expect((await verify({ ...whole, signatures: [{ sig: flipped(sig) }] })).failed).toMatch(
      /^signature: none/,
    );
    const changed = file('web.tgz', Buffer.concat([bytes, Buffer.of(0)]));
    expect((await verify(whole, { of: changed })).failed).toMatch(/^subject: /);
  });

  it('counts nothing of a revoked key but what says that it is older than the compromise', async () => {
    const revoked = { state: 'revoked', revokedAt: FINISHED, revokeReason: 'laptop stolen' };
    const found = async (more: object) =>
      (await verify(bundle(), { keys: listed({ ...revoked, ...more }) })).failed;
    expect(await found({ compromisedSince: null })).toBe('revocation: the key was revoked: laptop stolen');
    expect(await found({ compromisedSince: FINISHED })).toMatch(/^revocation: .* and the statement is of /);
    expect(await found({ compromisedSince: '2026-11-20T08:00:00.001Z' })).toBe('');
    expect(await found({ state: undefined })).toMatch(/^revocation: /);
    expect(await found({ compromisedSince: 'soon' })).toMatch(/^revocation: /);
    const mute = bundle({ payload: statement().replace('finishedOn', 'startedOn') });
    const keys = listed({ ...revoked, compromisedSince: '2026-11-21T00:00:00Z' });
    expect((await verify(mute, { keys })).failed).toMatch(/does not say when it was made$/);
  });

  it('takes keys as a JWK set or as PEM, which say nothing of purpose and revocation', async () => {
    const jwk = { ...builds.publicKey.export({ format: 'jwk' }), kid: 'their name' };
    const byName = await verify(bundle({ hint: 'their name' }), { keys: { keys: [jwk] } });
    expect([byName.failed, byName.keyId]).toEqual(['', 'their name']);
    expect((await verify(bundle(), { keys: { keys: [jwk] } })).failed).toBe('');
    const pem = await verify(bundle({ predicateType: 'https://x.example/a' }), {
      keys: platform.pem + builds.pem,
    });
    expect([pem.failed, pem.keyId]).toEqual(['', builds.hint]);
    expect(pem.checks.map(({ check }) => check)).toEqual([
      'bundle',
      'payload type',
      'statement',
      'subject',
      'signature',
    ]);
    const { publicKey, privateKey } = generateKeyPairSync('ed25519');
    const edwards = {
      ...stranger,
      privateKey,
      pem: String(publicKey.export({ format: 'pem', type: 'spki' })),
    };
    const signed = envelope();
    const pae = paeOf(PAYLOAD_TYPE, Buffer.from(signed.payload, 'base64'));
    const signatures = [{ sig: sign(undefined, pae, edwards.privateKey).toString('base64') }];
    expect((await verify({ ...signed, signatures }, { keys: edwards.pem })).failed).toBe('');
  });

  it('asks an address for keys without a credential, and the server in use by default', async () => {
    const path = file('good.json', JSON.stringify(bundle()));
    api.on('GET /theirs.pem', (response) => void response.end(builds.pem));
    const line = `artifacts verify ${digest} --bundle ${path}`;
    expect((await svc(api, `${line} --keys ${api.url}/theirs.pem`)).code).toBe(0);
    expect(api.asked.map(({ target, headers }) => [target, headers.authorization])).toEqual([
      ['/theirs.pem', undefined],
    ]);
    api.on('GET /theirs.pem', { status: 302, headers: { location: `${api.url}/signing-keys` } });
    await ends(api, `${line} --keys ${api.url}/theirs.pem`, {
      code: 7,
      says: 'it answered 302, expected 200',
    });
    api.on('GET /theirs.pem', (response) => void response.end(Buffer.alloc(2_000_000, ' ')));
    expect((await svc(api, `${line} --keys ${api.url}/theirs.pem`)).err).toContain('more than 1048576 bytes');
    api.on('GET /signing-keys', apiError(404, 'not_found', 'no such path'));
    expect((await svc(api, line)).code).toBe(5);
  });

  it.each<[string, string, RegExp]>([
    ['no bundle', digest, /needs --bundle/],
    [
      'a bundle that is not there',
      `${digest} --bundle /nonexistent/b`,
      /cannot read the file of --bundle: ENOENT/,
    ],
    [
      'a file that is not there',
      '/nonexistent/a --bundle /dev/null',
      /cannot read the file "\/nonexistent\/a": ENOENT/,
    ],
    ['an image without a digest', 'acme/web:1.4 --bundle /dev/null', /name@sha256:<64/],
    ['a folder', '/ --bundle /dev/null', /EISDIR/],
    [
      'keys that are not there',
      `${digest} --bundle /dev/null --keys /nonexistent/k`,
      /file of --keys: ENOENT/,
    ],
    ['keys that are none', `${digest} --bundle /dev/null --keys /dev/null`, /neither PEM nor JSON/],
    [
      'keys over an open line',
      `${digest} --bundle /dev/null --keys http://keys.example/k`,
      /expected a file or an https address/,
    ],
  ])('takes %s for wrong usage', async (_what, line, said) => {
    const { code, out, err } = await svc({ url: 'http://127.0.0.1:1' }, `artifacts verify ${line}`);
    expect([code, out, err]).toEqual([2, '', expect.stringMatching(said)]);
  });

  it.each<[string, unknown, RegExp]>([
    ['an empty list', { keys: [] }, /has 0 public keys, expected 1 to 1000/],
    ['too long a list', { keys: Array.from({ length: 1_001 }, () => ({})) }, /has 1001 public keys/],
    ['no list', { key: 1 }, /has no list of keys/],
    ['something else in the list', { keys: [1] }, /key 1 of .* cannot be read: it is no object/],
    [
      'a key that is broken',
      { keys: [{ kty: 'EC', crv: 'P-256', x: '', y: '' }] },
      /key 1 of .* cannot be read/,
    ],
    [
      'a private key',
      String(builds.privateKey.export({ format: 'pem', type: 'pkcs8' })),
      /has 0 public keys/,
    ],
  ])('does not verify by %s', async (_what, keys, said) => {
    const path = file('odd', typeof keys === 'string' ? keys : JSON.stringify(keys));
    const line = `artifacts verify ${digest} --bundle ${file('good.json', JSON.stringify(bundle()))} --keys ${path}`;
    const { code, err } = await svc({ url: 'http://127.0.0.1:1' }, line);
    expect([code, err]).toEqual([2, expect.stringMatching(said)]);
  });
});
