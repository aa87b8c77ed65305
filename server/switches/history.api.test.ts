/**
 * Tests what remains of each change (the history, the audit ledger, the list, the events), and what everybody
 * and staff are shown of the features, over HTTP against the real server.
 */
import postgres from 'postgres';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { MANIFEST } from '@svc/proto/features/manifest.ts';
import { has } from '../../test/setup/needs.ts';
import { firstSession, join, newKey } from '../../test/setup/people.ts';
import { useServer } from '../../test/setup/use-server.ts';
import { FIGURES } from '../../test/setup/server.ts';
import { operationsOf, REASON, type Feature } from '../../test/setup/platformfeatures/operations.ts';

const postgresHere = await has('postgres');

describe.skipIf(!postgresHere)('platform features', () => {
  const { server, call, outcomeOf } = useServer({ env: { LIMIT_ANONYMOUS_PER_MINUTE: '1000000' } });
  let staff: string;
  const { patch, set, get, history, resolved, counts, reset } = operationsOf(() => server);

  beforeAll(async () => {
    staff = server.first.staffApiKey;
  });
  beforeEach(reset);

  describe('and the audit ledger', () => {
    const entries = async (): Promise<ReadonlyArray<Record<string, unknown>>> =>
      await server.db.sql<Array<Record<string, unknown>>>`
        select actor_kind, actor_id, action, target, details, request_id from audit_entries
        where chain = 'platform' and action = 'platform_feature.set_state' order by seq`;

    it('gets one entry for each change, which names the row of the history', async () => {
      const before = (await entries()).length;
      const answer = await set('host.ci', 'disabled');
      await set('host.ci', 'disabled');
      await patch('host.ci', { state: 'enabled', dryRun: true });
      const added = (await entries()).slice(before);
      const [change] = await history('host.ci');
      expect(added).toEqual([
        {
          actor_kind: 'api_key',
          actor_id: (change?.['actor'] as { id: string } | undefined)?.id,
          action: 'platform_feature.set_state',
          target: 'host.ci',
          request_id: answer.headers.get('x-request-id'),
          details: {
            changeId: change?.['id'],
            from: 'enabled',
            to: 'disabled',
            revision: change?.['revisionTo'],
            reason: REASON,
            source: 'api',
            affected: ['host.ci'],
          },
        },
      ]);
    });

    it('are written together or not at all: when the entry cannot be written, nothing has changed', async () => {
      const owner = postgres(server.databaseUrl, { max: 1, onnotice: () => undefined });
      const before = { ...(await counts()), feature: await get('host.ci'), entries: await entries() };
      try {
        await owner.unsafe(`
          create function refuse_entries() returns trigger language plpgsql as $$ begin raise exception 'the ledger is full'; end $$;
          create trigger refuse_entries before insert on audit_entries for each row execute function refuse_entries()`);
        for (const headers of [{}, { 'idempotency-key': 'with-a-full-ledger' }]) {
          const answer = await patch('host.ci', { state: 'disabled', reason: REASON }, { headers });
          expect([answer.status, answer.code]).toEqual([500, 'internal']);
          expect({ ...(await counts()), feature: await get('host.ci'), entries: await entries() }).toEqual(
            before,
          );
          expect((await resolved()).text).toContain('host.ci');
        }
      } finally {
        await owner.unsafe(`drop trigger refuse_entries on audit_entries; drop function refuse_entries()`);
        await owner.end();
      }
      // And the switch is not stuck: the lock went with the transaction.
      await set('host.ci', 'disabled');
    });
  });

  describe('the history', () => {
    it('is paged from the newest to the oldest without a gap', async () => {
      for (const state of ['disabled', 'enabled', 'disabled', 'enabled', 'disabled'])
        await set('host.graph', state);
      const whole = await history('host.graph');
      const paged: unknown[] = [];
      let cursor: string | undefined;
      do {
        const query = `?limit=2${cursor === undefined ? '' : `&cursor=${encodeURIComponent(cursor)}`}`;
        const { body } = await call(staff, `GET /admin/platform-features/host.graph/history${query}`);
        paged.push(...(body['changes'] as unknown[]));
        cursor = body['nextCursor'] as string | undefined;
      } while (cursor !== undefined);
      expect(paged).toEqual(whole);
      const revisions = whole.map((row) => Number(row['revisionTo']));
      expect(revisions).toEqual(revisions.toSorted((a, b) => b - a));
    });

    it('refuses a cursor of another feature, and a feature that is not there', async () => {
      await set('host.graph', 'disabled');
      await set('host.graph', 'enabled');
      const { body } = await call(staff, 'GET /admin/platform-features/host.graph/history?limit=1');
      const cursor = encodeURIComponent(String(body['nextCursor']));
      expect(await outcomeOf(staff, `GET /admin/platform-features/host.ci/history?cursor=${cursor}`)).toBe(
        '400 validation_failed',
      );
      expect(await outcomeOf(staff, 'GET /admin/platform-features/host.none/history')).toBe(
        '404 feature_unknown',
      );
    });

    describe('cannot be changed in the database itself', () => {
      const statements: Array<[string, string]> = [
        ['update', `update platform_feature_changes set reason = 'never happened'`],
        ['update of nothing', `update platform_feature_changes set reason = '' where false`],
        ['delete', `delete from platform_feature_changes`],
        ['truncate', `truncate platform_feature_changes cascade`],
      ];
      let owner: postgres.Sql;

      beforeAll(() => {
        owner = postgres(server.databaseUrl, { max: 1, onnotice: () => undefined });
      });
      afterAll(async () => await owner.end());

      it.each(statements)('by the server: %s', async (_what, statement) => {
        await set('host.ci', 'disabled');
        const before = await history('host.ci');
        await expect(server.db.transact(async ({ sql }) => await sql.unsafe(statement))).rejects.toThrow(
          /append-only|permission denied/,
        );
        expect(await history('host.ci')).toEqual(before);
      });

      it.each([
        ...statements,
        [
          'delete, as a replica replays',
          `set session_replication_role = replica; delete from platform_feature_changes`,
        ],
      ])('by the owner of the table: %s', async (_what, statement) => {
        await set('host.ci', 'disabled');
        const before = await history('host.ci');
        await expect(owner.unsafe(statement)).rejects.toThrow('append-only');
        await owner.unsafe('reset session_replication_role');
        expect(await history('host.ci')).toEqual(before);
      });
    });

    it('names the person when a session made the change', async () => {
      const as = await firstSession(server);
      await patch('host.ci', { state: 'disabled', reason: REASON }, { as });
      const [change] = await history('host.ci');
      expect(change?.['actor']).toEqual({
        kind: 'user',
        id: expect.stringMatching(/^user_/),
        display: server.first.staffEmail,
      });
    });
  });

  it('lists every feature in the order of the manifest with the number of the present state', async () => {
    const { body } = await call(staff, 'GET /admin/platform-features');
    const features = body['features'] as Feature[];
    expect(features.map(({ key }) => key)).toEqual(MANIFEST.map(({ key }) => key));
    expect(body['revision']).toBe((await counts())['revision']);
    expect(features.find(({ key }) => key === 'host.automation.maintenance')).toMatchObject({
      description: expect.stringContaining('maintenance agent'),
      owner: 'automation',
      dependsOn: ['host.job_runner'],
      defaultState: 'disabled',
    });
  });

  it('tells a watcher of the present revision and then of each new one, until the watcher leaves', async () => {
    const left = new AbortController();
    const response = await fetch(`${server.baseUrl}/admin/platform-features/events`, {
      headers: { authorization: `Bearer ${staff}`, accept: 'application/x-ndjson' },
      signal: left.signal,
    });
    const reader = (response.body as ReadableStream<Uint8Array>).getReader();
    const next = async (): Promise<unknown> =>
      JSON.parse(Buffer.from((await reader.read()).value ?? new Uint8Array()).toString()) as unknown;
    const { revision = -1 } = await counts();
    expect(await next()).toEqual({ position: String(revision), revision });
    await set('host.ci', 'disabled');
    expect(await next()).toEqual({ position: String(revision + 1), revision: revision + 1 });
    await set('host.ci', 'enabled');
    expect(await next()).toEqual({ position: String(revision + 2), revision: revision + 2 });
    left.abort();
  });

  it('shows a scrape which features are on, and why not', async () => {
    await set('host.automation.maintenance', 'enabled');
    const text = await (await fetch(`${server.baseUrl}/metrics`, { headers: FIGURES })).text();
    const lines = text.split('\n').filter((line) => line.startsWith('svc_platform_feature_'));
    const { revision } = await counts();
    expect(lines).toContain(`svc_platform_feature_revision ${revision}`);
    expect(lines).toContain(
      'svc_platform_feature_enabled{key="host.automation.maintenance",lifecycle="experimental",reason="dependency_disabled"} 0',
    );
    expect(lines.filter((line) => line.includes('"host.automation.maintenance"'))).toHaveLength(1);
    expect(lines).toContain('svc_platform_feature_enabled{key="host.ci",lifecycle="ga",reason="enabled"} 1');
  });

  it('knows no companion unless it is told of one', async () => {
    const { body } = await call(staff, 'GET /admin/companion-features');
    expect(body).toEqual({ configured: false, degraded: false, features: {} });
  });

  describe('resolved', () => {
    it('shows nobody and non-staff alike `true` for what is enabled and public, and nothing else', async () => {
      const expected = '{"features":{"host.spaces":true,"host.graph":true,"host.ci":true}}';
      const nobody = await resolved();
      expect([nobody.status, nobody.text]).toEqual([200, expected]);
      expect(nobody.headers.get('cache-control')).toBe('no-cache');
      const member = await resolved({ as: server.first.apiKey });
      expect(member.text).toBe(expected);
      expect(member.headers.get('etag')).toBe(nobody.headers.get('etag'));
      expect(member.headers.get('cache-control')).toBe('private, no-cache');
      for (const answer of [nobody, member]) expect(answer.headers.get('vary')).toBe('authorization, cookie');
    });

    it('shows staff every feature with its reason, in the order of the manifest', async () => {
      const { body, headers } = await resolved({ as: staff });
      const features = body['features'] as Record<string, unknown>;
      expect(Object.keys(features)).toEqual(MANIFEST.map(({ key }) => key));
      expect(features['host.runners']).toEqual({
        enabled: true,
        reason: 'enabled',
        blockedBy: [],
        lifecycle: 'experimental',
        visibility: 'internal',
      });
      expect(features['host.incidents']).toMatchObject({ enabled: false, reason: 'disabled' });
      expect(headers.get('cache-control')).toBe('private, no-cache');
    });

    it('shows a key of staff without the scope "staff" what it shows everybody', async () => {
      const poor = await newKey(server, staff, { scopes: ['ci:read'] });
      expect((await resolved({ as: poor.secret })).text).toBe((await resolved()).text);
    });

    it('leaves a feature out as soon as it is off, and has it back as soon as it is on', async () => {
      await set('host.ci', 'disabled');
      expect((await resolved()).body).toEqual({ features: { 'host.spaces': true, 'host.graph': true } });
      await set('host.ci', 'enabled');
      expect((await resolved()).body['features']).toHaveProperty(['host.ci'], true);
    });

    it('names what blocks a feature whose own switch is on', async () => {
      await set('host.automation.maintenance', 'enabled');
      const features = (await resolved({ as: staff })).body['features'] as Record<string, unknown>;
      expect(features['host.automation.maintenance']).toMatchObject({
        enabled: false,
        reason: 'dependency_disabled',
        blockedBy: ['host.job_runner'],
      });
    });

    it('keeps the ETag of everybody while only internal features change, and changes that of staff', async () => {
      const tags = async () => [
        (await resolved()).headers.get('etag'),
        (await resolved({ as: staff })).headers.get('etag'),
      ];
      const before = await tags();
      await set('host.runners', 'disabled');
      const off = await tags();
      expect(off[0]).toBe(before[0]);
      expect(off[1]).not.toBe(before[1]);
      await set('host.runners', 'enabled');
      expect(await tags()).toEqual(before);
      await set('host.ci', 'disabled');
      expect((await tags())[0]).not.toBe(before[0]);
    });

    it.each([
      ['the tag itself', (tag: string) => tag],
      ['a list with it', (tag: string) => `"other", ${tag}`],
      ['its weak form', (tag: string) => `W/${tag}`],
      ['anything', () => '*'],
    ])('answers 304 without a body to whoever has %s', async (_what, known) => {
      const etag = (await resolved()).headers.get('etag') ?? '';
      expect(etag).toMatch(/^"[\w-]{22}"$/);
      const again = await resolved({ headers: { 'if-none-match': known(etag) } });
      expect([again.status, again.text]).toEqual([304, '']);
      expect(again.headers.get('etag')).toBe(etag);
      expect(again.headers.get('vary')).toBe('authorization, cookie');
    });

    it('answers 200 to whoever has another body, staff with the tag of everybody among them', async () => {
      const etag = (await resolved()).headers.get('etag') ?? '';
      expect((await resolved({ headers: { 'if-none-match': '"other"' } })).status).toBe(200);
      expect((await resolved({ as: staff, headers: { 'if-none-match': etag } })).status).toBe(200);
    });
  });

  it('does not let a member of staff be forged by membership: a viewer is no staff', async () => {
    const person = await join(server, server.first.apiKey, { teamId: server.first.teamId, role: 'viewer' });
    expect((await resolved({ as: person.token })).text).toBe((await resolved()).text);
  });
});
