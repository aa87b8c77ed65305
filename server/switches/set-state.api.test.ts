/** Moving a switch, over the real door and a real PostgreSQL. */
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { has } from '../../test/setup/needs.ts';
import { useServer } from '../../test/setup/use-server.ts';
import { operationsOf, REASON, type Feature } from '../../test/setup/platformfeatures/operations.ts';

const postgresHere = await has('postgres');

describe.skipIf(!postgresHere)('a switch', () => {
  const { server } = useServer({ env: { LIMIT_ANONYMOUS_PER_MINUTE: '1000000' } });
  let staff: string;
  const { patch, set, get, history, resolved, counts, reset } = operationsOf(() => server);

  beforeAll(async () => {
    staff = server.first.staffApiKey;
  });
  beforeEach(reset);

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
      expect(change?.['actor']).toEqual({
        kind: 'api_key',
        id: expect.stringMatching(/^key_/),
        display: expect.stringMatching(new RegExp(`^${server.first.staffEmail} \\(.+\\)$`)),
      });
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
      ['what nobody sees', ' \u200b ', '400 reason_required', 'reason has 0 characters, 1 to 500'],
      ['501 characters', 'x'.repeat(501), '400 validation_failed', 'reason has 501 characters, at most 500'],
    ])('%s', async (_what, reason, expected, words) => {
      const answer = await patch('host.ci', { state: 'disabled', reason });
      expect(`${answer.status} ${answer.code}`).toBe(expected);
      expect(answer.text).toContain(words);
    });

    it('and takes 1 and 500 characters, counting a character outside of the basic plane once', async () => {
      await set('host.ci', 'disabled', ' x ');
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
      const oneMore = Object.entries(before).map(([what, count]) => [what, count + 1]);
      expect(await counts()).toEqual(Object.fromEntries(oneMore));
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
});
