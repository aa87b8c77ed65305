/** TXT look-ups against a real name server, and against servers that answer nothing of use. */
import { Resolver } from 'node:dns/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { refusal, startDnsServer, startOddServer, type DnsServer } from '../../test/setup/dns-server.ts';
import { has } from '../../test/setup/needs.ts';
import { freePort } from '../../test/setup/registry.ts';
import { TIMED } from '../../test/setup/timed.ts';
import { createDns, isDnsServer, type TxtAnswer } from './dns.ts';

const dnsmasqHere = await has('dnsmasq');

const found = (...records: string[]): TxtAnswer => ({ outcome: 'found', records });
const absent: TxtAnswer = { outcome: 'absent' };
const failed = (reason: string): TxtAnswer => ({ outcome: 'failed', reason });
const sorted = (answer: TxtAnswer) =>
  answer.outcome === 'found' ? found(...answer.records.toSorted()) : answer;

describe.skipIf(!dnsmasqHere)('a look-up', () => {
  let server: DnsServer;
  const ask = async (name: string): Promise<TxtAnswer> =>
    await createDns({ servers: [server.address] }).txt(name);
  const many = Array.from({ length: 60 }, (_, n) => `${n} ${'x'.repeat(200)}`).toSorted();

  beforeAll(async () => {
    server = await startDnsServer();
    await server.set(
      {
        'one.example.com': ['a value'],
        'two.example.com': ['first', 'second'],
        'long.example.com': [['a'.repeat(255), 'b'.repeat(255), 'c']],
        'large.example.com': many,
        'crowded.example.com': Array.from({ length: 101 }, (_, n) => `${n}`),
        'huge.example.com': Array.from({ length: 90 }, (_, n) => [`${n}`, 'x'.repeat(255), 'y'.repeat(255)]),
      },
      ['address.example.com'],
    );
  });
  afterAll(async () => await server.stop());

  it('finds the record', async () => {
    expect(await ask('one.example.com')).toEqual(found('a value'));
    expect(await ask('ONE.example.com')).toEqual(found('a value'));
  });

  it('finds all of several records', async () => {
    expect(sorted(await ask('two.example.com'))).toEqual(found('first', 'second'));
  });

  it('joins the chunks of one record', async () => {
    expect(await ask('long.example.com')).toEqual(found(`${'a'.repeat(255)}${'b'.repeat(255)}c`));
  });

  it('reads an answer that is too large for a datagram', async () => {
    expect(sorted(await ask('large.example.com'))).toEqual(found(...many));
  });

  it('reads no more than its bounds', async () => {
    expect(await ask('crowded.example.com')).toEqual(
      failed('the answer has 101 TXT records of 193 characters together, at most 100 of 32768 are read'),
    );
    expect(await ask('huge.example.com')).toEqual(
      failed('the answer has 90 TXT records of 46070 characters together, at most 100 of 32768 are read'),
    );
  });

  it('knows that there is none from a name that does not exist, and from one without such records', async () => {
    expect(await ask('missing.example.com')).toEqual(absent);
    expect(await ask('address.example.com')).toEqual(absent);
  });

  it('sees a change at once', async () => {
    const own = await startDnsServer();
    try {
      const dns = createDns({ servers: [own.address] });
      await own.set({});
      expect(await dns.txt('new.example.com')).toEqual(absent);
      await own.set({ 'new.example.com': ['set'] });
      expect(await dns.txt('new.example.com')).toEqual(found('set'));
      await own.set({ 'new.example.com': ['changed'] });
      expect(await dns.txt('new.example.com')).toEqual(found('changed'));
    } finally {
      await own.stop();
    }
  });

  it('takes a refusal for no absence', async () => {
    expect(await ask('example.org')).toEqual(failed('the name servers refuse to answer (REFUSED)'));
  });

  it.each([
    ['SERVFAIL', refusal(2)],
    ['nothing', () => undefined],
  ])('asks the next server when one answers %s', async (_what, answer) => {
    const bad = await startOddServer(answer);
    try {
      const dns = createDns({ servers: [bad.address, server.address], withinMs: 2_000 });
      expect(await dns.txt('one.example.com')).toEqual(found('a value'));
      expect(await dns.txt('missing.example.com')).toEqual(absent);
      expect(bad.queries).toBe(2);
    } finally {
      await bad.stop();
    }
  });
});

describe('a look-up that fails', () => {
  const WITHIN_MS = 500;
  const silence = failed('no name server answered within 0.5 s');
  const against = async (answer: (query: Buffer) => Buffer | undefined): Promise<TxtAnswer> => {
    const server = await startOddServer(answer);
    try {
      return await createDns({ servers: [server.address], withinMs: WITHIN_MS }).txt('a.example.com');
    } finally {
      await server.stop();
    }
  };

  it('says SERVFAIL', async () => {
    const servfail = failed('the name servers of the domain do not answer properly (SERVFAIL)');
    expect(await against(refusal(2))).toEqual(servfail);
  });

  it('says when nothing listens', async () => {
    const dns = createDns({ servers: [`127.0.0.1:${await freePort()}`] });
    expect(await dns.txt('a.example.com')).toEqual(failed('no name server can be reached'));
  });

  it.each([
    ['nothing', () => undefined],
    ['another question', (query: Buffer) => Buffer.concat([Buffer.from([0, 0]), query.subarray(2)])],
  ])('ends in time when the server answers %s', TIMED, async (_what, answer) => {
    const began = performance.now();
    expect(await against(answer)).toEqual(silence);
    expect(performance.now() - began).toBeLessThan(2 * WITHIN_MS);
  });

  it('ends in time however many servers are silent', TIMED, async () => {
    const servers = await Promise.all(Array.from({ length: 8 }, async () => startOddServer(() => undefined)));
    const began = performance.now();
    const dns = createDns({ servers: servers.map(({ address }) => address), withinMs: WITHIN_MS });
    expect(await dns.txt('a.example.com')).toEqual(silence);
    expect(performance.now() - began).toBeLessThan(2 * WITHIN_MS);
    await Promise.all(servers.map(async (server) => await server.stop()));
  });

  it('takes nonsense for no answer', async () => {
    expect(await against(() => Buffer.from('hello'))).toMatchObject({ outcome: 'failed' });
  });

  it('asks a silent server once more', async () => {
    let asked = 0;
    expect(await against((query) => ((asked += 1) === 1 ? undefined : refusal(3)(query)))).toEqual(absent);
  });

  it.each([
    ['empty', ''],
    ['of the root', '.'],
    ['with an empty label', 'a..b'],
    ['with a long label', `${'x'.repeat(64)}.example.com`],
    ['too long', `${'x.'.repeat(200)}com`],
    ['with a space', 'a b'],
    ['with U+0000', 'nul\u0000.com'],
  ])('takes a name that is %s without throwing', async (_what, name) => {
    const { outcome } = await createDns({ servers: [`127.0.0.1:${await freePort()}`] }).txt(name);
    expect(outcome).toBe('failed');
  });

  it('takes a server that is none without throwing', async () => {
    expect(await createDns({ servers: ['nowhere'] }).txt('a.example.com')).toEqual(
      failed('the look-up failed (ERR_INVALID_IP_ADDRESS)'),
    );
  });
});

describe('isDnsServer()', () => {
  it.each(['192.0.2.1', '192.0.2.1:53', '127.0.0.1:65535', '2001:db8::1', '[2001:db8::1]', '[::1]:5353'])(
    'takes %s, and so does the resolver',
    (text) => {
      expect(isDnsServer(text)).toBe(true);
      const resolver = new Resolver();
      resolver.setServers([text]);
      expect(resolver.getServers()).toHaveLength(1);
    },
  );

  it.each([
    '',
    'dns.example.com',
    'a:b',
    '192.0.2',
    '192.0.2.1:',
    '192.0.2.1:0',
    '192.0.2.1:65536',
    '[::1',
    '::1]:53',
    '[192.0.2.1]:53',
    '[fe80::1%lo]:53',
    'fe80::1%lo',
  ])('refuses %j', (text) => {
    expect(isDnsServer(text)).toBe(false);
  });
});
