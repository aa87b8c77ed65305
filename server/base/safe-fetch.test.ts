/** Every bad address of reference/security.md, section 6, row SSRF, and what a good one may answer. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer, type RequestListener, type Server } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import {
  createSafeFetch,
  isAllowedAddress,
  urlProblem,
  type SafeFetchError,
  type SafeFetchRules,
  type SafeRequest,
} from './safe-fetch.ts';

describe('an address that a customer named', () => {
  it.each([
    'https://127.1/',
    'https://0x7f000001/',
    'https://2130706433/',
    'https://017700000001/',
    'https://[::]/',
    'https://[::1]/',
    'https://[::ffff:169.254.169.254]/',
    'https://[::ffff:127.0.0.1]/',
    'https://[64:ff9b::a9fe:a9fe]/',
    'https://[64:ff9b:1::a9fe:a9fe]/',
    'https://[2002:7f00:1::]/',
    'https://[2001:0:4136:e378:8000:63bf:80ff:fffe]/',
    'https://[fe80::1]/',
    'https://[fec0::1]/',
    'https://[fd00::1]/',
    'https://[ff02::1]/',
    'https://[2001:db8::1]/',
    'https://localhost/',
    'https://localhost./',
    'https://app.localhost/',
    'https://intranet/',
    'https://0.0.0.0/',
    'https://10.1.2.3/',
    'https://100.64.0.1/',
    'https://169.254.169.254/',
    'https://172.31.255.255/',
    'https://192.0.0.8/',
    'https://192.168.0.1/',
    'https://198.19.0.1/',
    'https://224.0.0.1/',
    'https://255.255.255.255/',
    'https://user@example.com/',
    'https://user:password@example.com/',
    'https://example.com:22/',
    'https://example.com:5432/',
    'https://example.com:80/',
    'http://example.com/',
    'file:///etc/passwd',
    'gopher://example.com/',
    'ftp://example.com/',
    'nothing at all',
  ])('%s is refused before anything is looked up', async (url) => {
    expect(urlProblem(url)).toBeDefined();
    let asked = 0;
    const lookup = async () => {
      asked += 1;
      return [{ address: '93.184.216.34' }];
    };
    await expect(createSafeFetch({ lookup })({ method: 'GET', url })).rejects.toMatchObject({
      problem: 'blocked',
    });
    expect(asked).toBe(0);
  });

  it.each([
    'https://example.com/hook?a=b',
    'https://example.com:8443/',
    'https://8.8.8.8/',
    'https://[2606:4700::1111]/',
  ])('%s is fine', (url) => {
    expect(urlProblem(url)).toBeUndefined();
  });

  it.each([
    '172.15.255.255',
    '172.32.0.0',
    '100.63.255.255',
    '::ffff:8.8.8.8',
    '64:ff9b::808:808',
    '2002:808:808::',
  ])('%s is public', (address) => {
    expect(isAllowedAddress(address)).toBe(true);
  });

  it.each(['fe80::1%eth0', 'example.com', '', '::', '4000::1', '169.254.169.254'])(
    '%s is never one',
    (address) => {
      expect(isAllowedAddress(address, true)).toBe(false);
    },
  );

  it.each([
    ['169.254.169.254.nip.io', [['169.254.169.254']]],
    ['mixed.example.com', [['93.184.216.34', '10.0.0.1']]],
    ['mixed6.example.com', [['2606:4700::1111', '::ffff:127.0.0.1']]],
    ['nowhere.example.com', [[]]],
    ['rebinding.example.com', [['127.0.0.1'], ['93.184.216.34']]],
  ] as ReadonlyArray<[string, ReadonlyArray<readonly string[]>]>)(
    '%s is refused for what it resolves to',
    async (host, answers) => {
      const left = [...answers];
      const lookup = async () => (left.shift() ?? []).map((address) => ({ address }));
      const call = createSafeFetch({ lookup })({ method: 'GET', url: `https://${host}/` });
      await expect(call).rejects.toMatchObject({ problem: 'blocked' });
    },
  );
});

describe('a request', () => {
  const servers: Server[] = [];
  afterEach(() => {
    for (const server of servers.splice(0)) {
      server.closeAllConnections();
      server.close();
    }
  });
  const listen = async (server: Server): Promise<number> => {
    servers.push(server);
    await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
    return (server.address() as AddressInfo).port;
  };
  const serve = async (listener: RequestListener): Promise<string> =>
    `http://127.0.0.1:${await listen(createServer(listener))}`;
  const fetchFrom = async (url: string, more: Partial<SafeRequest> = {}, rules: SafeFetchRules = {}) =>
    await createSafeFetch({ allowPrivate: true, ...rules })({ method: 'GET', url, ...more });

  it('sends what it was given and reads the answer', async () => {
    const seen: string[] = [];
    const url = await serve((request, response) => {
      request.setEncoding('utf8');
      request.on('data', (text: string) =>
        seen.push(`${request.method} ${request.url} ${request.headers.host} ${text}`),
      );
      request.on('end', () => response.writeHead(202).end('thank you'));
    });
    const answer = await fetchFrom(`${url}/hook?a=b`, { method: 'POST', body: 'grüße' });
    expect([answer.status, Buffer.from(answer.body).toString()]).toEqual([202, 'thank you']);
    expect(seen).toEqual([`POST /hook?a=b ${new URL(url).host} grüße`]);
  });

  it('connects to the address that was checked, whatever the name answers next', async () => {
    const url = new URL(await serve((_request, response) => response.end('mine')));
    let asked = 0;
    const lookup = async () => {
      asked += 1;
      return [{ address: asked === 1 ? '127.0.0.1' : '169.254.169.254' }];
    };
    const answer = await fetchFrom(`http://name.example.com:${url.port}/`, {}, { lookup });
    expect([Buffer.from(answer.body).toString(), asked]).toEqual(['mine', 1]);
  });

  it.each(['file:///etc/passwd', 'gopher://127.0.0.1/', 'http://127.0.0.1/', '/again'])(
    'does not follow a redirect to %s',
    async (location) => {
      let calls = 0;
      const url = await serve((_request, response) => {
        calls += 1;
        response.writeHead(302, { location }).end();
      });
      expect((await fetchFrom(url)).status).toBe(302);
      expect(calls).toBe(1);
    },
  );

  it('gives up an endless body at its limit', async () => {
    const url = await serve((_request, response) => {
      const more = (): void =>
        void (response.write(Buffer.alloc(65_536)) ? setImmediate(more) : response.once('drain', more));
      response.on('error', () => undefined);
      more();
    });
    await expect(fetchFrom(url)).rejects.toMatchObject({ problem: 'too_large' });
  });

  it('does not unpack a bomb', async () => {
    const bomb = gzipSync(Buffer.alloc(50_000_000));
    const url = await serve((_request, response) =>
      response.writeHead(200, { 'content-encoding': 'gzip' }).end(bomb),
    );
    expect((await fetchFrom(url)).body).toHaveLength(bomb.length);
  });

  it('ends in time when nothing answers, or drips, or does not resolve', async () => {
    const silent = await serve(() => undefined);
    const dripping = await serve((_request, response) => {
      const timer = setInterval(() => response.write('.'), 20);
      response.on('close', () => clearInterval(timer));
    });
    const lookup = async () => await new Promise<never>(() => undefined);
    const calls = [
      fetchFrom(silent, { timeoutMs: 200 }),
      fetchFrom(dripping, { timeoutMs: 200 }),
      fetchFrom('http://slow.example.com/', { timeoutMs: 200 }, { lookup }),
    ];
    for (const outcome of await Promise.allSettled(calls))
      expect(outcome).toMatchObject({ status: 'rejected', reason: { problem: 'timeout' } });
  });

  it('says of a closed port what the system says, and no address', async () => {
    const url = await serve(() => undefined);
    await new Promise((done) => servers[0]!.close(done));
    const error = await fetchFrom(url).catch((thrown: unknown) => thrown as SafeFetchError);
    expect(error).toMatchObject({ problem: 'network', message: 'the connection failed: ECONNREFUSED' });
  });

  describe('over TLS', () => {
    let cert = '';
    let key = '';
    beforeAll(() => {
      const folder = mkdtempSync(join(tmpdir(), 'svc-tls-'));
      const out = ['-keyout', join(folder, 'key.pem'), '-out', join(folder, 'cert.pem')];
      const name = ['-subj', '/CN=right.example.com', '-addext', 'subjectAltName=DNS:right.example.com'];
      execFileSync(
        'openssl',
        ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2', ...out, ...name],
        { stdio: 'ignore' },
      );
      cert = readFileSync(join(folder, 'cert.pem'), 'utf8');
      key = readFileSync(join(folder, 'key.pem'), 'utf8');
      rmSync(folder, { recursive: true });
    });
    const call = async (host: string, rules: SafeFetchRules) => {
      const port = await listen(createTlsServer({ cert, key }, (_request, response) => response.end('safe')));
      const lookup = async () => [{ address: '127.0.0.1' }];
      return await fetchFrom(`https://${host}:${port}/`, {}, { lookup, ...rules });
    };

    it('needs a certificate for the name that was asked for', async () => {
      expect((await call('right.example.com', { ca: cert })).status).toBe(200);
      await expect(call('wrong.example.com', { ca: cert })).rejects.toMatchObject({
        message: 'the connection failed: ERR_TLS_CERT_ALTNAME_INVALID',
      });
    });

    it('needs an authority that is trusted', async () => {
      await expect(call('right.example.com', {})).rejects.toMatchObject({ problem: 'network' });
    });
  });
});
