/** Platform features over the real door and a real PostgreSQL. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { MANIFEST } from '@svc/proto/features/manifest.ts';
import { has } from '../../test/setup/needs.ts';
import { join, newKey } from '../../test/setup/people.ts';
import { startTestServer } from '../../test/setup/server.ts';
import type { CallOptions, TestResponse, TestServer } from '../../test/setup/server.ts';

const postgresHere = await has('postgres');
const REASON = 'webhook storm, see INC-12';

interface Feature {
  readonly key: string;
  readonly state: string;
  readonly enabled: boolean;
  readonly reason: string;
  readonly toggleable: boolean;
  readonly environmentVariable?: string;
  readonly revision: number;
  readonly lastChange?: Record<string, unknown>;
}

describe.skipIf(!postgresHere)('platform features', () => {
  let server: TestServer;
  let staff: string;

  beforeAll(async () => {
    server = await startTestServer({ env: { LIMIT_ANONYMOUS_PER_MINUTE: '1000000' } });
    staff = server.first.staffApiKey;
  });
  afterAll(async () => await server.stop());

  const patch = async (
    key: string,
    body: unknown,
    options: CallOptions & { readonly query?: string } = {},
  ): Promise<TestResponse> =>
    await server.call(`PATCH /admin/platform-features/${key}${options.query ?? ''}`, {
      as: staff,
      body,
      ...options,
    });
  const set = async (key: string, state: string, reason = REASON): Promise<TestResponse> => {
    const answer = await patch(key, { state, reason });
    expect(answer.status, answer.text).toBe(200);
    return answer;
  };
  const get = async (key: string): Promise<Feature> =>
    (await server.call(`GET /admin/platform-features/${key}`, { as: staff })).body as unknown as Feature;
  const history = async (key: string, query = ''): Promise<Array<Record<string, unknown>>> =>
    (await server.call(`GET /admin/platform-features/${key}/history${query}`, { as: staff })).body[
      'changes'
    ] as Array<Record<string, unknown>>;
  const resolved = async (options: CallOptions = {}): Promise<TestResponse> =>
    await server.call('GET /platform-features/resolved', options);
  const counts = async (): Promise<Record<string, number>> => {
    const [row] = await server.db.sql<Array<Record<string, number>>>`
      select (select count(*)::int from platform_feature_changes) as changes,
        (select revision from platform_feature_revision) as revision,
        (select coalesce(sum(revision), 0)::int from platform_feature_states) as moves`;
    return row ?? {};
  };
  /** Every test begins with every switch at its default. */
  beforeEach(async () => {
    for (const { key, default: state, ...definition } of MANIFEST)
      if (!('environment' in definition)) await set(key, state);
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

  describe('a change', () => {
    it('is kept with who, why, from where to where, and what it did', async () => {
      const before = await get('host.ci');
      const answer = await patch('host.ci', { state: 'disabled', reason: `  ${REASON} \n` });
      expect(answer.body).toMatchObject({
        changed: true,
        feature: {
          key: 'host.ci',
          state: 'disabled',
          enabled: false,
          reason: 'disabled',
          revision: before.revision + 1,
        },
        affected: [
          {
            key: 'host.ci',
            enabledBefore: true,
            enabledAfter: false,
            reasonBefore: 'enabled',
            reasonAfter: 'disabled',
          },
        ],
      });
      expect(answer.headers.get('etag')).toBe(`"${before.revision + 1}"`);
      const [change] = await history('host.ci');
      expect(change).toMatchObject({
        key: 'host.ci',
        from: 'enabled',
        to: 'disabled',
        revisionFrom: before.revision,
        revisionTo: before.revision + 1,
        reason: REASON,
        source: 'api',
        requestId: answer.headers.get('x-request-id'),
        affected: [{ key: 'host.ci', enabledBefore: true, enabledAfter: false, blockedBy: [] }],
      });
      expect(change?.['id']).toMatch(/^fch_[0-9a-z]{26}$/);
      expect(change?.['actor']).toMatchObject({ kind: 'api_key', id: expect.stringMatching(/^key_/) });
      expect((await get('host.ci')).lastChange).toEqual(change);
    });

    it('is seen at once by whoever made it: in the list, in what is resolved, by its ETag', async () => {
      for (const state of ['disabled', 'enabled', 'disabled']) {
        const { body } = await set('host.spaces', state);
        const one = await server.call('GET /admin/platform-features/host.spaces', { as: staff });
        expect(one.body).toEqual(body['feature']);
        expect(one.headers.get('etag')).toBe(`"${(one.body as unknown as Feature).revision}"`);
        expect((await resolved()).text.includes('host.spaces')).toBe(state === 'enabled');
      }
    });

    it.each([
      [{ 'x-svc-client': 'console' }, 'console'],
      [{ 'x-svc-client': 'cli' }, 'cli'],
      [{ 'user-agent': 'svc-cli/1.2.3' }, 'cli'],
      [{ 'user-agent': 'svc-sdk/0.10.0' }, 'api'],
      [{ 'x-svc-client': 'boot' }, 'api'],
    ])('says by %j that it came from the %s', async (headers, source) => {
      await patch('host.ci', { state: 'disabled', reason: REASON }, { headers });
      expect((await history('host.ci', '?limit=1'))[0]).toMatchObject({ source });
    });

    it('to where the switch is already changes nothing: no history, no revision', async () => {
      await set('host.ci', 'disabled');
      const before = await counts();
      const answer = await set('host.ci', 'disabled');
      expect(answer.body).toMatchObject({ changed: false, affected: [] });
      expect(await counts()).toEqual(before);
    });

    it('of a blocked feature changes its reason and not whether it is enabled', async () => {
      const { body } = await set('host.automation.maintenance', 'enabled');
      expect(body['affected']).toEqual([
        {
          key: 'host.automation.maintenance',
          enabledBefore: false,
          enabledAfter: false,
          reasonBefore: 'disabled',
          reasonAfter: 'dependency_disabled',
          blockedBy: ['host.job_runner'],
        },
      ]);
      expect(body['feature']).toMatchObject({
        state: 'enabled',
        enabled: false,
        rootCauses: ['host.job_runner'],
      });
    });

    it('with the same Idempotency-Key happens once', async () => {
      const headers = { 'idempotency-key': `once-${process.pid}` };
      const first = await patch('host.ci', { state: 'disabled', reason: REASON }, { headers });
      const before = await counts();
      const second = await patch('host.ci', { state: 'disabled', reason: REASON }, { headers });
      expect(second.text).toBe(first.text);
      expect(await counts()).toEqual(before);
      // Seen by its maker at once here as well, where the pipeline owns the transaction.
      expect((await resolved()).text).not.toContain('host.ci');
    });
  });

  describe('a dry run', () => {
    it.each([
      ['in the body', { state: 'disabled', dryRun: true }, ''],
      ['in the query', { state: 'disabled' }, '?dryRun=true'],
    ])('asked for %s tells what would change and writes nothing', async (_where, body, query) => {
      const before = await counts();
      const present = await get('host.ci');
      const answer = await patch('host.ci', body, { query });
      expect(answer.body, answer.text).toMatchObject({
        changed: true,
        feature: { state: 'disabled', enabled: false, reason: 'disabled', revision: present.revision },
        affected: [{ key: 'host.ci', enabledBefore: true, enabledAfter: false }],
      });
      expect(answer.headers.get('etag')).toBe(`"${present.revision}"`);
      expect(await counts()).toEqual(before);
      expect(await get('host.ci')).toEqual(present);
      expect((await resolved()).text).toContain('host.ci');
    });

    it('where nothing would change says so', async () => {
      expect((await patch('host.ci', { state: 'enabled', dryRun: true })).body).toMatchObject({
        changed: false,
        affected: [],
      });
    });

    it('is refused for a revision that is not the present one', async () => {
      const { revision } = await get('host.ci');
      const answer = await patch('host.ci', { state: 'disabled', dryRun: true, revision: revision + 1 });
      expect([answer.status, answer.code]).toEqual([412, 'precondition_failed']);
    });
  });

  describe('refuses', () => {
    const refusal = async (...args: Parameters<typeof patch>): Promise<string> => {
      const before = await counts();
      const { status, code } = await patch(...args);
      expect(await counts()).toEqual(before);
      return `${status} ${code}`;
    };
    const stale = { headers: { 'if-match': '"999"' } };

    it('in the order of the contract: unknown key, reason, switch that cannot be moved, revision', async () => {
      expect(await refusal('host.nothing', { state: 'enabled' }, stale)).toBe('404 feature_unknown');
      expect(await refusal('host.job_runner', { state: 'enabled' }, stale)).toBe('400 reason_required');
      expect(await refusal('host.job_runner', { state: 'enabled', reason: REASON }, stale)).toBe(
        '409 feature_not_toggleable',
      );
      expect(await refusal('host.ci', { state: 'disabled', reason: REASON }, stale)).toBe(
        '412 precondition_failed',
      );
      // Also where nothing would change.
      expect(await refusal('host.ci', { state: 'enabled', reason: REASON }, stale)).toBe(
        '412 precondition_failed',
      );
    });

    it.each([
      ['no reason', undefined, '400 reason_required', 'reason has 0 characters'],
      ['blanks', ' '.repeat(40), '400 reason_required', 'reason has 0 characters'],
      ['7 characters among blanks', ' storm 1 ', '400 reason_required', 'reason has 7 characters, 8 to 500'],
      ['501 characters', 'x'.repeat(501), '400 validation_failed', 'reason has 501 characters, at most 500'],
    ])('%s', async (_what, reason, expected, words) => {
      const answer = await patch('host.ci', { state: 'disabled', reason });
      expect(`${answer.status} ${answer.code}`).toBe(expected);
      expect(answer.text).toContain(words);
    });

    it('and takes 8 and 500 characters, counting a character outside of the basic plane once', async () => {
      await set('host.ci', 'disabled', ' 12345678 ');
      await set('host.ci', 'enabled', '🔥'.repeat(500));
    });

    it('names the variable that decides about host.job_runner', async () => {
      const answer = await patch('host.job_runner', { state: 'enabled', reason: REASON });
      expect(answer.text).toContain('JOB_RUNNER_ENABLED');
      expect(await get('host.job_runner')).toMatchObject({
        toggleable: false,
        environmentVariable: 'JOB_RUNNER_ENABLED',
      });
    });

    it('a stale revision with the present feature in the answer', async () => {
      await set('host.ci', 'disabled');
      const current = await get('host.ci');
      const answer = await patch(
        'host.ci',
        { state: 'enabled', reason: REASON },
        { headers: { 'if-match': `"${current.revision - 1}"` } },
      );
      expect(answer.status).toBe(412);
      expect((answer.body['error'] as { details: unknown }).details).toEqual({ current });
      expect(answer.headers.get('etag')).toBe(`"${current.revision}"`);
    });

    it.each([
      ['a bare number', '3'],
      ['an open quote', '"3'],
      ['nothing', ' '],
      ['an empty place in the list', '"3",,"4"'],
    ])('an If-Match that is %s', async (_what, header) => {
      const answer = await refusal(
        'host.ci',
        { state: 'disabled', reason: REASON },
        { headers: { 'if-match': header } },
      );
      expect(answer).toBe('400 request_invalid');
    });

    it('a header and a field that disagree, and takes them when they agree', async () => {
      const { revision } = await get('host.ci');
      const body = { state: 'disabled', reason: REASON, revision };
      const headers = (tag: string) => ({ headers: { 'if-match': tag } });
      expect(await refusal('host.ci', body, headers(`"${revision + 1}"`))).toBe('400 request_invalid');
      expect((await patch('host.ci', body, headers(`"7", "${revision}"`))).status).toBe(200);
      expect((await patch('host.ci', { state: 'enabled', reason: REASON }, headers('*'))).status).toBe(200);
    });

    it('a weak tag, since the comparison is the strong one', async () => {
      const { revision } = await get('host.ci');
      const headers = { 'if-match': `W/"${revision}"` };
      expect(await refusal('host.ci', { state: 'disabled', reason: REASON }, { headers })).toBe(
        '412 precondition_failed',
      );
    });

    it('whoever is not staff, for every operation of staff', async () => {
      const routes = [
        'GET /admin/platform-features',
        'GET /admin/platform-features/host.ci',
        'GET /admin/platform-features/host.ci/history',
        'GET /admin/platform-features/events',
        'GET /admin/companion-features',
        'PATCH /admin/platform-features/host.ci',
      ];
      for (const route of routes) {
        const body = route.startsWith('PATCH') ? { state: 'disabled', reason: REASON } : undefined;
        const answer = await server.call(route, { as: server.first.apiKey, body });
        expect([route, answer.status, answer.code]).toEqual([route, 403, 'scope_missing']);
      }
    });
  });

  describe('twenty changes at once', () => {
    it('with the same If-Match: exactly one wins, the others are shown what it made', async () => {
      const { revision } = await get('host.ci');
      const before = await counts();
      const answers = await Promise.all(
        Array.from({ length: 20 }, async (_, n) => {
          const headers = { 'if-match': `"${revision}"` };
          return await patch('host.ci', { state: 'disabled', reason: `${REASON} ${n}` }, { headers });
        }),
      );
      const statuses = answers.map(({ status }) => status).toSorted((a, b) => a - b);
      expect(statuses).toEqual([200, ...Array.from({ length: 19 }, () => 412)]);
      const winner = answers.find(({ status }) => status === 200);
      for (const loser of answers.filter(({ status }) => status === 412))
        expect((loser.body['error'] as { details: { current: unknown } }).details.current).toEqual(
          winner?.body['feature'],
        );
      expect(await counts()).toEqual({
        changes: (before['changes'] ?? 0) + 1,
        revision: (before['revision'] ?? 0) + 1,
        moves: (before['moves'] ?? 0) + 1,
      });
    });

    it('without one: each sees the state that the one before it left', async () => {
      const keys = ['host.ci', 'host.graph', 'host.spaces', 'host.incidents'];
      const before = await counts();
      const answers = await Promise.all(
        Array.from({ length: 20 }, async (_, n) =>
          patch(keys[n % keys.length] ?? '', { state: n % 3 === 0 ? 'enabled' : 'disabled', reason: REASON }),
        ),
      );
      expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
      const changed = answers.filter(({ body }) => body['changed'] === true).length;
      const after = await counts();
      expect((after['revision'] ?? 0) - (before['revision'] ?? 0)).toBe(changed);
      // Each row of the history begins where the one before it ended, and tells of exactly its own switch.
      for (const key of keys) {
        const rows = (await history(key)).toReversed();
        for (const [index, row] of rows.entries()) {
          expect(row['revisionTo']).toBe(index + 1);
          if (index > 0) expect(row['from']).toBe(rows[index - 1]?.['to']);
          expect((row['affected'] as Array<{ key: string }>).map((one) => one.key)).toEqual([key]);
        }
      }
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
        const { body } = await server.call(`GET /admin/platform-features/host.graph/history${query}`, {
          as: staff,
        });
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
      const { body } = await server.call('GET /admin/platform-features/host.graph/history?limit=1', {
        as: staff,
      });
      const cursor = encodeURIComponent(String(body['nextCursor']));
      const other = await server.call(`GET /admin/platform-features/host.ci/history?cursor=${cursor}`, {
        as: staff,
      });
      expect([other.status, other.code]).toEqual([400, 'validation_failed']);
      const none = await server.call('GET /admin/platform-features/host.none/history', { as: staff });
      expect([none.status, none.code]).toEqual([404, 'feature_unknown']);
    });

    it.each([
      ['update', `update platform_feature_changes set reason = 'never happened'`],
      ['update of nothing', `update platform_feature_changes set reason = '' where false`],
      ['delete', `delete from platform_feature_changes`],
      ['truncate', `truncate platform_feature_changes cascade`],
      [
        'delete by a replica',
        `set local session_replication_role = replica; delete from platform_feature_changes`,
      ],
    ])('cannot be changed in the database itself: %s', async (_what, statement) => {
      await set('host.ci', 'disabled');
      const before = await history('host.ci');
      await expect(server.db.transact(async ({ sql }) => await sql.unsafe(statement))).rejects.toThrow(
        'append-only',
      );
      expect(await history('host.ci')).toEqual(before);
    });

    it('names the person when a session made the change', async () => {
      const { token } = (
        await server.call('POST /auth/login', {
          body: { email: server.first.staffEmail, password: server.first.staffPassword },
        })
      ).body as { token: string };
      await patch('host.ci', { state: 'disabled', reason: REASON }, { as: token });
      const [change] = await history('host.ci');
      expect(change?.['actor']).toMatchObject({ kind: 'user', id: expect.stringMatching(/^user_/) });
    });
  });

  it('lists every feature in the order of the manifest with the number of the present state', async () => {
    const { body } = await server.call('GET /admin/platform-features', { as: staff });
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

  it('knows no companion unless it is told of one', async () => {
    const { body } = await server.call('GET /admin/companion-features', { as: staff });
    expect(body).toEqual({ configured: false, degraded: false, features: {} });
  });

  it('does not let a member of staff be forged by membership: a viewer is no staff', async () => {
    const person = await join(server, server.first.apiKey, server.first.teamId, 'viewer');
    expect((await resolved({ as: person.token })).text).toBe((await resolved()).text);
  });
});
