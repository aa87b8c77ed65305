import { createServer } from 'node:http';
import { createHash, createPrivateKey, X509Certificate } from 'node:crypto';
import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { freePort } from '../../../test/setup/registry.ts';
import { has } from '../../../test/setup/needs.ts';
import { startPebble } from '../../../test/setup/edge/pebble.ts';
import { startFront } from '../../../test/setup/edge/front.ts';
import { listening } from '../../../test/setup/runner/listening.ts';
import { tempDir } from '../../../test/setup/runner/temp-dir.ts';
import { sharedByFile } from '../../../test/setup/runner/when-done.ts';
import { createHttpClient } from '../../control-plane/http-client.ts';
import { openAcme, type AcmeOptions } from './client.ts';
import { issue, type Solver } from './issue.ts';
import { thumbprint } from './jose.ts';
import { explained } from './problem.ts';
import { idOf, renewalId, renewAtMs } from './renewal.ts';

describe('what the standards print', () => {
  it('is the thumbprint of a key (RFC 7638, 3.1)', () => {
    const n =
      '0vx7agoebGcQSuuPiLJXZptN9nndrQmbXEps2aiAFbWhM78LhWx4cbbfAAtVT86zwu1RK7aPFFxuhDR1L6tSoc_BJECPebWKRXjBZCiFV4n3oknjhMstn64tZ_2W-5JsGY4Hc5n9yBXArwl93lqt7_RN5w6Cf0h4QyQ5v-65YGjQR0_FDW2QvzqY368QQMicAtaSqzs8KJZgnYb9c7d0zgdAZHzu6qMQvRL5hajrn1n91CbOpbISD08qNLyrdkt-bFTWhAI4vMQFh6WeZu0fM4lFd2NcRwr3XPksINHaQ-G_xBniIqbw0Ls1jF44-csFCur-kEgU8awapJzKnqDKgw';
    expect(thumbprint({ kty: 'RSA', n, e: 'AQAB', alg: 'RS256', kid: '2011-04-29' })).toBe(
      'NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs',
    );
    const members = '{"crv":"P-256","kty":"EC","x":"a","y":"b"}';
    expect(thumbprint({ y: 'b', x: 'a', kty: 'EC', crv: 'P-256' })).toBe(
      createHash('sha256').update(members).digest('base64url'),
    );
  });

  it('is the name of a certificate towards its authority (RFC 9773, 4.1)', () => {
    const keyId = Buffer.from('69885b6b87464041e1b37b847ba0ae2cde01c8d4', 'hex');
    expect(idOf(keyId, Buffer.from('0087654321', 'hex'))).toBe('aYhba4dGQEHhs3uEe6CuLN4ByNQ.AIdlQyE');
  });
});

describe('the moment of renewal', () => {
  const life = { notBeforeMs: 0, notAfterMs: 90_000 };

  it('is after two thirds of the life, 5 % of it sooner or later', () => {
    const moments = Array.from({ length: 200 }, (_, n) => renewAtMs({ ...life, serial: String(n) }));
    expect(Math.min(...moments)).toBeGreaterThanOrEqual(55_500);
    expect(Math.max(...moments)).toBeLessThanOrEqual(64_500);
    expect(Math.max(...moments) - Math.min(...moments)).toBeGreaterThan(7_000);
    expect(renewAtMs({ ...life, serial: '7' })).toBe(moments[7]);
  });

  it('lies in the window of the authority where there is one', () => {
    const moments = Array.from({ length: 50 }, (_, n) =>
      renewAtMs({ ...life, serial: String(n) }, { startMs: 10_000, endMs: 11_000 }),
    );
    expect(Math.min(...moments)).toBeGreaterThanOrEqual(10_000);
    expect(Math.max(...moments)).toBeLessThan(11_000);
  });
});

const shared = (await has('pebble'))
  ? sharedByFile(async () => {
      const tokens = new Map<string, string>();
      const server = createServer((asked, reply) => {
        const text = tokens.get(asked.url?.split('/').at(-1) ?? '');
        reply.writeHead(text === undefined ? 404 : 200).end(text);
      });
      const solver: Solver = {
        type: 'http-01',
        show: async ({ token, keyAuthorization }) => {
          tokens.set(token, keyAuthorization);
          return async () => void tokens.delete(token);
        },
      };
      const httpPort = await listening(server);
      const pebble = await startPebble({ httpPort });
      return { pebble, front: await startFront(pebble), solver, tokens };
    })
  : undefined;

const options = (ca: string, more: Partial<AcmeOptions> = {}): Omit<AcmeOptions, 'directory'> => ({
  dir: tempDir(),
  http: createHttpClient({ ca, env: {} }),
  nowMs: () => Date.now(),
  signal: new AbortController().signal,
  ...more,
});

describe.runIf(shared)('a certificate from a real authority that refuses half of all nonces', () => {
  const issueOf = async (name: string, given: Partial<AcmeOptions> = {}, replaces?: string) => {
    const { pebble, solver } = shared!();
    const all = { ...options(pebble.certificates.ca), directory: pebble.directory, ...given };
    const acme = await openAcme(all);
    const { nowMs, signal } = all;
    return await issue({
      acme,
      solver,
      name,
      nowMs,
      signal,
      ...(replaces === undefined ? {} : { replaces }),
    });
  };

  it('is of the name, and fits its key', async () => {
    const dir = tempDir();
    const { key, chain } = await issueOf('app.example.com', { dir, contact: 'ops@example.com' });
    const certificate = new X509Certificate(chain);
    expect(certificate.checkHost('app.example.com')).toBe('app.example.com');
    expect(certificate.checkPrivateKey(createPrivateKey(key))).toBe(true);
    expect(certificate.issuer).toContain('Pebble');
    expect(renewalId(certificate)).toMatch(/^[\w-]{20,}\.[\w-]{8,}$/);
    expect(shared!().tokens.size).toBe(0);
    expect(statSync(join(dir, 'account.key')).mode & 0o777).toBe(0o600);
  });

  it('is made with the account that is there, for a second name and after a restart of the daemon', async () => {
    const { front } = shared!();
    const dir = tempDir();
    await issueOf('one.example.com', { dir, directory: front.directory });
    const kid = readFileSync(join(dir, 'account.json'), 'utf8');
    await issueOf('two.example.com', { dir, directory: front.directory });
    expect(readFileSync(join(dir, 'account.json'), 'utf8')).toBe(kid);
    const accounts = front.seen.filter(({ payload }) => payload['termsOfServiceAgreed'] === true);
    // It was asked for once, though each refused nonce makes it be sent again.
    expect(new Set(accounts.map(({ path }) => path))).toEqual(new Set(['/sign-me-up']));
  });

  it('names the one that it takes the place of, and does without where the authority minds', async () => {
    const { front } = shared!();
    const before = front.seen.length;
    front.answerBy(({ payload }) =>
      payload['replaces'] === undefined
        ? undefined
        : { status: 409, body: { type: 'urn:ietf:params:acme:error:alreadyReplaced', detail: 'twice' } },
    );
    await issueOf('app.example.com', { directory: front.directory }, 'aYhba4dG.AIdlQyE');
    front.answerBy(() => undefined);
    const orders = front.seen.slice(before).filter(({ path }) => path === '/order-plz');
    expect(orders[0]?.payload['replaces']).toBe('aYhba4dG.AIdlQyE');
    expect(orders.at(-1)?.payload['replaces']).toBeUndefined();
  });

  it('comes from an authority that has forgotten the account', async () => {
    const { pebble } = shared!();
    const dir = tempDir();
    await issueOf('app.example.com', { dir });
    await pebble.stop();
    await pebble.start();
    expect(await issueOf('app.example.com', { dir })).toHaveProperty('chain');
  });

  it('is refused in one sentence when another server answers', async () => {
    const { pebble, tokens } = shared!();
    const lying: Solver = {
      type: 'http-01',
      show: async ({ token }) => {
        tokens.set(token, 'something else');
        return async () => void tokens.delete(token);
      },
    };
    const all = { ...options(pebble.certificates.ca), directory: pebble.directory };
    const acme = await openAcme(all);
    const failed = await issue({ ...all, acme, solver: lying, name: 'x.example.com' }).catch(
      (error: unknown) => explained(error, 'x.example.com'),
    );
    expect(failed).toEqual({
      problem:
        'another server answers the authority for x.example.com: point all of its A and AAAA records to this machine',
      detail: expect.stringContaining('something else') as string,
    });
  });

  it('is asked for with an account that is bound to one that the authority knows', async () => {
    const hmacKey = 'zWNDZM6eQGHWpSRTPal5eIUYFTu7EajVIoguysqZ9wG44nMEtx3MUAsUDkMTQ12W';
    const { solver } = shared!();
    const httpPort = await freePort();
    const pebble = await startPebble({
      httpPort,
      external: { 'kid-1': hmacKey },
      env: { PEBBLE_VA_ALWAYS_VALID: '1' },
    });
    const all = { ...options(pebble.certificates.ca), directory: pebble.directory, solver };
    const bound = { ...all, acme: await openAcme({ ...all, external: { kid: 'kid-1', hmacKey } }) };
    expect(await issue({ ...bound, name: 'a.example.com' })).toHaveProperty('chain');
    const unbound = { ...all, acme: await openAcme({ ...all, dir: tempDir() }) };
    const failed = await issue({ ...unbound, name: 'a.example.com' }).catch((error: unknown) =>
      explained(error, 'a.example.com'),
    );
    expect(failed).toMatchObject({
      problem: 'the authority wants an account of its own: name its key with --acme-eab-file',
    });
  });
});
