/**
 * Every act that changes somebody's standing leaves one entry, over the real door; who may read it, and what
 * it never holds.
 */
import { createHash, createPublicKey, generateKeyPairSync, verify } from 'node:crypto';
import canonicalize from 'canonicalize';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { AuditCheckpoint, AuditEntry } from '@svc/sdk';
import { has } from '../../../test/setup/needs.ts';
import { firstSession, join, newKey, revokeKey, PASSWORD, stranger } from '../../../test/setup/people.ts';
import { startTestServer, type TestResponse, type TestServer } from '../../../test/setup/server.ts';
import { stepAt, totpCode } from '../../access/accounts/totp-code.ts';
import { createFakeClock } from '../../../test/setup/clock.ts';

const anyText = expect.any(String) as string;

type Entry = Required<AuditEntry>;

describe.skipIf(!(await has('postgres')))('the ledger', () => {
  const clock = createFakeClock(new Date('2026-05-01T00:00:00Z'));
  let server: TestServer;
  let owner: string;
  let staff: string;

  beforeAll(async () => {
    server = await startTestServer({ clock, env: { LIMIT_TEAMS: '50' } });
    owner = server.first.apiKey;
    staff = server.first.staffApiKey;
  });
  afterAll(async () => await server?.stop());

  async function must(
    route: string,
    status: number,
    { body, as = owner }: { readonly body?: unknown; readonly as?: string } = {},
  ): Promise<TestResponse> {
    const answer = await server.call(route, { as, ...(body === undefined ? {} : { body }) });
    expect([route, answer.status, answer.text]).toEqual([route, status, answer.text]);
    return answer;
  }
  async function newTeam(name: string): Promise<string> {
    return String((await must('POST /teams', 201, { body: { name } })).body['id']);
  }
  /** The entries come oldest first. */
  async function entries(path: string, as = owner): Promise<Entry[]> {
    const { body } = await must(`GET ${path}?limit=200`, 200, { as });
    return (body['entries'] as Entry[]).toReversed();
  }
  const teamEntries = async (teamId: string) => await entries(`/teams/${teamId}/audit`);
  const creation = (name: string, teamId: string) => ({ as: owner, body: { name, teamId } });
  const actions = (found: readonly Entry[]) => found.map(({ action }) => action);

  it('tells the story of a team, from its founding to its end and beyond', async () => {
    const teamId = await newTeam('crew');
    await must(`PATCH /teams/${teamId}`, 200, { body: { name: 'crew 2', description: 'we build' } });
    await must(`PATCH /teams/${teamId}`, 200, { body: { name: 'crew 2' } }); // changes nothing
    const ann = await join(server, owner, { teamId, role: 'developer' });
    const session = await firstSession(server);
    await must(`PATCH /teams/${teamId}/members/${ann.userId}`, 200, { body: { role: 'admin' }, as: session });
    await must(`PATCH /teams/${teamId}/members/${ann.userId}`, 200, { body: { role: 'admin' }, as: session });
    const { body: invited } = await must(`POST /teams/${teamId}/invites`, 201, {
      body: { email: 'Bo@example.com' },
    });
    const inviteId = (invited['invite'] as { id: string }).id;
    await must(`DELETE /teams/${teamId}/invites/${inviteId}`, 204);
    const project = (await must('POST /projects', 201, { body: { name: 'Shop', teamId } })).body['id'];
    const made = await must(`POST /projects/${project}/environments`, 201, { body: { name: 'production' } });
    const environment = made.body['id'];
    await must(`PATCH /environments/${environment}`, 200, { body: { branch: 'next', name: 'production' } });
    await must(`DELETE /environments/${environment}`, 204);
    await must(`DELETE /projects/${project}`, 204);
    const key = await newKey(server, owner, { teamId, name: 'narrow', scopes: ['run:read'] });
    await revokeKey(server, owner, key.id);
    await revokeKey(server, owner, key.id);
    const regions = (await must('GET /regions', 200)).body['regions'] as Array<{
      id: string;
      operator: string;
    }>;
    const customer = regions.find(({ operator }) => operator === 'customer')!.id;
    await must(`PUT /admin/teams/${teamId}/region`, 200, { body: { regionId: customer }, as: staff });
    await must(`PUT /admin/teams/${teamId}/region`, 200, { body: { regionId: customer }, as: staff });
    await must(`POST /teams/${teamId}/runners/enroll-tokens`, 201, { body: {} });
    await must(`DELETE /teams/${teamId}/members/${ann.userId}`, 204);

    const found = await teamEntries(teamId);
    const of = { projectId: project, name: 'production' };
    const environmentOn = (branch: string): unknown =>
      expect.objectContaining({ name: 'production', branch, repository: null, deploy: null });
    expect(found.map(({ action, target, details }) => [action, target, details])).toEqual([
      ['team.created', teamId, { name: 'crew' }],
      ['team.updated', teamId, { fields: ['name', 'description'], from: 'crew', to: 'crew 2' }],
      ['team_invite.created', expect.stringMatching(/^inv_/), { email: ann.email, role: 'developer' }],
      [
        'team_member.added',
        ann.userId,
        {
          username: ann.username,
          role: 'developer',
          newAccount: true,
          inviteId: expect.stringMatching(/^inv_/) as string,
        },
      ],
      ['team_member.role_changed', ann.userId, { username: ann.username, from: 'developer', to: 'admin' }],
      ['team_invite.created', inviteId, { email: 'bo@example.com', role: 'developer' }],
      ['team_invite.revoked', inviteId, { email: 'bo@example.com' }],
      ['project.created', project, { name: 'Shop', slug: anyText }],
      ['environment.created', environment, { ...of, after: environmentOn('main') }],
      [
        'environment.updated',
        environment,
        { ...of, fields: ['branch'], before: { branch: 'main' }, after: { branch: 'next' } },
      ],
      ['environment.deleted', environment, { ...of, before: environmentOn('next'), guards: [] }],
      ['project.deleted', project, { name: 'Shop', slug: anyText, environments: [] }],
      ['api_key.created', key.id, { name: 'narrow', scopes: ['run:read'], expiresAt: anyText }],
      ['api_key.revoked', key.id, { name: 'narrow' }],
      ['team.region_assigned', teamId, { from: anyText, to: customer, operator: 'customer' }],
      ['enroll_token.issued', expect.stringMatching(/^tok_/), { expiresAt: anyText }],
      ['team_member.removed', ann.userId, { username: ann.username, role: 'admin' }],
    ]);
    expect(found.map(({ seq }) => seq)).toEqual(found.map((_, at) => at + 1));
    expect(found[0]?.actor).toEqual({
      kind: 'api_key',
      id: expect.stringMatching(/^key_/) as string,
      display: 'staff (first start)',
    });
    expect(found[3]?.actor).toEqual({ kind: 'user', id: ann.userId, display: ann.username });
    expect(found.every(({ requestId }) => requestId !== '')).toBe(true);

    await must(`DELETE /teams/${teamId}`, 204);
    expect((await server.call(`GET /teams/${teamId}/audit`, { as: owner })).code).toBe('not_found');
    const left = await server.asOwner(
      `select count(*)::int as n, max(action) filter (where seq = 18) as last from audit_entries where chain = '${teamId}'`,
    );
    expect(left[0]).toEqual({ n: 18, last: 'team.deleted' });
  });

  it('has the story of a runner too, from its token to its end', async () => {
    const teamId = await newTeam('machines');
    const issued = await must(`POST /teams/${teamId}/runners/enroll-tokens`, 201, { body: {} });
    const { publicKey } = generateKeyPairSync('ed25519');
    const { x } = publicKey.export({ format: 'jwk' });
    const enroll = { token: issued.body['token'], name: 'bench-1', publicKey: x };
    const runnerId = (await must('POST /runners/enroll', 201, { body: enroll })).body['runnerId'];
    await must('POST /runners/enroll', 201, { body: enroll }); // the answer was lost: no second runner, no second entry
    const at = `/teams/${teamId}/runners/${String(runnerId)}`;
    await must(`POST ${at}/pause`, 200, { body: { note: 'new disk', minutes: 5 } });
    await must(`POST ${at}/resume`, 200, { body: {} });
    await must(`POST ${at}/resume`, 200, { body: {} });
    await server.asOwner(`update runners set strikes = 3 where id = '${String(runnerId)}'`);
    await must(`POST ${at}/clear-divergence-flag`, 200, { body: {} });
    await must(`POST ${at}/clear-divergence-flag`, 200, { body: {} });
    await must(`DELETE ${at}`, 204);
    await must(`DELETE ${at}`, 204);
    const found = (await teamEntries(teamId)).slice(2);
    expect(found.map(({ action, details }) => [action, details])).toEqual([
      [
        'runner.enrolled',
        { name: 'bench-1', keyId: anyText, tokenId: expect.stringMatching(/^tok_/) as string },
      ],
      ['runner.paused', { name: 'bench-1', note: 'new disk', minutes: 5 }],
      ['runner.resumed', { name: 'bench-1' }],
      ['runner.divergence_cleared', { name: 'bench-1', strikes: 3 }],
      ['runner.revoked', { keyId: anyText, held: 0 }],
    ]);
    expect(found[0]?.actor).toEqual({ kind: 'runner', id: runnerId, display: 'bench-1' });
  });

  it('holds what belongs to no team in the chain of the platform, for staff', async () => {
    const person = await stranger(server);
    const before = (await entries('/admin/audit', staff)).length;
    const key = await newKey(server, person.token);
    await must(`DELETE /api-keys/${key.id}`, 204, { as: person.token });
    const begun = await must('POST /account/totp', 201, { body: {}, as: person.token });
    const code = totpCode(fromBase32(String(begun.body['secret'])), stepAt(clock.now()));
    await must('POST /account/totp/confirm', 200, { body: { code }, as: person.token });
    await must('POST /account/totp/disable', 204, { body: { currentPassword: PASSWORD }, as: person.token });
    await must('POST /account/totp/disable', 204, { body: { currentPassword: PASSWORD }, as: person.token });
    const change = { currentPassword: PASSWORD, newPassword: 'another pass phrase' };
    await must('POST /account/password', 204, { body: change, as: person.token });
    const found = (await entries('/admin/audit', staff)).slice(before);
    expect(found.map(({ action, target }) => [action, target])).toEqual([
      ['api_key.created', key.id],
      ['api_key.revoked', key.id],
      ['account.totp_enrolled', person.userId],
      ['account.totp_disabled', person.userId],
      ['account.password_changed', person.userId],
    ]);
    expect((await server.call('GET /admin/audit', { as: owner })).code).toBe('scope_missing');
  });

  it('begins with the first start', async () => {
    const found = await entries(`/teams/${server.first.teamId}/audit`);
    expect(found[0]).toMatchObject({ action: 'team.created', actor: { kind: 'system', id: 'first_start' } });
  });

  it('is read by admins and owners of the team, and by nobody else', async () => {
    const teamId = await newTeam('readers');
    const paths = ['', '/verify', '/export'].map((end) => `/teams/${teamId}/audit${end}`);
    const admin = await join(server, owner, { teamId, role: 'admin' });
    const developer = await join(server, owner, { teamId, role: 'developer' });
    const other = await stranger(server);
    const poor = await newKey(server, owner, { scopes: ['team:read'] });
    for (const path of paths) {
      const said = await Promise.all(
        [admin.token, developer.token, other.token, poor.secret, staff].map(async (as) => {
          const answer = await fetch(server.baseUrl + path, { headers: { authorization: `Bearer ${as}` } });
          return `${answer.status} ${/"code":"([a-z_]+)"/.exec(await answer.text())?.[1] ?? ''}`;
        }),
      );
      const answers = ['200 ', '403 role_insufficient', '404 not_found', '403 scope_missing'];
      // The first start's staff account made the team, so it is its owner too.
      expect([path, ...said]).toEqual([path, ...answers, '200 ']);
    }
  });

  it('writes nothing for what was refused or rolled back, and once for what was repeated', async () => {
    const teamId = await newTeam('atomic');
    const make = async (key: string, name: string) =>
      await server.call('POST /projects', { ...creation(name, teamId), headers: { 'idempotency-key': key } });
    await server.asOwner(`
      create function refuse_answer() returns trigger language plpgsql as $$ begin raise exception 'gone'; end $$;
      create trigger refuse_answer before insert on idempotency_keys for each row execute function refuse_answer()`);
    expect((await make('atomic-1', 'lost')).status).toBe(500);
    await server.asOwner('drop trigger refuse_answer on idempotency_keys; drop function refuse_answer()');
    expect(actions(await teamEntries(teamId))).toEqual(['team.created']);
    await Promise.all(Array.from({ length: 10 }, async () => await make('atomic-2', 'kept')));
    await must(`DELETE /teams/${teamId}/members/user_missing`, 404);
    expect(actions(await teamEntries(teamId))).toEqual(['team.created', 'project.created']);
  });

  it('has no holes when many act at once, and pages through them', async () => {
    const teamId = await newTeam('busy');
    const made = await Promise.all(
      Array.from({ length: 30 }, async (_, n) => {
        return (await server.call('POST /projects', creation(`p${n}`, teamId))).status;
      }),
    );
    expect(made).toEqual(made.map(() => 201));
    const seen: number[] = [];
    for (let cursor: unknown; ;) {
      const more = cursor === undefined ? '' : `&cursor=${encodeURIComponent(String(cursor))}`;
      const { body } = await must(`GET /teams/${teamId}/audit?limit=7${more}`, 200);
      seen.push(...(body['entries'] as Entry[]).map(({ seq }) => seq));
      cursor = body['nextCursor'];
      if (cursor === undefined) break;
    }
    expect(seen).toEqual(Array.from({ length: 31 }, (_, n) => 31 - n));
    const { body } = await must(`GET /teams/${teamId}/audit/verify`, 200);
    expect(body['report']).toMatchObject({ finding: 'intact', entries: 31 });
  });

  it('is searched by act, target, actor, time and place', async () => {
    const teamId = await newTeam('searched');
    const project = String((await must('POST /projects', 201, { body: { name: 'a', teamId } })).body['id']);
    clock.advance(3_600_000);
    const since = clock.now().toISOString();
    const ann = await join(server, owner, { teamId, role: 'admin' });
    await must(`DELETE /projects/${project}`, 204, { as: ann.token });
    const found = async (filter: string): Promise<unknown> => {
      const { body } = await must(`GET /teams/${teamId}/audit?${filter}`, 200);
      return [actions(body['entries'] as Entry[]), body['nextCursor']];
    };
    expect(await found('action=project.deleted')).toEqual([['project.deleted'], undefined]);
    expect(await found('action=project.')).toEqual([['project.deleted', 'project.created'], undefined]);
    expect(await found('action=project')).toEqual([[], undefined]);
    expect(await found(`target=${project}&since=${since}`)).toEqual([['project.deleted'], undefined]);
    expect(await found(`action=project.&until=${since}`)).toEqual([['project.created'], undefined]);
    expect(await found(`actorId=${ann.userId}&action=project.`)).toEqual([['project.deleted'], undefined]);
    expect(await found('seq=2')).toEqual([['project.created'], undefined]);
    expect(await found('seq=2&action=team.')).toEqual([[], undefined]);
    const platform = await must('GET /admin/audit?action=no.such', 200, { as: staff });
    expect(platform.body).toEqual({ entries: [] });
  });

  it('is exported line by line, and everybody can compute it again', async () => {
    const teamId = await newTeam('export');
    for (let n = 0; n < 4; n += 1) await must('POST /projects', 201, { body: { name: `p${n}`, teamId } });
    const lines = await exported(`/teams/${teamId}/audit/export`);
    expect(lines.map(({ position }) => position)).toEqual(['1', '2', '3', '4', '5', '5']);
    let previous = '0'.repeat(64);
    for (const { entry } of lines.slice(0, -1)) {
      const { seq, chain, at, actor, action, target, details, requestId, hash } = entry!;
      const content = canonicalize({ action, actor, at: Date.parse(at), details, requestId, target });
      const text = `audit.v1\n${chain}\n${seq}\n${previous}\n${content}`;
      expect(createHash('sha256').update(text).digest('hex')).toBe(hash);
      previous = hash;
    }
    const { checkpoint } = lines.at(-1)!;
    expect(checkpoint).toMatchObject({ chain: teamId, seq: 5, hash: previous });
    const signed = `audit-checkpoint.v1\n${teamId}\n5\n${previous}\n${Date.parse(checkpoint!.at)}`;
    const key = createPublicKey({
      key: { kty: 'OKP', crv: 'Ed25519', x: checkpoint!.publicKey },
      format: 'jwk',
    });
    const signature = Buffer.from(checkpoint!.signature, 'base64url');
    expect(verify(undefined, Buffer.from(signed), key, signature)).toBe(true);

    const rest = await exported(`/teams/${teamId}/audit/export?after=3`);
    expect(rest.map(({ position }) => position)).toEqual(['4', '5', '5']);
    expect(await exported(`/teams/${teamId}/audit/export?after=5`)).toHaveLength(1);
    expect((await server.call(`GET /teams/${teamId}/audit/export?after=x`, { as: owner })).status).toBe(400);
    expect((await exported('/admin/audit/export', staff)).at(-1)?.checkpoint?.chain).toBe('platform');

    const kept = `seq=5&hash=${previous}`;
    const good = await must(`GET /teams/${teamId}/audit/verify?${kept}`, 200);
    expect(good.body['report']).toMatchObject({ finding: 'intact', hash: previous });
    const other = await must(`GET /teams/${teamId}/audit/verify?seq=4&hash=${previous}`, 200);
    expect(other.body['report']).toMatchObject({ finding: 'rewritten', seq: 4 });
    const half = await server.call(`GET /teams/${teamId}/audit/verify?seq=4`, { as: owner });
    expect(half.code).toBe('validation_failed');
  });

  it('is checked as a whole by staff, who see which chain is broken', async () => {
    const before = await must('GET /admin/audit/verify', 200, { as: staff });
    expect(before.body).toMatchObject({ intact: true });
    const teamId = await newTeam('broken');
    await server.asOwner(`
      alter table audit_entries disable trigger all;
      update audit_entries set target = 'other' where chain = '${teamId}';
      alter table audit_entries enable always trigger audit_entries_append_only`);
    const { body } = await must('GET /admin/audit/verify', 200, { as: staff });
    expect(body).toMatchObject({
      intact: false,
      chains: Number(before.body['chains']) + 1,
      entries: Number(before.body['entries']) + 1,
      broken: [{ chain: teamId, finding: 'entry_changed', seq: 1 }],
    });
  });

  it('holds no secret, whatever went in', async () => {
    const canaries = ['canary-password-1', 'canary-password-2', 'canary-repository'];
    const teamId = await newTeam('secrets');
    const { body: invited } = await must(`POST /teams/${teamId}/invites`, 201, {
      body: {
        email: 'canary@example.com',
      },
    });
    const accept = { token: invited['token'], username: 'canary', password: canaries[0] };
    expect((await server.call('POST /invites/accept', { body: accept })).status).toBe(200);
    const login = { email: 'canary@example.com', password: canaries[0] };
    const session = String((await server.call('POST /auth/login', { body: login })).body['token']);
    const change = { currentPassword: canaries[0], newPassword: canaries[1] };
    await must('POST /account/password', 204, { body: change, as: session });
    const { body: totp } = await must('POST /account/totp', 201, { body: {}, as: session });
    const code = totpCode(fromBase32(String(totp['secret'])), stepAt(clock.now()));
    const { body: confirmed } = await must('POST /account/totp/confirm', 200, {
      body: { code },
      as: session,
    });
    const key = await newKey(server, session);
    const { body: enrollToken } = await must(`POST /teams/${teamId}/runners/enroll-tokens`, 201, {
      body: {},
    });
    const project = (await must('POST /projects', 201, { body: { name: 'Shop', teamId } })).body['id'];
    await must(`POST /projects/${String(project)}/environments`, 201, {
      body: {
        name: 'production',
        repository: `https://user:${canaries[2]}@example.com/shop.git`,
      },
    });
    const secrets = [
      ...canaries,
      session,
      key.secret,
      String(invited['token']),
      String(enrollToken['token']),
      String(totp['secret']),
      ...(confirmed['recoveryCodes'] as string[]),
      server.first.staffPassword,
      server.first.apiKey,
      server.first.staffApiKey,
    ];
    const rows = await server.asOwner('select to_jsonb(e)::text as text from audit_entries e');
    expect(rows.length).toBeGreaterThan(50);
    for (const secret of secrets) {
      expect(secret.length).toBeGreaterThan(8);
      expect(rows.filter(({ text }) => String(text).includes(secret))).toEqual([]);
    }
  });

  // Last, because the chain that it makes is not intact.
  it('is searched in steps, each of which looks at 10,000 entries', async () => {
    const teamId = await newTeam('long');
    await server.asOwner(`
      insert into audit_entries (chain, seq, at, actor_kind, actor_id, actor_display, action, target, details, request_id, previous_hash, hash)
      select '${teamId}', n, 0, 'system', 'x', 'x', 'thing.moved', 'x', '{}', '', '', n from generate_series(2, 20500) n;
      update audit_heads set seq = 20500 where chain = '${teamId}'`);
    const pages: Array<[number, boolean]> = [];
    for (let cursor: unknown; ;) {
      const more = cursor === undefined ? '' : `&cursor=${encodeURIComponent(String(cursor))}`;
      const { body } = await must(`GET /teams/${teamId}/audit?action=team.created${more}`, 200);
      cursor = body['nextCursor'];
      pages.push([(body['entries'] as Entry[]).length, cursor !== undefined]);
      if (cursor === undefined) break;
    }
    expect(pages).toEqual([
      [0, true],
      [0, true],
      [1, false],
    ]);
    const path = `/teams/${teamId}/audit?action=thing.moved&limit=200`;
    const { body } = await must(`GET ${path}`, 200);
    expect((body['entries'] as Entry[]).at(-1)?.seq).toBe(20_301);
    const other = `/teams/${teamId}/audit?action=team.created&cursor=${String(body['nextCursor'])}`;
    expect((await server.call(`GET ${other}`, { as: owner })).status).toBe(400);
  });

  interface Line {
    readonly position: string;
    readonly entry?: Entry;
    readonly checkpoint?: AuditCheckpoint;
  }

  async function exported(path: string, as = owner): Promise<Line[]> {
    const answer = await fetch(server.baseUrl + path, {
      headers: { authorization: `Bearer ${as}`, accept: 'application/x-ndjson' },
    });
    const text = await answer.text();
    expect([path, answer.status, text]).toEqual([path, 200, text]);
    return text
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as Line);
  }
});

function fromBase32(text: string): Uint8Array {
  const bits = [...text].map((each) =>
    'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'.indexOf(each).toString(2).padStart(5, '0'),
  );
  return Uint8Array.from(bits.join('').match(/.{8}/g) ?? [], (byte) => Number.parseInt(byte, 2));
}
