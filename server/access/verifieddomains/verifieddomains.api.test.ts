/**
 * Verified domains are called over HTTP, against a real name server: proofs, what stands in their way, and
 * whose a domain is.
 */
import { createSvcSDK, type SvcSDK, type VerifiedDomain } from '@svc/sdk';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import {
  forward,
  refusal,
  startDnsServer,
  startOddServer,
  type DnsServer,
  type OddServer,
} from '../../../test/setup/dns-server.ts';
import { has } from '../../../test/setup/needs.ts';
import { join, stranger } from '../../../test/setup/people.ts';
import { refused } from '../../../test/setup/refused.ts';
import { startTestServer, type TestServer } from '../../../test/setup/server.ts';
import { systemClock } from '../../base/clock.ts';
import { isVerified } from './index.ts';

const everythingHere = (await has('postgres')) && (await has('dnsmasq'));
const PAUSE_MS = 5_000;

describe.skipIf(!everythingHere)('verified domains', () => {
  let names: DnsServer;
  /** Before dnsmasq, which it passes queries to. */
  let door: OddServer;
  let server: TestServer;
  let aheadMs = 0;
  let beforeAnswer: () => Promise<unknown>;
  let refusing = false;
  let sdk: SvcSDK;
  let teamId: string;
  let other: { readonly sdk: SvcSDK; readonly teamId: string };
  let count = 0;
  let domain: string;

  const sdkOf = (token: string): SvcSDK => createSvcSDK({ baseUrl: server.baseUrl, token, maxRetries: 0 });
  /** Records of the domain, as chunks where a list is given. */
  const publish = async (...values: ReadonlyArray<string | readonly string[]>) =>
    await names.set({ [`_svc-challenge.${domain}`]: values });
  /** It stands for the next attempt that is allowed. */
  const verify = async ({ id, teamId: of }: VerifiedDomain, as = of === teamId ? sdk : other.sdk) => {
    aheadMs += PAUSE_MS;
    return await as.verifiedDomains.verify(of, id);
  };
  const covers = async (name: string) => ({
    ours: await isVerified(server.db, teamId, name),
    theirs: await isVerified(server.db, other.teamId, name),
  });
  const ledger = async ({ id }: VerifiedDomain) =>
    await server.db.sql<Array<{ chain: string; action: string; actor: string }>>`
      select chain, action, actor_kind as actor from audit_entries where target = ${id} order by seq`;

  beforeAll(async () => {
    names = await startDnsServer();
    await names.set({});
    door = await startOddServer(async (query) => {
      await beforeAnswer();
      return refusing ? refusal(5)(query) : await forward(query, names.address);
    });
    const clock = { ...systemClock, now: () => new Date(Date.now() + aheadMs) };
    server = await startTestServer({ env: { DNS_SERVERS: door.address }, clock });
    ({ teamId } = server.first);
    sdk = sdkOf(server.first.apiKey);
    const { token, teamId: theirs } = await stranger(server);
    other = { sdk: sdkOf(token), teamId: theirs };
  });
  afterAll(async () => {
    await server?.stop();
    await door?.stop();
    await names?.stop();
  });
  beforeEach(() => {
    count += 1;
    domain = `d${count}.example.com`;
    beforeAnswer = async () => undefined;
  });
  afterEach(() => {
    refusing = false;
  });

  it('are added with the record to set, in one form', async () => {
    const added = await sdk.verifiedDomains.add(teamId, `${domain.toUpperCase()}.`);
    expect(added).toMatchObject({
      id: expect.stringMatching(/^vdm_[0-9a-z]{26}$/) as string,
      teamId,
      domain,
      state: 'pending',
      recordName: `_svc-challenge.${domain}`,
      recordValue: expect.stringMatching(/^svc-domain-verification=[0-9a-hjkmnp-tv-z]{26}$/) as string,
    });
    for (const absent of ['verifiedAt', 'lastCheckedAt', 'lastProblem'])
      expect(added).not.toHaveProperty(absent);
    expect(await sdk.verifiedDomains.get(teamId, added.id)).toEqual(added);
    expect((await sdk.verifiedDomains.list(teamId)).at(-1)).toEqual(added);
    expect(await refused(sdk.verifiedDomains.add(teamId, domain))).toBe('409 name_taken');
    expect(await refused(sdk.verifiedDomains.add(teamId, `https://${domain}`))).toBe('400 validation_failed');
    const theirs = await other.sdk.verifiedDomains.add(other.teamId, domain);
    expect(theirs.recordValue).not.toBe(added.recordValue);
    await sdk.verifiedDomains.remove(teamId, added.id);
    expect((await sdk.verifiedDomains.add(teamId, domain)).recordValue).toBe(added.recordValue);
  });

  it('are at most 100 a team', async () => {
    const person = await stranger(server);
    const theirs = sdkOf(person.token).verifiedDomains;
    await server.db.sql`
      insert into verified_domains (id, team_id, domain, created_at)
      select 'vdm_' || lpad(n::text, 26, '0'), ${person.teamId}, 'n' || n || '.example.com', now() from generate_series(1, 99) n`;
    const answers = await Promise.all(
      [1, 2, 3].map(async (n) => await refused(theirs.add(person.teamId, `m${n}.example.com`))),
    );
    expect(answers.toSorted()).toEqual(['409 limit_reached', '409 limit_reached', 'not refused']);
    const listed = await theirs.list(person.teamId);
    expect(listed).toHaveLength(100);
    expect(listed.map(({ id }) => id)).toEqual(listed.map(({ id }) => id).toSorted());
  });

  it('are read by viewers and changed by admins, of the own team alone', async () => {
    const added = await sdk.verifiedDomains.add(teamId, domain);
    const developer = sdkOf(
      (await join(server, server.first.apiKey, { teamId, role: 'developer' })).token,
    ).verifiedDomains;
    expect(await developer.get(teamId, added.id)).toEqual(added);
    expect(await refused(developer.add(teamId, `x.${domain}`))).toBe('403 role_insufficient');
    expect(await refused(developer.verify(teamId, added.id))).toBe('403 role_insufficient');
    expect(await refused(developer.remove(teamId, added.id))).toBe('403 role_insufficient');
    const { verifiedDomains: theirs } = other.sdk;
    for (const of of [other.teamId, teamId]) {
      expect(await refused(theirs.get(of, added.id))).toBe('404 not_found');
      expect(await refused(theirs.verify(of, added.id))).toBe('404 not_found');
      expect(await refused(theirs.remove(of, added.id))).toBe('404 not_found');
    }
    expect(await sdk.verifiedDomains.get(teamId, added.id)).toEqual(added);
  });

  it('say after an attempt when it was and what was found', async () => {
    const added = await sdk.verifiedDomains.add(teamId, domain);
    await names.set({});
    const none = await verify(added);
    expect(none).toMatchObject({
      state: 'pending',
      lastProblem: expect.stringContaining('there is no TXT record at _svc-challenge.') as string,
    });
    expect(Date.parse(none.lastCheckedAt ?? '') - Date.now()).toBeGreaterThan(aheadMs - 10_000);

    await publish('svc-domain-verification=of-somebody-else', 'v=spf1 -all');
    expect((await verify(added)).lastProblem).toBe(
      `other values than the expected one are at _svc-challenge.${domain}: 2 found`,
    );
    await publish(`${added.recordValue}x`);
    expect((await verify(added)).lastProblem).toContain('1 found');

    refusing = true;
    expect((await verify(added)).lastProblem).toBe(
      `the DNS could not be asked for _svc-challenge.${domain}: the name servers refuse to answer (REFUSED); try again`,
    );
    expect(await covers(domain)).toEqual({ ours: false, theirs: false });

    refusing = false;
    await publish(added.recordValue);
    const verified = await verify(added);
    expect(verified.state).toBe('verified');
    expect(verified.verifiedAt).toBeDefined();
    expect(verified).not.toHaveProperty('lastProblem');
    expect(await sdk.verifiedDomains.get(teamId, added.id)).toEqual(verified);
    expect(await covers(domain)).toEqual({ ours: true, theirs: false });
  });

  it.each([
    ['among others', (value: string) => ['one', value, 'two']],
    ['in chunks', (value: string) => [[value.slice(0, 10), value.slice(10)]]],
    ['in quotes', (value: string) => [`"${value}"`]],
  ])('are proved by a value %s', async (_how, values) => {
    const added = await sdk.verifiedDomains.add(teamId, domain);
    await publish(...values(added.recordValue));
    expect((await verify(added)).state).toBe('verified');
  });

  it('stay verified when the record or the DNS is gone, and say so', async () => {
    const added = await sdk.verifiedDomains.add(teamId, domain);
    await publish(added.recordValue);
    const { verifiedAt } = await verify(added);
    await names.set({});
    expect(await verify(added)).toMatchObject({
      state: 'verified',
      verifiedAt,
      lastProblem: expect.stringContaining('there is no TXT record') as string,
    });
    refusing = true;
    expect(await verify(added)).toMatchObject({
      state: 'verified',
      verifiedAt,
      lastProblem: expect.stringContaining('REFUSED') as string,
    });
    refusing = false;
    await publish(added.recordValue);
    const again = await verify(added);
    expect(again).toMatchObject({ state: 'verified', verifiedAt });
    expect(again).not.toHaveProperty('lastProblem');
    expect((await ledger(added)).map(({ action }) => action)).toEqual([
      'verified_domain.added',
      'verified_domain.verified',
    ]);
  });

  it('are looked up once in 5 seconds, however many ask', async () => {
    const added = await sdk.verifiedDomains.add(teamId, domain);
    aheadMs += PAUSE_MS;
    const before = door.queries;
    const call = async () =>
      await server.call(`POST /teams/${teamId}/verified-domains/${added.id}/verify`, {
        as: server.first.apiKey,
        body: {},
        headers: { 'idempotency-key': 'the same' },
      });
    const answers = await Promise.all(Array.from({ length: 8 }, call));
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
    const late = answers.filter(({ code }) => code === 'rate_limited');
    expect(late).toHaveLength(7);
    expect(late.map(({ headers }) => Number(headers.get('retry-after'))).every((s) => s >= 1 && s <= 5)).toBe(
      true,
    );
    expect(door.queries).toBe(before + 1);
    aheadMs += PAUSE_MS;
    const { status, headers } = await call();
    expect([status, headers.get('idempotent-replayed'), door.queries]).toEqual([200, null, before + 2]);
  });

  describe('of another team', () => {
    let ours: VerifiedDomain;
    let theirs: VerifiedDomain;

    beforeEach(async () => {
      ours = await sdk.verifiedDomains.add(teamId, domain);
      theirs = await other.sdk.verifiedDomains.add(other.teamId, domain);
      await publish(ours.recordValue);
      await verify(ours);
    });

    it('are not had by adding them, and look the same', async () => {
      expect(theirs.state).toBe('pending');
      expect((await verify(theirs)).lastProblem).toContain('other values than the expected one');
      expect(await covers(domain)).toEqual({ ours: true, theirs: false });
    });

    it('stay there while their record does, whatever stands beside it', async () => {
      await publish(ours.recordValue, theirs.recordValue);
      expect(await refused(verify(theirs))).toBe('409 name_taken');
      expect(await other.sdk.verifiedDomains.get(other.teamId, theirs.id)).toMatchObject({
        state: 'pending',
        lastProblem: 'another team has verified the domain, and its record is still there',
      });
      expect(await covers(domain)).toEqual({ ours: true, theirs: false });
    });

    it('stay there when the DNS cannot be asked', async () => {
      refusing = true;
      expect((await verify(theirs)).state).toBe('pending');
      expect(await covers(domain)).toEqual({ ours: true, theirs: false });
    });

    it('go over to who proves them when their record is gone, and both ledgers say so', async () => {
      await publish(theirs.recordValue);
      expect((await verify(theirs)).state).toBe('verified');
      expect(await covers(domain)).toEqual({ ours: false, theirs: true });
      const lost = await sdk.verifiedDomains.get(teamId, ours.id);
      expect(lost).toMatchObject({
        state: 'pending',
        lastProblem: expect.stringContaining('another team has proved the domain') as string,
      });
      expect(lost).not.toHaveProperty('verifiedAt');
      expect((await ledger(ours)).at(-1)).toEqual({
        chain: teamId,
        action: 'verified_domain.lost',
        actor: 'system',
      });
      expect((await ledger(theirs)).at(-1)).toEqual({
        chain: other.teamId,
        action: 'verified_domain.verified',
        actor: 'user',
      });

      await publish(ours.recordValue, theirs.recordValue);
      expect(await refused(verify(ours))).toBe('409 name_taken');
      await publish(ours.recordValue);
      expect((await verify(ours)).state).toBe('verified');
      expect(await covers(domain)).toEqual({ ours: true, theirs: false });
    });

    it('stay there when their team looks them up while the other one does', async () => {
      await publish(theirs.recordValue);
      beforeAnswer = async () => {
        beforeAnswer = async () => undefined;
        await verify(ours);
      };
      expect(await refused(verify(theirs))).toBe('409 name_taken');
      expect(await covers(domain)).toEqual({ ours: true, theirs: false });
      expect((await verify(theirs)).state).toBe('verified');
    });

    it('are free when their team removes them', async () => {
      await publish(theirs.recordValue);
      beforeAnswer = async () => await sdk.verifiedDomains.remove(teamId, ours.id);
      expect((await verify(theirs)).state).toBe('verified');
      expect((await ledger(ours)).at(-1)?.action).toBe('verified_domain.removed');
    });

    it('are not lost to a claim that is removed on the way', async () => {
      await publish(theirs.recordValue);
      beforeAnswer = async () => await other.sdk.verifiedDomains.remove(other.teamId, theirs.id);
      expect(await refused(verify(theirs))).toBe('404 not_found');
      expect(await covers(domain)).toEqual({ ours: true, theirs: false });
    });

    it('cover the names below them, unless another team has proved one of those', async () => {
      expect(await covers(`deep.app.${domain}`)).toEqual({ ours: true, theirs: false });
      expect(await covers('example.com')).toEqual({ ours: false, theirs: false });
      expect(await covers(`not${domain}`)).toEqual({ ours: false, theirs: false });
      const below = await other.sdk.verifiedDomains.add(other.teamId, `app.${domain}`);
      expect(await covers(`deep.app.${domain}`)).toEqual({ ours: true, theirs: false });
      await names.set({ [below.recordName]: [below.recordValue] });
      await verify(below);
      expect(await covers(`deep.app.${domain}`)).toEqual({ ours: false, theirs: true });
      expect(await covers(domain)).toEqual({ ours: true, theirs: false });
    });

    it('are free when their team is deleted', async () => {
      const person = await stranger(server);
      const third = sdkOf(person.token);
      const claim = await third.verifiedDomains.add(person.teamId, domain);
      await publish(claim.recordValue);
      expect((await verify(claim, third)).state).toBe('verified');
      expect(await covers(domain)).toEqual({ ours: false, theirs: false });
      await third.teams.delete(person.teamId);
      await publish(claim.recordValue, theirs.recordValue);
      expect((await verify(theirs)).state).toBe('verified');
    });
  });
});
