/**
 * What a good id_token is shown for, and must not get: other runs, other repositories, other teams, other
 * RPCs, twice. Everything here comes over the real door to two servers on one database. What is wrong with a
 * token by itself stands in verify.test.ts, the issuer's keys in keys.test.ts.
 */
import { rpcs } from '@svc/proto/gen/rpcs.ts';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { has } from '../../../test/setup/needs.ts';
import {
  githubClaims,
  gitlabClaims,
  SHA,
  startOidcIssuers,
  type Claims,
  type OidcIssuers,
} from '../../../test/setup/oidc-issuer.ts';
import { newKey, stranger, type Person } from '../../../test/setup/people.ts';
import { startTestServer, type TestServer } from '../../../test/setup/server.ts';

describe.skipIf(!(await has('postgres')))('attacks with id_tokens', () => {
  let issuers: OidcIssuers;
  let server: TestServer;
  let second: TestServer;
  let other: Person & { readonly teamId: string };
  let connection: string;
  let n = 0;

  beforeAll(async () => {
    issuers = await startOidcIssuers();
    const env = { ...issuers.env, LIMIT_ANONYMOUS_PER_MINUTE: '1000000' };
    server = await startTestServer({ env });
    second = await startTestServer({ env, databaseUrl: server.databaseUrl, dataDir: server.dataDir });
    other = await stranger(server);
    connection = await connect('acme/app');
    const first = await report(await hub(), {});
    expect(first.status, first.text).toBe(201); // Pinned from here on.
  }, 60_000);
  afterAll(async () => {
    await second.stop();
    await server.stop();
    await issuers.close();
  });

  const connect = async (
    repositoryPath: string,
    more: object = {},
    { team, as } = { team: server.first.teamId, as: server.first.apiKey },
  ) => {
    const body = { provider: 'github', repositoryHost: 'github.com', repositoryPath, ...more };
    const made = await server.call(`POST /teams/${team}/ci/connections`, { as, body });
    expect(made.status, made.text).toBe(201);
    return String(made.body['id']);
  };
  const hub = async (more: Claims = {}) => await issuers.sign('github', githubClaims(more));
  const lab = async (more: Claims = {}) => await issuers.sign('gitlab', gitlabClaims(more));
  const report = async (as: string, body: object, at = server) =>
    await at.call('POST /ci/runs', {
      as,
      body: { ciConnectionId: connection, externalRunId: '5001', ...body },
    });
  const exchange = async (idToken: string, ciConnectionId = connection, at = server) =>
    await at.call('POST /ci/id-tokens/exchange', { body: { ciConnectionId, idToken } });
  const runs = async () => {
    const [row] = await server.db.sql`select count(*)::int as n from ci_runs`;
    return row?.['n'];
  };
  /** It is of a repository that nobody has seen. */
  const fresh = () => {
    n += 1;
    return { repository: `acme/fresh-${n}`, repository_id: String(50_000 + n) };
  };
  const refused = [403, 'id_token_refused'] as const;

  it('once: twenty at the same time, at two servers', async () => {
    const token = await hub();
    const replies = await Promise.all(
      Array.from({ length: 20 }, (_, i) => report(token, {}, i % 2 === 0 ? server : second)),
    );
    const codes = replies.map(({ status, code }) => code ?? status);
    expect(codes.filter((code) => code === 200)).toHaveLength(1);
    expect(codes.filter((code) => code === 'id_token_used')).toHaveLength(19);
  });

  it('once: exchanged at one server, reported and exchanged again at the other', async () => {
    const token = await hub();
    const replies = await Promise.all([
      exchange(token),
      exchange(token, connection, second),
      report(token, {}, second),
      report(token, {}),
    ]);
    expect(replies.filter(({ status }) => status === 200)).toHaveLength(1);
    expect(replies.filter(({ code }) => code === 'id_token_used')).toHaveLength(3);
    await expect(report(token, {}, second)).resolves.toMatchObject({ code: 'id_token_used' });
  });

  it('once: two first tokens of two repositories for one connection pin one of them', async () => {
    const id = await connect('acme/raced');
    const claims = (repository_id: string) => ({ repository: 'acme/raced', repository_id });
    const tokens = await Promise.all(['7001', '7002'].map(async (each) => await hub(claims(each))));
    const replies = await Promise.all(
      tokens.map((token, i) => report(token, { ciConnectionId: id }, i === 0 ? server : second)),
    );
    expect(replies.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([201, 403]);
  });

  it('first ones wait for no report that comes with a key, nor it for them', async () => {
    for (let round = 0; round < 5; round += 1) {
      const repository = fresh();
      const id = await connect(repository.repository);
      const body = { ciConnectionId: id, pipelineName: 'CI' };
      const token = await hub(repository);
      const replies = await Promise.all([
        report(token, body, second),
        ...Array.from({ length: 4 }, async () => await report(server.first.apiKey, body)),
      ]);
      for (const reply of replies) expect([200, 201], reply.text).toContain(reply.status);
    }
  });

  it('once: two connections cannot have one repository', async () => {
    const key = (await newKey(server, other.token, { scopes: ['ci:manage', 'ci:read'] })).secret;
    const theirs = await connect('acme/app', {}, { team: other.teamId, as: key });
    const reply = await report(await hub(), { ciConnectionId: theirs });
    expect([[reply.status, reply.code], reply.text]).toEqual([
      refused,
      expect.stringContaining('another connection'),
    ]);
    expect(reply.text).not.toContain(connection);
    const shown = await server.call(`GET /ci/connections/${theirs}`, { as: key });
    expect(shown.body).not.toHaveProperty('oidcPin');
    // Nor when both try at the same moment.
    const repository = fresh();
    const both = [
      await connect(repository.repository),
      await connect(repository.repository, {}, { team: other.teamId, as: key }),
    ];
    const replies = await Promise.all(
      both.map(
        async (id, i) =>
          await report(await hub(repository), { ciConnectionId: id }, i === 0 ? server : second),
      ),
    );
    expect(replies.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([201, 403]);
  });

  it.each<[string, string, () => Claims]>([
    ['another repository', 'repository_id', () => ({ repository: 'evil/app', repository_id: '666' })],
    ['the name again with another id', 'repository_id', () => ({ repository_id: '666' })],
    ['another owner', 'repository_owner_id', () => ({ repository_owner_id: '666' })],
  ])('of %s: %s', async (_what, claim, claims) => {
    const before = await runs();
    const reply = await report(await hub({ ...claims(), run_id: '5001' }), {});
    expect([reply.status, reply.code]).toEqual(refused);
    expect(reply.body['error']).toMatchObject({ details: { claim, claims: { run_id: '5001' } } });
    expect(await runs()).toBe(before);
  });

  it('of a repository that was never connected, by names that merely look alike', async () => {
    const id = await connect('acme/unpinned');
    for (const repository of ['acme/unpinned2', 'evil/unpinned', 'acme/unpinned/x', 'x/acme/unpinned']) {
      const reply = await report(await hub({ ...fresh(), repository }), { ciConnectionId: id });
      expect([repository, reply.status, reply.code]).toEqual([repository, ...refused]);
    }
    const shouted = { ...fresh(), repository: 'ACME/Unpinned' }; // Forges do not care for case.
    expect((await report(await hub(shouted), { ciConnectionId: id })).status).toBe(201);
  });

  it('of a connection that is elsewhere: another provider, another host', async () => {
    const repository = fresh();
    const gitlab = await connect(repository.repository, { provider: 'gitlab', repositoryHost: 'gitlab.com' });
    const own = await connect(repository.repository, { repositoryHost: 'ghe.acme.test' });
    for (const id of [gitlab, own]) {
      const reply = await report(await hub(repository), { ciConnectionId: id });
      expect([reply.status, reply.code]).toEqual(refused);
    }
    const crossed = await report(await lab({ project_path: repository.repository }), { ciConnectionId: own });
    expect(crossed.code).toBe('id_token_refused');
  });

  it('of a fork at GitLab, whose merge request runs in the project', async () => {
    const id = await connect('acme/app', { provider: 'gitlab', repositoryHost: 'gitlab.com' });
    const token = await lab({ project_id: '3001', project_path: 'stranger/app' });
    const reply = await report(token, { ciConnectionId: id, externalRunId: '9001' });
    expect([reply.status, reply.code]).toEqual(refused);
    const attempt = { ciConnectionId: id, externalRunId: '9001', externalAttempt: 2 };
    expect((await report(await lab(), attempt)).code).toBe('id_token_refused');
    expect((await report(await lab(), { ...attempt, externalAttempt: 1 })).status).toBe(201);
  });

  it.each<[string, string, object]>([
    ['another run', 'run_id', { externalRunId: '5002' }],
    ['another attempt', 'run_attempt', { externalAttempt: 2 }],
    ['another commit', 'sha', { commitSha: 'b'.repeat(40) }],
    ['a short commit', 'sha', { commitSha: SHA.slice(0, 8) }],
    ['another branch', 'ref', { branch: 'release' }],
    ['a tag', 'ref', { tag: 'v1' }],
    ['another trigger', 'event_name', { trigger: 'schedule' }],
    ['another pipeline', 'workflow', { pipelineName: 'deploy' }],
    ['another person', 'actor', { actor: 'boss' }],
    ['a page elsewhere', 'run_id', { externalUrl: 'https://evil.test/actions/runs/5001' }],
    ['a page of another run', 'run_id', { externalUrl: 'https://github.com/acme/app/actions/runs/50011' }],
  ])('that says %s: 403 names %s', async (_what, claim, body) => {
    const before = await runs();
    const reply = await report(await hub(), body);
    expect([reply.status, reply.code], reply.text).toEqual(refused);
    expect(reply.body['error']).toMatchObject({ details: { claim } });
    expect(await runs()).toBe(before);
  });

  it('that says the same as the claims is taken', async () => {
    const said = {
      commitSha: SHA.toUpperCase(),
      branch: 'refs/heads/main',
      trigger: 'push',
      pipelineName: 'CI',
      actor: 'octocat',
      externalUrl: 'https://github.com/Acme/App/actions/runs/5001/attempts/1',
    };
    expect((await report(await hub(), said)).status).toBe(200);
  });

  it('reads and changes no other run, by none of its names', async () => {
    const as = server.first.apiKey;
    const neighbour = await report(as, { externalRunId: '6001' });
    const key = (await newKey(server, other.token, { scopes: ['ci:manage', 'ci:write', 'ci:read'] })).secret;
    const theirs = await connect('acme/theirs', {}, { team: other.teamId, as: key });
    const foreign = await report(key, { ciConnectionId: theirs, externalRunId: '5001' });
    expect([neighbour.status, foreign.status]).toEqual([201, 201]);
    const given = await exchange(await hub());
    const credentials = [async () => String(given.body['token']), hub];
    const names = [
      [String(neighbour.body['id']), 403],
      [`${connection}:1:6001`, 403],
      [`${connection}:2:5001`, 403],
      [String(foreign.body['id']), 404],
      [`${theirs}:1:5001`, 403],
      ['cir_00000000000000000000000000', 404],
      ['cic_00000000000000000000000000:1:5001', 404],
    ] as const;
    for (const [run, status] of names)
      for (const credential of credentials)
        for (const [verb, path, body] of [
          ['GET', '', undefined],
          ['GET', '/jobs', undefined],
          ['PATCH', '', { status: 'failed' }],
          ['POST', '/jobs', { jobs: [{ name: 'x' }] }],
          ['POST', '/complete', { status: 'failed' }],
        ] as const) {
          const reply = await server.call(`${verb} /ci/runs/${encodeURIComponent(run)}${path}`, {
            as: await credential(),
            body,
          });
          // An exchanged token is of one connection: another one's name is refused before anything is looked
          // for.
          const allowed = status === 404 ? [404, 403] : [status];
          expect(allowed, `${verb} ${run}${path} answered ${reply.text}`).toContain(reply.status);
          expect(reply.text).not.toContain(theirs === run ? 'nothing' : String(neighbour.body['id']));
        }
    const [touched] = await server.db.sql`
      select count(*)::int as n from ci_runs where id = any(${[String(neighbour.body['id']), String(foreign.body['id'])]}) and status <> 'running'`;
    expect(touched).toEqual({ n: 0 });
  });

  it('calls nothing but its seven RPCs, by id_token or by what that was exchanged for', async () => {
    const open = rpcs.filter(({ idTokens }) => idTokens === true).map(({ id }) => id.split('/')[1] ?? '');
    expect(open.toSorted()).toEqual([
      'Complete',
      'GetRun',
      'ListRunJobs',
      'Report',
      'ReportForRun',
      'ReportJobs',
      'UpdateRun',
    ]);
    const given = await exchange(await hub());
    const closed = rpcs.filter(
      ({ audience, auth, idTokens }) => audience === 'public' && auth !== 'none' && idTokens !== true,
    );
    expect(closed.length).toBeGreaterThan(50);
    for (const rpc of closed)
      for (const as of [await hub(), String(given.body['token'])]) {
        const [route] = rpc.routes;
        const path = route?.segments.map((each) => ('literal' in each ? each.literal : 'x')).join('/');
        const verb = route?.customVerb === undefined ? '' : `:${route.customVerb}`;
        const reply = await server.call(`${route?.verb} /${path}${verb}`, {
          as,
          ...(route?.body === '' ? {} : { body: {} }),
        });
        const isHidden = reply.status === 404 && reply.code === 'not_found' && rpc.feature !== undefined;
        const isClosed = reply.code === 'feature_disabled' || isHidden;
        const answers = ['401 credentials_invalid', '403 id_token_refused'];
        if (!isClosed) expect(answers, `${rpc.id}: ${reply.text}`).toContain(`${reply.status} ${reply.code}`);
      }
  });

  it('gets in through no other door', async () => {
    const body = JSON.stringify({ ciConnectionId: connection, externalRunId: '5001' });
    const url = `${server.baseUrl}/svc.ci.v1.CiService/Report`;
    const headers = { 'content-type': 'application/json', 'connect-protocol-version': '1' };
    const token = await hub();
    const send = async (more: Record<string, string>) =>
      await fetch(url, { method: 'POST', body, headers: { ...headers, ...more } });
    expect((await send({ cookie: `__Host-sid=${token}`, 'sec-fetch-site': 'same-origin' })).status).toBe(401);
    expect((await send({ authorization: `Basic ${token}` })).status).toBe(401);
    expect((await send({ authorization: `Bearer ${token}`, cookie: '__Host-sid=x' })).status).toBe(401);
    expect((await send({ authorization: `Bearer ${token}` })).status).toBe(200);
    expect((await send({ authorization: `Bearer ${token}` })).status).toBe(401);
  });

  it('never sees the token again, whatever is wrong with it', async () => {
    const tokens = [
      await hub({ repository_id: '666' }),
      await hub({ aud: 'https://x.test' }),
      'eyJhbGciOiJub25lIn0.e30.',
      'a.b.c',
    ];
    for (const token of tokens)
      for (const reply of [await report(token, {}), await exchange(token)]) {
        expect(reply.status).toBeGreaterThanOrEqual(401);
        for (const part of token.split('.').filter((each) => each.length > 10))
          expect(reply.text).not.toContain(part);
      }
  });

  it('and a flood of bad ones is slowed, and asks the issuer for nothing', async () => {
    await issuers.rotate(); // No key fits any more, so each of them could be a reason to ask.
    const env = { ...issuers.env, LIMIT_LOGINS_PER_MINUTE: '5' };
    const limited = await startTestServer({ env, databaseUrl: server.databaseUrl, dataDir: server.dataDir });
    try {
      await report(await hub(), {}, limited);
      const before = issuers.reads('github');
      const replies = [];
      // 15 wrong ones, then 300 looks a minute at what may be right all the same, which fill up meanwhile.
      for (let i = 0; i < 420; i += 1) {
        const bad = await issuers.sign('github', githubClaims(), { header: { kid: `bad-${i}` } });
        replies.push(i % 2 === 0 ? await report(bad, {}, limited) : await exchange(bad, connection, limited));
      }
      expect(new Set(replies.map(({ code }) => code))).toEqual(new Set(['id_token_invalid', 'rate_limited']));
      expect(replies.filter(({ code }) => code === 'id_token_invalid').length).toBeLessThan(420);
      expect(issuers.reads('github') - before).toBeLessThanOrEqual(1);
    } finally {
      await limited.stop();
    }
  });
});
