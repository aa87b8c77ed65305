/** Names that are proved by their zone's records: a real authority, name server and nginx. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createFakeClock } from '../../test/setup/clock.ts';
import { edgePlace, siteOf, startApp, withTls } from '../../test/setup/edge/edge.ts';
import { startFront } from '../../test/setup/edge/front.ts';
import { startKnot } from '../../test/setup/edge/knot.ts';
import { startNameServer, startPebble } from '../../test/setup/edge/pebble.ts';
import { has } from '../../test/setup/needs.ts';
import { sharedByFile } from '../../test/setup/runner/when-done.ts';
import { waitFor } from '../../test/setup/wait-for.ts';
import { changeZone, zoneOf, type DnsKey } from './dns-proofs.ts';
import type { Edge } from './edge.ts';

const ZONE = 'example.com';
const SECOND = '127.0.0.53';

const isHere = (await has('nginx')) && (await has('pebble')) && (await has('knot'));
const shared = isHere
  ? sharedByFile(async () => {
      const place = await edgePlace();
      const knot = await startKnot(ZONE, { ns2: SECOND });
      const pebble = await startPebble({ httpPort: place.httpPort, nameServer: knot.address });
      return { place, knot, pebble, front: await startFront(pebble), app: await startApp('one') };
    })
  : undefined;

const opened = async (key: Partial<DnsKey> = {}) => {
  const { place, knot, pebble, front } = shared!();
  front.answerBy(() => undefined);
  const clock = createFakeClock(new Date());
  const dns = {
    keyFile: knot.keyFile,
    zones: [ZONE],
    server: { host: '127.0.0.1', port: knot.port },
    ...key,
  };
  const edge = await place.open({
    acme: { directory: front.directory, caFile: pebble.certificates.caFile, dns },
    clock,
    resolver: knot.address,
    nameServerPort: knot.port,
    // Names lead elsewhere, as they do where only the site's own machines reach this one.
    addresses: ['192.0.2.1'],
  });
  await edge.apply([]);
  return { edge, clock };
};
const certificateOf = (edge: Edge, name: string) =>
  edge.status().find((status) => status.name === name)?.certificate;

describe('the zone of a name', () => {
  it('is the nearest one of the key, and none of another domain', () => {
    const zones = ['example.com', 'dev.example.com', 'example.org'];
    expect(
      ['a.dev.example.com', '*.dev.example.com', 'dev.example.com', '*.example.com', 'badexample.com'].map(
        (name) => zoneOf(name, zones),
      ),
    ).toEqual(['dev.example.com', 'dev.example.com', 'dev.example.com', 'example.com', undefined]);
  });
});

describe.runIf(shared)('names that records of their zone prove', () => {
  it('get certificates, wildcards too, and leave no record behind', async () => {
    const { place, knot, pebble, app } = shared!();
    const { edge } = await opened();
    const names = ['w.example.com', '*.w.example.com'];
    await edge.apply([withTls(siteOf('one', app, ...names))]);
    await edge.tick();
    for (const name of names) expect(certificateOf(edge, name)).toMatchObject({ state: 'active' });
    expect(await place.getTls('any.w.example.com', await pebble.root())).toMatchObject({
      status: 200,
      body: 'one',
    });
    expect((await place.shown('any.w.example.com'))?.subjectaltname).toBe('DNS:*.w.example.com');
    expect(await knot.proofsOf('w.example.com')).toEqual([]);
    expect(edge.status()[0]?.dns).toMatchObject({ state: 'wrong', seen: ['127.0.0.1'] });
  });

  it('are looked at by the authority once every server of the zone that answers has the record', async () => {
    const { knot, front, app } = shared!();
    const slow = await startNameServer({ host: SECOND, port: knot.port });
    const { edge } = await opened();
    await edge.apply([withTls(siteOf('one', app, 'slow.example.com'))]);
    front.seen.length = 0;
    const ticking = edge.tick();
    const record = await waitFor(
      'the record',
      async () => (await knot.proofsOf('slow.example.com'))[0] ?? false,
    );
    const challenged = () => front.seen.filter(({ path }) => path.startsWith('/chalZ/')).length;
    // The second server has been asked, too, when it was asked again.
    expect(challenged()).toBe(0);
    expect(certificateOf(edge, 'slow.example.com')).toMatchObject({ state: 'issuing' });
    await slow.setText('_acme-challenge.slow.example.com.', record);
    await ticking;
    expect(challenged()).toBeGreaterThan(0);
    expect(certificateOf(edge, 'slow.example.com')).toMatchObject({ state: 'active' });
  });

  it('say what is wrong with the key, and are proved by HTTP outside of its zones', async () => {
    const { knot, app } = shared!();
    const { edge, clock } = await opened({ keyFile: knot.wrongKeyFile(), zones: ['k.example.com', ZONE] });
    await edge.apply([withTls(siteOf('one', app, 'a.example.com', '*.k.example.com', '*.example.org'))]);
    await edge.tick();
    expect(certificateOf(edge, 'a.example.com')).toMatchObject({
      state: 'failed',
      problem:
        'the records of the zone example.com cannot be changed with the key of --acme-dns-key: see the detail',
      detail: expect.stringContaining('BADSIG') as string,
    });
    expect(certificateOf(edge, '*.k.example.com')).toMatchObject({
      problem: expect.stringContaining('the zone k.example.com') as string,
    });
    expect(certificateOf(edge, '*.example.org')).toEqual({
      state: 'unsupported',
      problem:
        'a certificate for *.example.org needs a proof by DNS, and this machine has no key for that zone (--acme-dns-key): add each name by itself',
    });
    clock.advance(1);
  });

  it('take away with the next proof what a killed daemon has left', async () => {
    const { place, knot, app } = shared!();
    const key = { keyFile: knot.keyFile, zones: [ZONE], server: { host: '127.0.0.1', port: knot.port } };
    await changeZone(key, ZONE, 'update add _acme-challenge.left.example.com. 60 TXT "of_before"');
    const file = join(place.dataDir, 'edge/proofs/of_before');
    writeFileSync(file, JSON.stringify({ zone: ZONE, record: '_acme-challenge.left.example.com.' }));
    expect(await knot.proofsOf('left.example.com')).toEqual(['of_before']);
    const { edge } = await opened();
    await edge.apply([withTls(siteOf('one', app, 'next.example.com'))]);
    await edge.tick();
    expect(certificateOf(edge, 'next.example.com')).toMatchObject({ state: 'active' });
    expect(await knot.proofsOf('left.example.com')).toEqual([]);
    expect(() => readFileSync(file)).toThrow(/ENOENT/);
  });
});
