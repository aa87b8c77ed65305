import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createFakeClock } from '../../../test/setup/clock.ts';
import { has } from '../../../test/setup/needs.ts';
import { edgePlace, siteOf, startApp, withTls } from '../../../test/setup/edge/edge.ts';
import { startFront } from '../../../test/setup/edge/front.ts';
import { startPebble } from '../../../test/setup/edge/pebble.ts';
import { listening } from '../../../test/setup/runner/listening.ts';
import { sharedByFile } from '../../../test/setup/runner/when-done.ts';
import { createLog } from '../../platform/log.ts';
import type { Edge, EdgeOptions } from '../edge.ts';

const HOUR_MS = 3_600_000;

const isHere = (await has('nginx')) && (await has('pebble'));
const shared = isHere
  ? sharedByFile(async () => {
      const place = await edgePlace();
      const pebble = await startPebble({ httpPort: place.httpPort });
      const [one, two] = [await startApp('one'), await startApp('two')];
      return { place, pebble, front: await startFront(pebble), one, two };
    })
  : undefined;

/** One story after the other opens an edge in the same place, and leaves no site behind. */
const opened = async (more: Partial<EdgeOptions> = {}) => {
  const { place, pebble, front } = shared!();
  front.answerBy(() => undefined);
  front.suggest(undefined);
  const clock = createFakeClock(new Date());
  const acme = { directory: front.directory, caFile: pebble.certificates.caFile };
  const options = { acme, clock, resolver: pebble.dns.address, addresses: ['127.0.0.1'], ...more };
  const edge = await place.open(options);
  await edge.apply([]);
  return { edge, clock, reopen: async () => await place.open(options) };
};
const certificateOf = (edge: Edge, name: string) =>
  edge.status().find((status) => status.name === name)?.certificate;
const refused = (type: string, status = 403, headers = {}) => ({
  status,
  headers,
  body: { type: `urn:ietf:params:acme:error:${type}`, detail: `no: ${type}` },
});

describe.runIf(shared)('a name with TLS', () => {
  it('gets a certificate of its own, is served with it, and leaves nothing behind when it goes', async () => {
    const { place, pebble, one } = shared!();
    let said = '';
    const log = createLog({ level: 'debug', human: false, write: (text) => (said += text) });
    const { edge } = await opened({ log });
    const sites = [withTls(siteOf('one', one, 'a1.example.com', 'b1.example.com'))];
    await edge.apply(sites);
    expect(await place.get('a1.example.com')).toMatchObject({ status: 200 });
    expect(certificateOf(edge, 'a1.example.com')).toMatchObject({ state: 'none' });
    await edge.tick();
    expect(certificateOf(edge, 'a1.example.com')).toMatchObject({
      state: 'active',
      issuer: expect.stringContaining('Pebble') as string,
    });
    expect(edge.status()[0]?.dns).toEqual({ state: 'ok', expected: ['127.0.0.1'], seen: ['127.0.0.1'] });
    const root = await pebble.root();
    const answer = await place.getTls('a1.example.com', root);
    expect(answer).toMatchObject({ status: 200, body: 'one' });
    expect(answer.headers).not.toHaveProperty('strict-transport-security');
    expect(one.headers()).toMatchObject({ 'x-forwarded-proto': 'https', host: 'a1.example.com' });
    expect(await place.get('b1.example.com', { path: '/x?y=1' })).toMatchObject({
      status: 308,
      headers: { location: `https://b1.example.com:${place.httpsPort}/x?y=1` },
    });
    const serials = ['a1', 'b1'].map((name) => certificateOf(edge, `${name}.example.com`)?.serial);
    expect(serials[0]).not.toBe(serials[1]);
    expect((await place.shown('b1.example.com'))?.serialNumber).toBe(serials[1]);
    expect(await place.shown('c.example.com')).toBeUndefined();

    const folder = join(place.dataDir, 'edge/certificates');
    const key = readFileSync(join(folder, 'live/a1.example.com.pem'), 'utf8');
    expect(statSync(join(folder, 'live/a1.example.com.pem')).mode & 0o777).toBe(0o600);
    expect(said).toContain('a certificate was issued');
    for (const line of key.split('\n').slice(-4, -2)) expect(said).not.toContain(line);
    await edge.apply([withTls(siteOf('one', one, 'b1.example.com'))]);
    expect(readdirSync(join(folder, 'live'))).toEqual(['b1.example.com.pem']);
    expect(readdirSync(join(folder, 'spare'))).toEqual(['b1.example.com.pem']);
    expect(await place.shown('a1.example.com')).toBeUndefined();
    await edge.apply([]);
    expect(readdirSync(join(folder, 'live'))).toEqual([]);
  });

  it('is renewed by itself after two thirds of the life of its certificate', async () => {
    const { place, one, front } = shared!();
    const { edge, clock } = await opened();
    await edge.apply([withTls(siteOf('one', one, 'a2.example.com'))]);
    await edge.tick();
    const first = certificateOf(edge, 'a2.example.com');
    const orders = front.orders();
    clock.advance(50 * 24 * HOUR_MS);
    await edge.tick();
    expect(front.orders()).toBe(orders);
    const due = Date.parse(first?.nextAttemptAt ?? '') - clock.now().getTime();
    expect(due / (24 * HOUR_MS)).toBeGreaterThan(4);
    expect(due / (24 * HOUR_MS)).toBeLessThan(15);
    clock.advance(due);
    expect(certificateOf(edge, 'a2.example.com')).toMatchObject({ state: 'renewing' });
    await edge.tick();
    const second = certificateOf(edge, 'a2.example.com');
    expect(second?.serial).not.toBe(first?.serial);
    expect((await place.shown('a2.example.com'))?.serialNumber).toBe(second?.serial);
  });

  it('is renewed when its authority says so, and names the certificate that goes', async () => {
    const { one, front } = shared!();
    const { edge, clock } = await opened();
    const inHours = (hours: number) => new Date(clock.now().getTime() + hours * HOUR_MS);
    let window = { start: inHours(500), end: inHours(501), retryAfter: '60' };
    front.suggest(() => window);
    await edge.apply([withTls(siteOf('one', one, 'a3.example.com'))]);
    await edge.tick();
    await edge.tick();
    const first = certificateOf(edge, 'a3.example.com');
    const planned = Date.parse(first?.nextAttemptAt ?? '');
    expect(planned).toBeGreaterThanOrEqual(window.start.getTime());
    expect(planned).toBeLessThan(window.end.getTime());
    const asked = () => front.seen.filter(({ path }) => path.startsWith('/renewal-info/')).length;
    const before = asked();
    // Something went wrong at the authority: it wants this certificate replaced soon.
    window = { start: inHours(7), end: inHours(8), retryAfter: '60' };
    clock.advance(5 * HOUR_MS);
    await edge.tick();
    expect(asked()).toBe(before);
    clock.advance(HOUR_MS);
    await edge.tick();
    expect(asked()).toBe(before + 1);
    clock.advance(2 * HOUR_MS);
    await edge.tick();
    expect(certificateOf(edge, 'a3.example.com')?.serial).not.toBe(first?.serial);
    const order = front.seen.findLast(({ path }) => path === '/order-plz');
    expect(order?.payload['replaces']).toMatch(/^[\w-]+\.[\w-]+$/);
  });

  it('is served with the spare when the file of its certificate is damaged, and others reload', async () => {
    const { place, one, two } = shared!();
    const { edge, reopen } = await opened();
    const sites = [
      withTls(siteOf('one', one, 'a4.example.com')),
      withTls(siteOf('two', two, 'b4.example.com')),
    ];
    await edge.apply(sites);
    await edge.tick();
    const serial = certificateOf(edge, 'a4.example.com')?.serial;
    const file = (folder: string) => join(place.dataDir, 'edge/certificates', folder, 'a4.example.com.pem');
    writeFileSync(file('live'), 'no certificate');
    await edge.switchTo('env_two', { host: '127.0.0.1', port: one.port });
    expect(await place.get('b4.example.com')).toMatchObject({ status: 308 });
    expect(certificateOf(edge, 'a4.example.com')).toMatchObject({
      state: 'active',
      problem: 'the certificate of a4.example.com on this machine is damaged: its spare is served',
      serial,
    });
    expect((await place.shown('a4.example.com'))?.serialNumber).toBe(serial);
    // Key and certificate of different pairs would refuse the reload of all sites.
    const other = readFileSync(file('live').replace('/a4.', '/b4.'), 'utf8');
    const key = other.slice(other.indexOf('-----BEGIN PRIVATE'));
    const spare = readFileSync(file('spare'), 'utf8');
    writeFileSync(file('spare'), spare.slice(0, spare.indexOf('-----BEGIN PRIVATE')) + key);
    await edge.stop();
    const again = await reopen();
    expect(certificateOf(again, 'a4.example.com')).toMatchObject({
      problem:
        'the certificate of a4.example.com on this machine is damaged: it is served without TLS until a new one is issued',
    });
    expect(await place.get('a4.example.com')).toMatchObject({ status: 200, body: 'one' });
    expect((await place.shown('b4.example.com'))?.serialNumber).toBeDefined();
    await again.tick();
    expect(certificateOf(again, 'a4.example.com')).toMatchObject({ state: 'active' });
    expect(certificateOf(again, 'a4.example.com')?.serial).not.toBe(serial);
    expect((await place.shown('a4.example.com'))?.serialNumber).toBe(
      certificateOf(again, 'a4.example.com')?.serial,
    );
  });

  it('gets none for a wildcard, and says so', async () => {
    const { place, one, front } = shared!();
    const { edge } = await opened();
    const orders = front.orders();
    await edge.apply([withTls(siteOf('one', one, '*.w.example.com'))]);
    await edge.tick();
    expect(certificateOf(edge, '*.w.example.com')).toMatchObject({ state: 'unsupported' });
    expect(front.orders()).toBe(orders);
    expect(await place.get('any.w.example.com')).toMatchObject({ body: 'one' });
  });
});

describe.runIf(shared)('a name that leads elsewhere', () => {
  it('is not ordered for until its records are right', async () => {
    const { pebble, one, front } = shared!();
    const { edge, clock } = await opened();
    await edge.apply([withTls(siteOf('one', one, 'dns.example.com'))]);
    await pebble.dns.setAddresses('dns.example.com', ['192.0.2.7']);
    const orders = front.orders();
    await edge.tick();
    expect(edge.status()).toMatchObject([
      {
        dns: { state: 'wrong', expected: ['127.0.0.1'], seen: ['192.0.2.7'] },
        certificate: {
          state: 'waiting_dns',
          problem: 'dns.example.com leads to 192.0.2.7: change its A and AAAA records to 127.0.0.1',
        },
      },
    ]);
    await pebble.dns.setDefault('');
    await pebble.dns.setAddresses('dns.example.com', []);
    clock.advance(60_000);
    await edge.tick();
    await pebble.dns.setDefault('127.0.0.1');
    expect(edge.status()).toMatchObject([
      { dns: { state: 'missing' }, certificate: { state: 'waiting_dns' } },
    ]);
    expect(front.orders()).toBe(orders);
    await pebble.dns.setAddresses('dns.example.com', ['127.0.0.1']);
    await edge.tick();
    expect(certificateOf(edge, 'dns.example.com')).toMatchObject({ state: 'waiting_dns' });
    clock.advance(60_000);
    await edge.tick();
    expect(certificateOf(edge, 'dns.example.com')).toMatchObject({ state: 'active' });
  });

  it('is not ordered for while another server answers there', async () => {
    const { pebble, one, front } = shared!();
    const other = await listening(createServer((_asked, reply) => reply.writeHead(404).end('nothing here')));
    const { edge } = await opened();
    await edge.stop();
    const place = await edgePlace();
    const acme = { directory: front.directory, caFile: pebble.certificates.caFile };
    const away = await place.open({ acme, resolver: pebble.dns.address, addresses: ['127.0.0.1'] });
    await away.apply([withTls(siteOf('one', one, 'a7.example.com'))]);
    const orders = front.orders();
    // The port of the other server is asked, as if it were that of the address.
    const { openChallenges } = await import('../challenges.ts');
    const challenges = await openChallenges(place.dir, new AbortController().signal);
    const at = { name: 'a7.example.com', address: '127.0.0.1' };
    expect(await challenges.readBack({ ...at, port: other })).toBe('wrong');
    expect(await challenges.readBack({ ...at, port: place.httpPort })).toBe('ok');
    expect(await challenges.readBack({ ...at, port: 1 })).toBe('unknown');
    expect(front.orders()).toBe(orders);
  });
});

describe.runIf(shared)('an authority that refuses', () => {
  it('is asked again after 15 minutes, 1, 3, 12 and 24 hours, over restarts of the daemon too', async () => {
    const { one, front } = shared!();
    const { clock, reopen, ...first } = await opened();
    let { edge } = first;
    await edge.apply([withTls(siteOf('one', one, 'a8.example.com'))]);
    front.answerBy(({ path }) => (path === '/order-plz' ? refused('caa') : undefined));
    for (const [before, minutes] of [15, 60, 180, 720, 1_440, 1_440].entries()) {
      const orders = front.orders();
      await edge.tick();
      expect(front.orders()).toBeGreaterThan(orders);
      expect(certificateOf(edge, 'a8.example.com')).toEqual({
        state: 'failed',
        problem:
          'a CAA record forbids this authority to issue for a8.example.com: allow it there or remove the record',
        detail: 'no: caa',
        failures: before + 1,
        nextAttemptAt: new Date(clock.now().getTime() + minutes * 60_000).toISOString(),
      });
      clock.advance(minutes * 60_000 - 1);
      const failed = front.orders();
      await edge.tick();
      await edge.stop();
      edge = await reopen();
      await edge.tick();
      expect(front.orders()).toBe(failed);
      clock.advance(1);
    }
    front.answerBy(() => undefined);
    await edge.tick();
    expect(certificateOf(edge, 'a8.example.com')).toMatchObject({ state: 'active' });
  });

  it('is asked three times an hour at most, whoever asks', async () => {
    const { one, front } = shared!();
    const { edge, clock } = await opened();
    const sites = [withTls(siteOf('one', one, 'a9.example.com'))];
    await edge.apply(sites);
    let tries = 0;
    front.answerBy(({ path, payload }) => {
      if (path !== '/order-plz' || payload['identifiers'] === undefined) return undefined;
      tries += 1;
      return refused('unauthorized');
    });
    for (let asked = 0; asked < 6; asked += 1) {
      await edge.retry('a9.example.com');
      await edge.tick();
      clock.advance(60_000);
    }
    expect(tries).toBe(3);
    expect(certificateOf(edge, 'a9.example.com')?.nextAttemptAt).toBe(
      new Date(clock.now().getTime() + 54 * 60_000).toISOString(),
    );
    // To take the name away and to bring it back makes no difference.
    await edge.apply([]);
    await edge.apply(sites);
    await edge.tick();
    expect(tries).toBe(3);
    clock.advance(54 * 60_000);
    await edge.tick();
    expect(tries).toBe(4);
  });

  it('is left alone for as long as it wants, and the old certificate is served meanwhile', async () => {
    const { place, one, front } = shared!();
    const { edge, clock } = await opened();
    await edge.apply([withTls(siteOf('one', one, 'a10.example.com'))]);
    await edge.tick();
    const { serial } = certificateOf(edge, 'a10.example.com') ?? {};
    clock.advance(70 * 24 * HOUR_MS);
    front.answerBy(({ path }) =>
      path === '/order-plz' ? refused('rateLimited', 429, { 'retry-after': '86400' }) : undefined,
    );
    await edge.tick();
    expect(certificateOf(edge, 'a10.example.com')).toMatchObject({
      state: 'failed',
      problem: 'the authority has a limit of certificates that is reached: the next try comes by itself',
      nextAttemptAt: new Date(clock.now().getTime() + 24 * HOUR_MS).toISOString(),
      serial,
    });
    expect((await place.shown('a10.example.com'))?.serialNumber).toBe(serial);
    clock.advance(25 * 24 * HOUR_MS);
    expect(certificateOf(edge, 'a10.example.com')).toMatchObject({ state: 'expired' });
    expect((await place.shown('a10.example.com'))?.serialNumber).toBe(serial);
  });

  it('is away, or cannot resolve the name: both are said in a sentence', async () => {
    const { pebble, one } = shared!();
    const { edge, clock } = await opened();
    await edge.apply([withTls(siteOf('one', one, 'away.example.com', 'fail.example.com'))]);
    await pebble.dns.failFor('fail.example.com');
    await edge.tick();
    expect(edge.status()[1]).toMatchObject({
      dns: { state: 'unknown' },
      certificate: {
        state: 'failed',
        problem: expect.stringMatching(/^the authority cannot (resolve|reach) fail\.example\.com/) as string,
      },
    });
    await pebble.dns.answerFor('fail.example.com');
    clock.advance(70 * 24 * HOUR_MS);
    await edge.stop();
    const gone = { directory: 'https://localhost:1/dir', caFile: pebble.certificates.caFile };
    const again = await shared!().place.open({ acme: gone, clock, resolver: pebble.dns.address });
    await again.tick();
    expect(again.status()[0]?.certificate).toMatchObject({
      state: 'failed',
      problem: 'the authority cannot be reached from this machine: the next try comes by itself',
      detail: expect.stringContaining('ECONNREFUSED') as string,
    });
    expect(existsSync(join(shared!().place.dataDir, 'edge/certificates/live/away.example.com.pem'))).toBe(
      true,
    );
  });
});
