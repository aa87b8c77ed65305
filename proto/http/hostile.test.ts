/**
 * What a client must not be able to do, over raw sockets. Time limits are shortened, never waited for
 * blindly.
 */
import { create } from '@bufbuild/protobuf';
import { connect as connectHttp2, constants, type ClientHttp2Session } from 'node:http2';
import { connect as connectTcp, type Socket } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import type { DoorLimits } from './limits.ts';
import { doorOfTest, type TestAnswers, type TestDoor } from './testing/app.ts';
import { waitFor } from '../../test/setup/wait-for.ts';

let sockets: Socket[] = [];
let sessions: ClientHttp2Session[] = [];
afterEach(() => {
  for (const socket of sockets) socket.destroy();
  for (const session of sessions) session.destroy();
  [sockets, sessions] = [[], []];
});

const seenIds: string[] = [];
const answers: TestAnswers = {
  invoke: (call, request) => {
    seenIds.push((request as unknown as { runId?: string }).runId ?? '');
    return create(call.rpc.desc.output);
  },
};

async function open(
  limits: Partial<DoorLimits> = {},
  own: TestAnswers = answers,
  more: object = {},
): Promise<TestDoor> {
  return await doorOfTest(own, { limits, ...more });
}

interface Wire {
  readonly socket: Socket;
  text: string;
  closed: boolean;
}

function dial(door: TestDoor, ...writes: string[]): Wire {
  const socket = connectTcp(door.port, '127.0.0.1');
  const wire: Wire = { socket, text: '', closed: false };
  sockets.push(socket);
  socket.on('data', (chunk: Buffer) => (wire.text += chunk.toString('latin1')));
  socket.on('error', () => (wire.closed = true));
  socket.on('close', () => (wire.closed = true));
  for (const write of writes) socket.write(write);
  return wire;
}

async function told(wire: Wire, text: string, withinMs?: number): Promise<void> {
  const holds = (answer: string): boolean => answer.includes(text);
  await waitFor(`an answer with ${text}`, () => wire.text, { holds, withinMs });
}

async function cutOff(wire: Wire, withinMs?: number): Promise<void> {
  await waitFor('a closed connection', () => wire.closed, { withinMs });
}

/** Reads the whole answer to one raw request on a connection of its own. */
async function send(
  door: TestDoor,
  text: string,
): Promise<{ status: number; body: { error?: { code: string; message: string } }; text: string }> {
  const wire = dial(door, text);
  await waitFor(
    () => wire.text,
    () =>
      wire.closed ||
      /\r\n\r\n[^]*\}$/.test(wire.text) ||
      /content-length: 0\r\n[^]*\r\n\r\n$/.test(wire.text),
  );
  const [head = '', body = ''] = wire.text.split('\r\n\r\n');
  return {
    status: Number(head.split(' ')[1] ?? 0),
    body: body === '' ? {} : (JSON.parse(body) as object),
    text: wire.text,
  };
}

const get = (target: string, headers = 'host: a.example\r\n'): string =>
  `GET ${target} HTTP/1.1\r\n${headers}\r\n`;

describe('request targets', () => {
  it.each([
    ['dot segments, which are data', get('/sandbox-runs/..'), 200],
    ['encoded dot segments, which are data', get('/sandbox-runs/%2e%2e'), 200],
    ['an encoded slash, which stays in its segment', get('/sandbox-runs/a%2Fb'), 200],
    ['a semicolon, which is data', get('/sandbox-runs/a;x=1'), 200],
    ['a lone question mark', get('/sandbox-runs/a?'), 200],
    ['an absolute form with the same host', get('http://A.example/sandbox-runs/abs'), 200],
    ['an absolute form with another host', get('http://b.example/sandbox-runs/a'), 400],
    ['an absolute form with user info', get('http://a.example@b.example/sandbox-runs/a'), 400],
    ['a path that climbs out of nowhere', get('/sandbox-runs/../sandbox-runs/a'), 404],
    ['two slashes', get('//sandbox-runs/a'), 404],
    ['two slashes that look like a host', get('//a.example/sandbox-runs/a'), 404],
    ['a fragment', get('/sandbox-runs/a#b'), 400],
    ['an asterisk', 'OPTIONS * HTTP/1.1\r\nhost: a.example\r\n\r\n', 400],
    ['a byte above 127', get('/sandbox-runs/\u00e9'), 400],
    ['two hosts', get('/sandbox-runs/a', 'host: a.example\r\nhost: b.example\r\n'), 400],
    ['the same host twice', get('/sandbox-runs/a', 'host: a.example\r\nHost: a.example\r\n'), 400],
    ['no host', get('/sandbox-runs/a', ''), 400],
    [
      'two credentials',
      get('/sandbox-runs/a', 'host: a.example\r\nauthorization: Bearer a\r\nauthorization: Bearer b\r\n'),
      400,
    ],
    [
      'two idempotency keys',
      get('/sandbox-runs/a', 'host: a.example\r\nidempotency-key: a\r\nidempotency-key: b\r\n'),
      400,
    ],
    ['HTTP/1.0 without a host', 'GET /sandbox-runs/a HTTP/1.0\r\n\r\n', 200],
  ])('%s', async (_what, text, status) => {
    const answer = await send(await open(), text);
    expect(answer.status, answer.text).toBe(status);
    if (status >= 400)
      expect(answer.body.error).toMatchObject({ code: status === 404 ? 'not_found' : 'request_invalid' });
  });

  it('keeps an encoded slash inside of its variable', async () => {
    seenIds.length = 0;
    await send(await open(), get('/sandbox-runs/a%2Fb%2f..'));
    expect(seenIds).toEqual(['a/b/..']);
  });

  it('believes X-Forwarded-For of a trusted proxy alone, up to the first stranger', async () => {
    const addresses: string[] = [];
    const own: TestAnswers = {
      invoke: (call) => (addresses.push(call.remoteAddress), create(call.rpc.desc.output)),
    };
    const forwarded = (chain: string): string =>
      get('/sandbox-runs/a', `host: a\r\nx-forwarded-for: ${chain}\r\n`);
    await send(await open({}, own), forwarded('6.6.6.6'));
    const behind = await open({}, own, { trustedProxies: ['127.0.0.1', '10.0.0.0/8'] });
    for (const chain of [
      '6.6.6.6',
      '1.1.1.1, 6.6.6.6',
      '1.1.1.1, 6.6.6.6, 10.1.2.3',
      '10.9.9.9',
      '1.1.1.1, unknown',
      '1.1.1.1, 6.6.6.6:5678, 10.1.2.3:99',
      '[2001:DB8::1]:99',
      '::ffff:6.6.6.6',
    ])
      await send(behind, forwarded(chain));
    expect(addresses).toEqual([
      '127.0.0.1',
      '6.6.6.6',
      '6.6.6.6',
      '6.6.6.6',
      '10.9.9.9',
      '127.0.0.1',
      '6.6.6.6',
      '2001:db8::1',
      '6.6.6.6',
    ]);
  });

  it('says once, and names the setting, when a proxy that is not trusted speaks for others', async () => {
    const said: string[] = [];
    const log = {
      error: () => undefined,
      warn: (_fields: object, message: string) => void said.push(message),
    };
    const untold = await open({}, undefined, { log });
    await send(untold, get('/sandbox-runs/a'));
    expect(said).toEqual([]);
    for (let n = 0; n < 3; n += 1)
      await send(untold, get('/sandbox-runs/a', 'host: a\r\nx-forwarded-for: 6.6.6.6\r\n'));
    expect(said).toEqual([expect.stringContaining('TRUSTED_PROXIES')]);
    const told = await open({}, undefined, { log, trustedProxies: ['127.0.0.1'] });
    await send(told, get('/sandbox-runs/a', 'host: a\r\nx-forwarded-for: 6.6.6.6\r\n'));
    expect(said).toHaveLength(1);
  });
});

describe('bytes that are no request', () => {
  it.each([
    ['nonsense', 'nonsense\r\n\r\n', 400, 'request_invalid'],
    ['a TLS greeting', '\x16\x03\x01\x02\x00\x01\x00', 400, 'request_invalid'],
    [
      'two lengths',
      'POST /x HTTP/1.1\r\nhost: a\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nab',
      400,
      'request_invalid',
    ],
    [
      'a length and chunks',
      'POST /x HTTP/1.1\r\nhost: a\r\ncontent-length: 1\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n',
      400,
      'request_invalid',
    ],
    ['a folded header', get('/x', 'host: a\r\nx-a: b\r\n c\r\n'), 400, 'request_invalid'],
    ['a space before the colon', get('/x', 'host: a\r\nx-a : b\r\n'), 400, 'request_invalid'],
    ['a header of 20 kB', get('/x', `host: a\r\nx-a: ${'b'.repeat(20_000)}\r\n`), 431, 'headers_too_large'],
    ['a target of 20 kB', get(`/${'b'.repeat(20_000)}`), 431, 'headers_too_large'],
  ])('%s', async (_what, text, status, code) => {
    const answer = await send(await open(), text);
    expect([answer.status, answer.body.error?.code], answer.text).toEqual([status, code]);
    expect(answer.text).toContain('connection: close');
  });

  it('survives a connection that only opens and closes, at every byte', async () => {
    const door = await open();
    for (const text of ['', 'P', 'PR', 'PRI', 'PRI * HTTP/2.0\r\n\r\nSM', 'G', 'GET / HT']) {
      const wire = dial(door, text);
      await waitFor(
        () => text,
        () => !wire.socket.connecting,
      );
      wire.socket.end();
      await cutOff(wire);
    }
    expect((await send(door, get('/sandbox-runs/a'))).status).toBe(200);
  });
});

describe('slow clients', () => {
  const quick: Partial<DoorLimits> = {
    headersTimeoutMs: 150,
    bodyTimeoutMs: 300,
    sweepMs: 30,
    keepAliveMs: 200,
  };

  it.each([
    ['say nothing', ''],
    ['stop after the first letter', 'P'],
    ['stop within the preface of HTTP/2', 'PRI * HTTP/2.0\r\n'],
    ['greet in HTTP/2 and stop', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
    ['stop within the head', 'GET /x HTTP/1.1\r\nhost: a\r\nx-a'],
  ])('that %s are cut off', async (_what, text) => {
    const wire = dial(await open(quick), text);
    await cutOff(wire, 3000);
    if (text.startsWith('GET')) expect(wire.text).toContain('"code":"request_timeout"');
  });

  it('that send a head byte by byte are cut off', async () => {
    const wire = dial(await open(quick), 'GET /x HTTP/1.1\r\nhost: a\r\n');
    const drip = setInterval(() => wire.socket.write('x'), 40);
    await cutOff(wire, 3000);
    clearInterval(drip);
  });

  it('that send a body byte by byte are answered 408', async () => {
    const wire = dial(
      // A head that is late because the machine is busy is not what this is about.
      await open({ ...quick, headersTimeoutMs: 3_000, bodyTimeoutMs: 3_000 }),
      'POST /teams/t/sandbox-runs HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\ncontent-length: 1000\r\n\r\n{',
    );
    const drip = setInterval(() => wire.socket.write(' '), 40);
    await told(wire, '408', 10_000);
    clearInterval(drip);
    expect(wire.text).toContain('"code":"request_timeout"');
  });

  it('whose head took its time are answered 408 too, and not cut off without a word', async () => {
    const wire = dial(
      await open({ ...quick, headersTimeoutMs: 250, sweepMs: 10 }),
      'POST /teams/t/sandbox-runs',
    );
    const rest = ' HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\ncontent-length: 1000\r\n\r\n{';
    setTimeout(() => wire.socket.write(rest), 150);
    await told(wire, '408');
    expect(wire.text).toContain('"code":"request_timeout"');
  });

  it('that send a body byte by byte over HTTP/2 are answered 408', async () => {
    const session = http2(await open(quick));
    const request = session.request({
      ':path': '/teams/t/sandbox-runs',
      ':method': 'POST',
      'content-type': 'application/json',
    });
    request.on('error', () => {});
    request.write('{');
    const status = await new Promise((resolve) =>
      request.once('response', (headers) => resolve(headers[':status'])),
    );
    expect(status).toBe(408);
  });

  it('are still served when their letters come one by one but in time', async () => {
    const door = await open();
    const wire = dial(door);
    for (const letter of get('/sandbox-runs/slow').slice(0, 8)) {
      wire.socket.write(letter);
      await new Promise((resolve) => setImmediate(resolve));
    }
    wire.socket.write(get('/sandbox-runs/slow').slice(8));
    await told(wire, '200 OK');
    const post = dial(door, 'P');
    await new Promise((resolve) => setImmediate(resolve));
    post.socket.write('OST /auth/logout HTTP/1.1\r\nhost: a\r\ncontent-length: 0\r\n\r\n');
    await told(post, '204');
  });

  it('do not keep an idle connection', async () => {
    const wire = dial(await open(quick), get('/sandbox-runs/a'));
    await told(wire, '200 OK');
    await cutOff(wire, 5000);
  });

  it('may wait for an answer longer than for anything else', async () => {
    let answer = (): void => {};
    const own: TestAnswers = {
      invoke: async (call) => (
        await new Promise<void>((resolve) => (answer = resolve)),
        create(call.rpc.desc.output)
      ),
    };
    const door = await open(quick, own);
    const wire = dial(
      door,
      'POST /runners/r/poll HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}',
    );
    // Every other limit has struck by the time these later connections are cut.
    const others = [
      dial(door, 'GET'),
      dial(door, 'POST /x HTTP/1.1\r\nhost: a\r\ncontent-length: 9\r\n\r\n'),
    ];
    await waitFor(
      () => others.map((other) => other.text),
      () => others.every((other) => other.closed),
    );
    expect([wire.closed, wire.text]).toEqual([false, '']);
    answer();
    await told(wire, '200 OK');
  });
});

function http2(door: TestDoor): ClientHttp2Session {
  const session = connectHttp2(door.url);
  session.on('error', () => {});
  sessions.push(session);
  return session;
}

function http2Get(session: ClientHttp2Session, headers: Record<string, string>): Promise<unknown> {
  return new Promise((resolve) => {
    const request = session.request(headers);
    request.once('response', (answer) => resolve(answer[':status']));
    request.once('error', (error: Error) => resolve(error.message));
    request.resume();
  });
}

describe('HTTP/2', () => {
  it('answers, and refuses a host that is not the authority', async () => {
    const session = http2(await open());
    expect(await http2Get(session, { ':path': '/sandbox-runs/a' })).toBe(200);
    expect(
      await http2Get(session, { ':path': '/sandbox-runs/a', ':authority': 'a.example', host: 'A.example' }),
    ).toBe(200);
    expect(
      await http2Get(session, { ':path': '/sandbox-runs/a', ':authority': 'a.example', host: 'b.example' }),
    ).toBe(400);
    // nghttp2 itself refuses a space or a line break in a path, by resetting the stream.
    for (const path of ['/sandbox-runs/a b', '/sandbox-runs/a\r\nx: y'])
      expect(await http2Get(session, { ':path': path })).toContain('NGHTTP2_PROTOCOL_ERROR');
    expect(await http2Get(session, { ':path': '/sandbox-runs/a#b' })).toBe(400);
    expect(await http2Get(session, { ':path': '/nowhere' })).toBe(404);
  });

  it('takes at most 128 requests at once on a connection', async () => {
    const session = http2(await open());
    await new Promise((resolve) => session.once('remoteSettings', resolve));
    expect(session.remoteSettings.maxConcurrentStreams).toBe(128);
  });

  it('refuses headers beyond 16 KiB, resets what is far beyond or too many, and goes on', async () => {
    const session = http2(await open());
    const wide = (count: number, bytes: number): Record<string, string> => ({
      ':path': '/sandbox-runs/a',
      ...Object.fromEntries(Array.from({ length: count }, (_, n) => [`x-${n}`, 'a'.repeat(bytes)])),
    });
    expect(await http2Get(session, wide(5, 4000))).toBe(431);
    expect(await http2Get(session, wide(16, 4000))).toContain('NGHTTP2_ENHANCE_YOUR_CALM');
    expect(await http2Get(session, wide(200, 1))).toContain('NGHTTP2_ENHANCE_YOUR_CALM');
    expect(await http2Get(session, wide(3, 4000))).toBe(200);
  });

  it('goes on serving others through a rapid reset', async () => {
    const door = await open();
    const attacker = http2(door);
    const settled = new Promise((resolve) => attacker.once('close', resolve));
    let opened = 0;
    const attack = (): void => {
      for (let i = 0; i < 100 && !attacker.destroyed && !attacker.closed; i++, opened++) {
        const request = attacker.request({ ':path': '/sandbox-runs/a' });
        request.on('error', () => {});
        request.close(constants.NGHTTP2_CANCEL);
      }
      if (opened < 5000 && !attacker.destroyed && !attacker.closed) setImmediate(attack);
      else attacker.destroy();
    };
    attack();
    const victim = http2(door);
    for (let i = 0; i < 20; i++) expect(await http2Get(victim, { ':path': '/sandbox-runs/v' })).toBe(200);
    await settled;
    expect(await http2Get(victim, { ':path': '/sandbox-runs/v' })).toBe(200);
  });
});

describe('closing', () => {
  const pending = (release: { go: () => void }): TestAnswers => ({
    invoke: async (call) => {
      await new Promise<void>((resolve) => (release.go = resolve));
      return create(call.rpc.desc.output);
    },
  });

  it.each(['h1', 'h2'])(
    'lets a call at work end, takes no new one, and then is gone (%s)',
    async (version) => {
      const release = { go: (): void => {} };
      const door = await open({}, pending(release));
      const idle = dial(door, get('/nowhere'));
      await told(idle, '404');
      const busy = version === 'h1' ? dial(door, get('/sandbox-runs/a')) : undefined;
      const answer = version === 'h2' ? http2Get(http2(door), { ':path': '/sandbox-runs/a' }) : undefined;
      await waitFor(
        () => 'not called',
        () => release.go.toString() !== '() => {}',
      );
      const closed = door.open.close(5000);
      await cutOff(idle);
      await expect(fetch(door.url)).rejects.toThrow();
      release.go();
      if (busy !== undefined) await told(busy, '200 OK');
      if (answer !== undefined) expect(await answer).toBe(200);
      await closed;
    },
  );

  it('cuts a call that does not end within the grace period, after telling it', async () => {
    const reasons: unknown[] = [];
    let called = 0;
    const own: TestAnswers = {
      invoke: (call) =>
        new Promise((_resolve, reject) => {
          called++;
          call.signal.addEventListener(
            'abort',
            () => (
              reasons.push((call.signal.reason as { code: string }).code),
              reject(call.signal.reason as Error)
            ),
          );
        }),
    };
    const door = await open({}, own);
    const busy = dial(door, get('/sandbox-runs/a'));
    await waitFor(
      () => called,
      () => called === 1,
    );
    await door.open.close(100);
    await told(busy, '"code":"unavailable"');
    expect(reasons).toEqual(['unavailable']);
  });
});
