import { once } from 'node:events';
import { createServer } from 'node:http';
import { connect as connectHttp2, createServer as createHttp2Server } from 'node:http2';
import { connect, type AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { authoritySet, factsFromNodeRequest, type RequestFacts } from './facts.ts';
import { signRequest } from './sign.ts';
import { parseSignature } from './verify.ts';
import {
  authorities,
  check,
  created,
  healthRequest,
  nonce,
  pollBody,
  pollRequest,
  signedFacts,
  testKey,
  withHeader,
} from './testing/fixtures.ts';

const get = signedFacts(healthRequest);
const invalid = { ok: false, reason: 'signature_invalid' };

/** A GET to `target`, signed as a client would that puts exactly this target on the wire. */
function signedTarget(target: string): RequestFacts {
  const [, path = '', query = ''] = /^([^?]*)(\?.*)?$/s.exec(target) ?? [];
  return signedFacts({
    method: 'GET',
    authority: 'cp.example.com',
    path,
    ...(query === '' ? {} : { query }),
  });
}

describe('target', () => {
  it.each([
    '/%2e%2e/admin',
    '//double',
    '/a%2Fb',
    '/a;x=1',
    '/a/./b',
    '/%E4%BD%A0',
    '/a?b?c',
    '/a?b=%23',
    '/xn--e1afmkfd',
  ])('%s is signed and verified as sent, never normalised', async (target) => {
    expect(await check(signedTarget(target))).toMatchObject({ ok: true });
  });

  it.each([
    ['/%2e%2e/admin', '/admin'],
    ['/%2e%2e/admin', '/%2E%2E/admin'],
    ['//double', '/double'],
    ['/a%2Fb', '/a/b'],
    ['/a;x=1', '/a'],
    ['/a?b=1', '/a?b=2'],
    ['/a?b=1', '/a'],
    ['/a', '/a?b=1'],
  ])('%s does not verify after something on the way made it %s', async (sent, received) => {
    expect(await check({ ...signedTarget(sent), target: received })).toMatchObject(invalid);
  });

  it.each([
    '',
    '*',
    'healthz',
    'http://cp.example.com/healthz',
    'cp.example.com:443',
    '/a#b',
    '/a?',
    '/a b',
    '/a\r\nx: y',
    '/ä',
  ])('%j is refused', async (target) => {
    expect(await check({ ...get, target })).toMatchObject({
      ...invalid,
      detail: expect.stringContaining('origin form'),
    });
  });
});

describe('authority', () => {
  it.each(['cp.example.com', 'CP.Example.COM', 'cp.example.com:443'])('%s is ours', async (host) => {
    expect(await check(withHeader(get, 'host', host))).toMatchObject({ ok: true });
  });

  it.each([
    'cp.example.com:80',
    'cp.example.com:8443',
    'cp.example.com.',
    'other.example.com',
    'evil@cp.example.com',
    'cp.example.com, other.example.com',
    'cp.example.com/x',
    'xn--cp-example-com',
    '',
    '127.0.0.1',
  ])('%j is not', async (host) => {
    expect(await check(withHeader(get, 'host', host))).toMatchObject(invalid);
  });

  it('of another service does not verify here although that service would be ours too', () => {
    const both = authoritySet(['https://cp.example.com', 'https://b.example.com']);
    const moved = parseSignature(withHeader(get, 'host', 'b.example.com'), {
      authorities: both,
      nowMs: created * 1000,
    });
    const stayed = parseSignature(get, { authorities: both, nowMs: created * 1000 });
    expect(moved.ok && stayed.ok && moved.base !== stayed.base).toBe(true);
  });

  it('is refused when absent, doubled, or different from :authority', async () => {
    expect(await check(withHeader(get, 'host', undefined))).toMatchObject(invalid);
    expect(await check({ ...get, authority: 'other.example.com' })).toMatchObject(invalid);
    expect(await check({ ...get, authority: 'CP.example.com' })).toMatchObject({ ok: true });
    expect(await check({ ...withHeader(get, 'host', undefined), authority: 'cp.example.com' })).toMatchObject(
      {
        ok: true,
      },
    );
  });

  it('is taken from X-Forwarded-Host behind a trusted proxy only', async () => {
    const spoofed = withHeader(withHeader(get, 'host', 'inside:9000'), 'x-forwarded-host', 'cp.example.com');
    expect(await check(spoofed)).toMatchObject(invalid);
    expect(await check({ ...spoofed, forwardedHostTrusted: true })).toMatchObject({ ok: true });
    const twice: RequestFacts = {
      ...spoofed,
      headers: [...spoofed.headers, ['X-Forwarded-Host', 'cp.example.com']],
    };
    expect(await check({ ...twice, forwardedHostTrusted: true })).toMatchObject(invalid);
  });
});

describe('authoritySet()', () => {
  it('drops the default port of each scheme, lower-cases, and writes international names in ASCII', () => {
    const set = authoritySet([
      'https://A.example',
      'http://b.example',
      'http://[::1]:8080/x',
      'https://bücher.example',
    ]);
    expect(Object.fromEntries(set)).toEqual({
      'a.example': 'a.example',
      'a.example:443': 'a.example',
      'b.example': 'b.example',
      'b.example:80': 'b.example',
      '[::1]:8080': '[::1]:8080',
      'xn--bcher-kva.example': 'xn--bcher-kva.example',
      'xn--bcher-kva.example:443': 'xn--bcher-kva.example',
    });
  });

  it('refuses other schemes', () => {
    expect(() => authoritySet(['ftp://a.example'])).toThrow('neither http nor https');
  });
});

describe('factsFromNodeRequest() on real sockets', () => {
  const seen: RequestFacts[] = [];
  const http1 = createServer((request, response) => {
    seen.push(factsFromNodeRequest(request));
    request.resume().on('end', () => response.end('seen'));
  });
  const http2 = createHttp2Server((request, response) => {
    seen.push(factsFromNodeRequest(request));
    request.resume().on('end', () => response.end('seen'));
  });
  const portOf = (server: typeof http1 | typeof http2): number => (server.address() as AddressInfo).port;

  beforeAll(async () => {
    for (const server of [http1, http2]) await once(server.listen(0, '127.0.0.1'), 'listening');
  });
  afterAll(async () => {
    for (const server of [http1, http2]) await new Promise((resolve) => server.close(resolve));
  });

  /** Sends the text as it is and returns the whole reply. */
  async function sendRaw(text: string): Promise<string> {
    const socket = connect(portOf(http1), '127.0.0.1');
    socket.end(text, 'latin1');
    let reply = '';
    for await (const chunk of socket) reply += String(chunk);
    return reply;
  }

  const signature = signRequest(pollRequest, { key: testKey, created, nonce });
  const lines = [
    `POST ${pollRequest.path} HTTP/1.1`,
    'Host: cp.example.com',
    'Content-Type: application/json',
    `Content-Length: ${pollBody.length}`,
    'Connection: close',
    ...Object.entries(signature).map(([name, value]) => `${name}: ${value}`),
  ];
  const post = (change: (lines: string[]) => string[]): Promise<string> =>
    sendRaw(`${change([...lines]).join('\r\n')}\r\n\r\n${pollBody.toString()}`);

  it('reads a signed HTTP/1.1 request', async () => {
    expect(await post((all) => all)).toMatch(/seen$/);
    expect(await check(seen.at(-1) ?? get, pollBody)).toMatchObject({ ok: true });
  });

  it('keeps repeated lines apart, so that they are refused', async () => {
    for (const name of ['signature', 'signature-input', 'content-digest'] as const) {
      expect(await post((all) => [...all, `${name}: ${signature[name]}`])).toMatch(/seen$/);
      expect(await check(seen.at(-1) ?? get, pollBody)).toMatchObject({
        ...invalid,
        detail: `more than one ${name} field line`,
      });
    }
    await post((all) => [...all, 'Content-Type: application/json']);
    expect(await check(seen.at(-1) ?? get, pollBody)).toMatchObject(invalid);
  });

  it.each([
    ['two Host fields', (all: string[]) => [...all, 'Host: other.example.com']],
    [
      'an absolute target',
      (all: string[]) => [`POST http://cp.example.com${pollRequest.path} HTTP/1.1`, ...all.slice(1)],
    ],
    [
      'a non-ASCII field',
      (all: string[]) => all.map((line) => line.replace('application/json', 'application/js\u00f6n')),
    ],
    [
      'an obsolete line folding',
      (all: string[]) => all.map((line) => line.replace(';expires', '\r\n ;expires')),
    ],
    [
      'a folding inside content-type',
      (all: string[]) => all.map((line) => line.replace('application/json', 'application/json;\r\n a=b')),
    ],
    [
      'a folding inside signature',
      (all: string[]) => all.map((line) => line.replace('signature: sig1', 'signature:\r\n sig1')),
    ],
  ])('%s: refused by the server or here', async (name, change) => {
    const before = seen.length;
    const reply = await post(change);
    if (reply.startsWith('HTTP/1.1 400')) {
      expect(seen.length).toBe(before);
      return;
    }
    expect(reply, name).toMatch(/seen$/);
    expect(await check(seen.at(-1) ?? get, pollBody)).toMatchObject(invalid);
  });

  it('reads a signed HTTP/2 request and its :authority', async () => {
    const session = connectHttp2(`http://127.0.0.1:${portOf(http2)}`);
    const stream = session.request({
      ':method': 'POST',
      ':path': pollRequest.path,
      ':authority': 'cp.example.com',
      'content-type': 'application/json',
      ...signature,
    });
    stream.end(pollBody);
    await once(stream.resume(), 'end');
    expect(await check(seen.at(-1) ?? get, pollBody)).toMatchObject({ ok: true });

    const crossed = session.request({
      ':method': 'POST',
      ':path': pollRequest.path,
      ':authority': 'cp.example.com',
      host: 'other.example.com',
      'content-type': 'application/json',
      ...signature,
    });
    crossed.end(pollBody);
    await Promise.race([once(crossed.resume(), 'end'), once(crossed, 'error')]);
    const last = seen.at(-1);
    expect(last?.headers.some(([name]) => name === 'host')).toBe(true);
    expect(await check(last ?? get, pollBody)).toMatchObject({
      ...invalid,
      detail: 'host and :authority differ',
    });
    session.close();
  });

  it('sees chunked bodies and ignores trailers, which are not signed', async () => {
    const chunked = lines
      .filter((line) => !line.startsWith('Content-Length'))
      .concat('Transfer-Encoding: chunked');
    const half = pollBody.subarray(0, 20).toString();
    const rest = pollBody.subarray(20).toString();
    const body = `14\r\n${half}\r\n${rest.length.toString(16)}\r\n${rest}\r\n0\r\nSignature: sig1=:AAAA:\r\n\r\n`;
    expect(await sendRaw(`${chunked.join('\r\n')}\r\n\r\n${body}`)).toMatch(/seen/);
    expect(await check(seen.at(-1) ?? get, pollBody)).toMatchObject({ ok: true });
  });

  it('a lying Content-Length leaves a body that does not match', async () => {
    await post((all) => all.map((line) => (line.startsWith('Content-Length') ? 'Content-Length: 5' : line)));
    expect(
      await check(
        seen.find((facts) => facts.headers.some(([, value]) => value === '5')) ?? get,
        pollBody.subarray(0, 5),
      ),
    ).toMatchObject(invalid);
  });
});

describe('fixtures', () => {
  it('verify', () => {
    expect(parseSignature(get, { authorities, nowMs: created * 1000 })).toMatchObject({ ok: true });
  });
});
