/**
 * Every bad signature, digest and target that the security notes list, over a real socket through the real
 * door. The unit tests of the signature library show that each is refused; these show the wiring: status and
 * code, that nothing is given away, and how far each gets.
 */
import { createHash } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createNonce, generateSigningKey } from '@svc/proto/signature/keys.ts';
import { changed, openRaw, send, signed, UNSIGNED, type Answer, type Request } from './testing/machine.ts';
import { createWorld, type OpenGateway, type World } from './testing/setup.ts';

const [key, otherKey, revokedKey, strangeKey] = [
  generateSigningKey(),
  generateSigningKey(),
  generateSigningKey(),
  generateSigningKey(),
];

const HEARTBEAT = '/runners/rnr_1/heartbeat';
/** 2^252 + …: the order of the group. A signature stays formally right when its scalar grows by it. */
const GROUP_ORDER = 2n ** 252n + 27742317777372353535851937790883648493n;

let world: World;
let gateway: OpenGateway;
let other: OpenGateway;

beforeAll(async () => {
  world = createWorld();
  world.dispatch.addRunner(key, 'rnr_1');
  world.dispatch.addRunner(otherKey, 'rnr_2');
  world.dispatch.addRunner(revokedKey, 'rnr_3').revoked = true;
  const limits = { failures: { count: 100_000, windowMs: 100_000 } };
  gateway = await world.gateway({ limits });
  other = await world.gateway({ limits });
});
afterAll(() => world.stop());
beforeEach(() => {
  world.dispatch.calls.length = 0;
});

const good = (options?: Parameters<typeof signed>[2]): Request => signed(key, HEARTBEAT, options);
const input = (request: Request, change: (value: string) => string | undefined): Request =>
  changed(request, 'signature-input', change);
/** Gives the request other bytes in its signature. */
const altered = (request: Request, change: (bytes: Buffer) => Buffer): Request =>
  changed(request, 'signature', signatureBytes(change));
const flipped = (request: Request): Request => altered(request, (bytes) => ((bytes[5]! ^= 1), bytes));
/** Gives the request one more line. */
const plus = (request: Request, line: string): Request => ({ ...request, lines: [...request.lines, line] });
const nowSeconds = (): number => Math.floor(Date.now() / 1000);
const reached = () =>
  world.dispatch.calls.map(({ method }) => method).filter((method) => method !== 'resolveKey');

/**
 * Refused with the code, in the words that every such refusal has, and nothing of it has reached the server
 * but the key's name.
 */
function expectRefused(answer: Answer, code: string, status = 401): void {
  expect({ status: answer.status, code: answer.code, text: answer.text }).toMatchObject({ status, code });
  expect(reached()).toEqual([]);
  if (status !== 401) return;
  expect(answer.headers.get('date')).toBeDefined();
  expect(answer.text).not.toMatch(/rnr_|team_|digest does|verify|small|keyid=/);
}

function signatureBytes(change: (bytes: Buffer) => Buffer): (value: string) => string {
  return (value) => {
    const [, base64 = ''] = /:(.*):/.exec(value) ?? [];
    return `sig1=:${change(Buffer.from(base64, 'base64')).toString('base64')}:`;
  };
}

function plusGroupOrder(bytes: Buffer): Buffer {
  const scalar = BigInt(`0x${Buffer.from(bytes.subarray(32)).reverse().toString('hex')}`) + GROUP_ORDER;
  const raised = Buffer.from(scalar.toString(16).padStart(64, '0'), 'hex').reverse();
  return Buffer.concat([bytes.subarray(0, 32), raised]);
}

const COMPONENTS = ['@method', '@authority', '@path', '@query', 'content-type', 'content-digest'];

const INVALID: Readonly<Record<string, () => Request>> = {
  'two labels': () =>
    input(
      changed(good(), 'signature', (v) => `${v}, sig2=${v.slice(5)}`),
      (v) => `${v}, sig2=${v.slice(5)}`,
    ),
  'a signature under another label': () => changed(good(), 'signature', (v) => v.replace('sig1', 'sig2')),
  'an input under another label': () => input(good(), (v) => v.replace('sig1', 'sig2')),
  'an empty list of components': () => input(good(), (v) => v.replace(/\(.*\)/, '()')),
  'a signature without its input': () => input(good(), () => undefined),
  'an input without its signature': () => changed(good(), 'signature', () => undefined),
  ...Object.fromEntries(
    COMPONENTS.map((name) => [
      `a list without ${name}`,
      () => input(good(), (v) => v.replace(new RegExp(`"${name}" ?`), '')),
    ]),
  ),
  'an unknown component': () =>
    input(good({ extra: ['x-extra: 1'] }), (v) =>
      v.replace('"content-digest"', '"content-digest" "x-extra"'),
    ),
  'a repeated component': () => input(good(), (v) => v.replace('"@path"', '"@path" "@path"')),
  'a component parameter': () => input(good(), (v) => v.replace('"@path"', '"@path";req')),
  'another order of components': () =>
    input(good(), (v) => v.replace('"@method" "@authority"', '"@authority" "@method"')),
  ...Object.fromEntries(
    ['created', 'expires', 'nonce', 'keyid', 'alg', 'tag'].map((name) => [
      `no ${name}`,
      () => input(good(), (v) => v.replace(new RegExp(`;${name}=("[^"]*"|\\d+)`), '')),
    ]),
  ),
  'an unknown parameter': () => input(good(), (v) => `${v};extra=1`),
  'a fractional created': () => input(good(), (v) => v.replace(/created=(\d+)/, 'created=$1.5')),
  'created as text': () => input(good(), (v) => v.replace(/created=(\d+)/, 'created="$1"')),
  'a negative created': () => input(good(), (v) => v.replace('created=', 'created=-')),
  'a created of 2^53': () => input(good(), (v) => v.replace(/created=\d+/, 'created=9007199254740992')),
  'expires before created': () =>
    input(good(), (v) => v.replace(/expires=\d+/, `expires=${nowSeconds() - 10}`)),
  'expires an hour after created': () =>
    input(good(), (v) => v.replace(/expires=\d+/, `expires=${nowSeconds() + 3_600}`)),
  'an empty nonce': () => input(good(), (v) => v.replace(/nonce="[^"]*"/, 'nonce=""')),
  'a nonce of 1,000 characters': () =>
    input(good(), (v) => v.replace(/nonce="[^"]*"/, `nonce="${'A'.repeat(1_000)}"`)),
  ...Object.fromEntries(
    ['rsa-v1_5-sha256', 'hmac-sha256', 'none', ''].map((alg) => [
      `alg "${alg}"`,
      () => input(good(), (v) => v.replace('"ed25519"', `"${alg}"`)),
    ]),
  ),
  'the tag of another protocol': () => input(good(), (v) => v.replace('runner-v1', 'web-bot-auth')),
  'the key id of another runner': () => input(good(), (v) => v.replace(key.keyid, otherKey.keyid)),
  'a revoked key id under a signature of another key': () =>
    input(good(), (v) => v.replace(key.keyid, revokedKey.keyid)),
  'a signature of 63 bytes': () => altered(good(), (bytes) => bytes.subarray(1)),
  'a signature of 65 bytes': () => altered(good(), (bytes) => Buffer.concat([bytes, Buffer.from([0])])),
  'a flipped bit': () => flipped(good()),
  'a scalar raised by the group order': () => altered(good(), plusGroupOrder),
  'R of the identity and S of zero': () =>
    altered(good(), () => Buffer.concat([Buffer.from([1]), Buffer.alloc(63)])),
  'a non-canonical R': () =>
    altered(good(), (bytes) => Buffer.concat([Buffer.alloc(32, 0xff), bytes.subarray(32)])),
  'a signature in base64url': () =>
    changed(good(), 'signature', () => `sig1=:${Buffer.alloc(64, 0xfb).toString('base64url')}:`),
  'a signature without padding': () => changed(good(), 'signature', (v) => v.replace('==', '')),
  'a signature as text': () => changed(good(), 'signature', (v) => v.replaceAll(':', '"')),
  'a field of 5,000 characters': () => changed(good(), 'signature', (v) => `${v} ${'x'.repeat(5_000)}`),
  'a repeated signature line': () => plus(good(), 'signature: sig1=:AAAA:'),
  'a repeated input line': () => plus(good(), 'signature-input: sig1=()'),
  'bytes beyond ASCII': () => changed(good(), 'signature', (v) => `${v}\u00e9`),
  'another method': () => ({
    ...good(),
    lines: signed(key, HEARTBEAT, { method: 'GET' }).lines.concat('Content-Type: application/json'),
  }),
  'another path': () => ({ ...signed(key, '/runners/rnr_1/report'), target: HEARTBEAT }),
  'another query': () => ({ ...signed(key, `${HEARTBEAT}?a=1`), target: `${HEARTBEAT}?a=2` }),
  'a bare question mark': () => ({ ...good(), target: `${HEARTBEAT}?` }),
  'another content type': () => changed(good(), 'content-type', () => 'application/proto'),
  'an idempotency key that is not covered': () => plus(good(), 'idempotency-key: k'),
  'a host that is not ours': () => signed(key, HEARTBEAT, { host: 'evil.example' }),
  'a host of ours that was not signed': () =>
    changed(signed(key, HEARTBEAT, { host: 'evil.example' }), 'host', () => 'cp.example.com'),
  'a port that is not ours': () => signed(key, HEARTBEAT, { host: 'cp.example.com:444' }),
  'X-Forwarded-Host of a stranger': () =>
    plus(signed(key, HEARTBEAT, { host: 'evil.example' }), 'X-Forwarded-Host: cp.example.com'),
  'a punycode look-alike host': () => signed(key, HEARTBEAT, { host: 'xn--cp-example.com' }),
  'no digest': () => changed(good(), 'content-digest', () => undefined),
  'the digest of another body': () => ({ ...good({ body: { draining: true } }), body: Buffer.from('{}') }),
  'one byte more than signed': () => ({ ...good(), body: Buffer.from('{} ') }),
  'sha-256 right and sha-512 wrong': () =>
    changed(good(), 'content-digest', (v) => `${v}, sha-512=:${Buffer.alloc(64).toString('base64')}:`),
  'the digest md5 alone': () =>
    changed(good(), 'content-digest', () => `md5=:${createHash('md5').update('{}').digest('base64')}:`),
  'a digest of the decoded body': () => ({ ...good({ contentEncoding: 'gzip' }), body: gzipSync('{}') }),
  'a content encoding that is not covered': () => plus(good(), 'content-encoding: identity'),
};

describe('a request that is not signed by the book', () => {
  it.each(Object.entries(INVALID))('is refused as signature_invalid: %s', async (_, make) => {
    expectRefused(await send(gateway.port, make()), 'signature_invalid');
  });

  it('is answered in the same words whatever is wrong', async () => {
    const answers = [];
    for (const name of [
      'two labels',
      'a flipped bit',
      'the digest of another body',
      'a host that is not ours',
      'the key id of another runner',
    ]) {
      answers.push(await send(gateway.port, INVALID[name]!()));
    }
    const shapes = answers.map(({ text }) => text.replace(/req_\w+/, 'req'));
    expect(new Set(shapes).size).toBe(1);
    expect(gateway.lines.at(-1)).toMatchObject({
      code: 'signature_invalid',
      detail: expect.any(String) as string,
    });
  });

  it('is told when it has no signature at all', async () => {
    const unsigned = { ...good(), lines: UNSIGNED };
    for (const request of [unsigned, plus(unsigned, 'Authorization: Bearer cpk_live_x')])
      expectRefused(await send(gateway.port, request), 'signature_missing');
  });

  it('is told when its key is of no runner', async () => {
    expectRefused(await send(gateway.port, signed(strangeKey, HEARTBEAT)), 'key_unknown');
  });

  it.each(['poll', 'build-poll'])('gives the %s of an unknown key nothing, and counts it', async (action) => {
    const strict = await world.gateway({ limits: { failures: { count: 1, windowMs: 500_000 } } });
    for (const runnerId of ['rnr_1', 'rnr_9']) {
      const answer = await send(gateway.port, signed(strangeKey, `/runners/${runnerId}/${action}`));
      expect([answer.status, answer.text]).toEqual([200, '{}']);
    }
    expect(reached()).toEqual([]);
    expect((await send(strict.port, signed(strangeKey, `/runners/rnr_1/${action}`))).status).toBe(200);
    expect((await send(strict.port, good())).code).toBe(undefined);
    expect(strict.lines.at(-1)).toMatchObject({ code: 'key_unknown' });
  });

  it('does not reach the server again for a key that is known to be unknown', async () => {
    await send(gateway.port, signed(strangeKey, HEARTBEAT));
    world.dispatch.calls.length = 0;
    expectRefused(await send(gateway.port, signed(strangeKey, HEARTBEAT)), 'key_unknown');
    expect(world.dispatch.calls).toEqual([]);
  });
});

describe('a request with the right signature', () => {
  it('is let in, whatever the order of its parameters and the case of its host', async () => {
    const plain = await send(gateway.port, good());
    expect({ status: plain.status, text: plain.text }).toMatchObject({ status: 200 });
    expect(reached()).toEqual(['heartbeat']);
    for (const host of ['CP.Example.COM', 'cp.example.com:443']) {
      const request = changed(good(), 'host', () => host);
      expect((await send(gateway.port, request)).status, host).toBe(200);
    }
  });

  it('is let in with a compressed body whose digest is of the compressed bytes', async () => {
    const answer = await send(
      gateway.port,
      good({ contentEncoding: 'gzip', bytes: gzipSync('{"draining":true}') }),
    );
    expect({ status: answer.status, text: answer.text }).toMatchObject({ status: 200 });
    expect(world.dispatch.calls.at(-1)?.request).toMatchObject({ heartbeat: { draining: true } });
  });

  it('is let in with a body of no bytes, and in chunks', async () => {
    expect((await send(gateway.port, good({ bytes: new Uint8Array() }))).status).toBe(200);
    const { lines } = good();
    const head = [
      `POST ${HEARTBEAT} HTTP/1.1`,
      ...lines,
      'Connection: close',
      'Transfer-Encoding: chunked',
    ].join('\r\n');
    const chunked = await openRaw(
      gateway.port,
      Buffer.from(`${head}\r\n\r\n1\r\n{\r\n1\r\n}\r\n0\r\nx-trailer: 1\r\n\r\n`),
    ).answer;
    expect(chunked.status).toBe(200);
  });

  it('is refused when it comes again, at the same gateway and at another one', async () => {
    const request = good();
    expect((await send(gateway.port, request)).status).toBe(200);
    world.dispatch.calls.length = 0;
    for (const { port } of [gateway, other]) {
      const { status, code } = await send(port, request);
      expect([status, code]).toEqual([401, 'replayed']);
    }
    expect(reached()).toEqual(['heartbeat']);
  });

  it('is let in once of fifty that come at once at two gateways', async () => {
    const request = good();
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, n) => send(n % 2 === 0 ? gateway.port : other.port, request)),
    );
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
    expect(new Set(answers.filter(({ status }) => status !== 200).map(({ code }) => code))).toEqual(
      new Set(['replayed']),
    );
  });

  it('is refused while its nonce cannot be stored', async () => {
    world.dispatch.before = (method) => {
      if (method === 'heartbeat') throw new Error('the store is gone');
    };
    const answer = await send(gateway.port, good());
    world.dispatch.before = () => undefined;
    expect(answer.status).toBeGreaterThanOrEqual(500);
    expect(reached()).toEqual(['heartbeat']);
    expect(answer.text).not.toContain('store');
  });

  it.each([-3_600, -62, 35, 3_600])(
    'is told the time when its own is off by %d s, with its own key alone',
    async (offset) => {
      const created = nowSeconds() + offset;
      const skewed = await send(gateway.port, good({ created }));
      expectRefused(skewed, 'clock_skew');
      const serverTime = Date.parse(String(skewed.details?.['serverTime']));
      expect(Math.abs(serverTime - Date.now())).toBeLessThan(5_000);
      const forged = flipped(good({ created }));
      const answer = await send(gateway.port, forged);
      expectRefused(answer, 'signature_invalid');
      expect(answer.details).toBeUndefined();
    },
  );

  it.each([-58, 28])('is let in when its time is off by %d s', async (offset) => {
    expect((await send(gateway.port, good({ created: nowSeconds() + offset }))).status).toBe(200);
  });

  it('is told when its runner was revoked, even when its clock is off, and only by the right key', async () => {
    const target = '/runners/rnr_3/heartbeat';
    expectRefused(await send(gateway.port, signed(revokedKey, target)), 'runner_revoked');
    expectRefused(
      await send(gateway.port, signed(revokedKey, target, { created: nowSeconds() - 500 })),
      'runner_revoked',
    );
    const forged = flipped(signed(revokedKey, target));
    expectRefused(await send(gateway.port, forged), 'signature_invalid');
  });

  it('cannot act for another runner, and does not learn whether that one exists', async () => {
    const answers = await Promise.all(
      ['rnr_2', 'rnr_9'].map((id) => send(gateway.port, signed(key, `/runners/${id}/heartbeat`))),
    );
    for (const answer of answers) expect([answer.status, answer.code]).toEqual([401, 'key_unknown']);
    expect(answers[0]?.text.replace(/req_\w+/, '')).toBe(answers[1]?.text.replace(/req_\w+/, ''));
    for (const target of ['/runners/rnr_2/poll', '/runners/rnr_9/poll', '/runners/rnr_9/build-poll']) {
      const { status, text } = await send(gateway.port, signed(key, target));
      expect([target, status, text]).toEqual([target, 200, '{}']);
    }
    expect(reached()).toEqual([]);
  });
});

describe('a target that is written in another way', () => {
  const targets = [
    '/runners/rnr_1/%2e%2e/rnr_1/heartbeat',
    '/runners/../runners/rnr_1/heartbeat',
    '//runners/rnr_1/heartbeat',
    '/runners//heartbeat',
    '/runners/rnr_1%2Fheartbeat',
    '/runners/rnr_1/heartbeat;x',
    '/runners/rnr_1/heartbeat/',
    '/Runners/rnr_1/heartbeat',
    '/runners/rnr_1/nothing',
  ];
  it.each(targets)('is another path, and that is not there: %s', async (target) => {
    const answer = await send(gateway.port, signed(key, target));
    expect([404, 405]).toContain(answer.status);
    expect(reached()).toEqual([]);
  });

  it.each(['http://cp.example.com/runners/rnr_1/heartbeat', '/runners/rnr_1/heartbeat#x'])(
    'is never let in: %s',
    async (target) => {
      const answer = await send(gateway.port, { ...good(), target });
      expect(answer.status).toBeGreaterThanOrEqual(400);
      expect(answer.status).toBeLessThan(500);
      expect(reached()).toEqual([]);
    },
  );

  it('answers GET on a machine endpoint as a wrong method', async () => {
    expect((await send(gateway.port, signed(key, HEARTBEAT, { method: 'GET' }))).status).toBe(405);
  });
});

describe('bytes that are no request', () => {
  const raw = async (text: string): Promise<Answer> =>
    openRaw(gateway.port, Buffer.from(text, 'latin1')).answer;
  const head = (lines: readonly string[]): string =>
    [`POST ${HEARTBEAT} HTTP/1.1`, ...lines, 'Connection: close', '', ''].join('\r\n');

  it('refuses a head of 100 kB', async () => {
    const answer = await raw(head([...good().lines, `x-long: ${'x'.repeat(100_000)}`]));
    expect([answer.status, answer.code]).toEqual([431, 'headers_too_large']);
  });

  it('refuses two hosts', async () => {
    const answer = await raw(`${head([...good().lines, 'Host: evil.example', 'Content-Length: 2'])}{}`);
    expect(answer.status).toBe(400);
    expect(reached()).toEqual([]);
  });

  it('refuses a folded line', async () => {
    const { lines } = good();
    const folded = lines.map((line) => line.replace(';nonce', '\r\n ;nonce'));
    const answer = await raw(`${head([...folded, 'Content-Length: 2'])}{}`);
    expect([400, 401]).toContain(answer.status);
    expect(reached()).toEqual([]);
  });

  it('refuses a length beside chunks, and a body above the limit before reading it', async () => {
    const both = await raw(
      `${head([...good().lines, 'Content-Length: 2', 'Transfer-Encoding: chunked'])}2\r\n{}\r\n0\r\n\r\n`,
    );
    expect(both.status).toBe(400);
    const huge = await raw(head([...good().lines, 'Content-Length: 99999999']));
    expect([huge.status, huge.code]).toEqual([413, 'body_too_large']);
    expect(reached()).toEqual([]);
  });

  it('keeps nothing of a request whose body never comes', async () => {
    const { socket } = openRaw(gateway.port, Buffer.from(head([...good().lines, 'Content-Length: 2'])));
    await new Promise((resolve) => socket.once('connect', resolve));
    socket.destroy();
    expect((await send(gateway.port, good())).status).toBe(200);
    expect(world.dispatch.count('heartbeat')).toBe(1);
  });
});

describe('limits by address', () => {
  it('stops looking at signatures after too many bad ones, except of keys that verified from there', async () => {
    const strict = await world.gateway({
      limits: { failures: { count: 5, windowMs: 500_000 }, secondLooks: { count: 2, windowMs: 200_000 } },
    });
    expect((await send(strict.port, good())).status).toBe(200);
    const bad = () => flipped(signed(otherKey, '/runners/rnr_2/heartbeat'));
    for (let n = 0; n < 5; n += 1) expect((await send(strict.port, bad())).code).toBe('signature_invalid');
    // One that was never seen from here is looked at for as long as few such come.
    const newKey = generateSigningKey();
    world.dispatch.addRunner(newKey, 'rnr_4');
    const newcomer = signed(newKey, '/runners/rnr_4/heartbeat');
    expect((await send(strict.port, newcomer)).status).toBe(200);
    expect((await send(strict.port, bad())).code).toBe('signature_invalid');
    world.dispatch.calls.length = 0;
    const limited = await send(strict.port, bad());
    expect([limited.status, limited.code]).toEqual([429, 'rate_limited']);
    expect(Number(limited.headers.get('retry-after'))).toBeGreaterThan(0);
    expect((await send(strict.port, signed(strangeKey, HEARTBEAT))).code).toBe('rate_limited');
    expect(world.dispatch.calls).toEqual([]);
    expect((await send(strict.port, good())).status).toBe(200);
  });

  it('bounds the calls of one runner and the enrollments of one address', async () => {
    const strict = await world.gateway({
      limits: { calls: { count: 2, windowMs: 200_000 }, enrollments: { count: 2, windowMs: 200_000 } },
    });
    const codes = [];
    for (let n = 0; n < 3; n += 1) codes.push((await send(strict.port, good())).code);
    expect(codes).toEqual([undefined, undefined, 'rate_limited']);
    expect((await send(strict.port, signed(otherKey, '/runners/rnr_2/heartbeat'))).status).toBe(200);
    const enroll = (token: string): Request => ({
      method: 'POST',
      target: '/runners/enroll',
      lines: ['Host: anything', 'Content-Type: application/json'],
      body: Buffer.from(JSON.stringify({ token, name: 'n', publicKey: strangeKey.publicKey })),
    });
    const answers = [
      await send(strict.port, enroll('enr_bad')),
      await send(strict.port, enroll('enr_good')),
      await send(strict.port, enroll('enr_good')),
    ];
    expect(answers.map(({ status, code }) => [status, code])).toEqual([
      [401, 'token_invalid'],
      [201, undefined],
      [429, 'rate_limited'],
    ]);
  });
});

describe('errors of the server', () => {
  it('reach the runner as they are, and its secrets do not', async () => {
    world.dispatch.before = (method) => {
      if (method === 'heartbeat') throw new Error('password of the database');
    };
    const answer = await send(gateway.port, good({ nonce: createNonce() }));
    world.dispatch.before = () => undefined;
    expect([answer.status, answer.code]).toEqual([500, 'internal']);
    expect(answer.text).not.toContain('password');
  });
});
