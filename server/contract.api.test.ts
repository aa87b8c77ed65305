/**
 * Every public RPC of the contract against every kind of credential. The rows are keyed by RPC: an RPC without a row fails the
 * test, so that none is published without somebody having thought about who may call it. What is refused leaves no trace.
 */
import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { rpcs } from '@svc/proto/gen/rpcs.ts';
import type { RpcInfo } from '@svc/proto/http/rpc.ts';
import { has } from '../test/setup/needs.ts';
import { join, newKey, PASSWORD, signIn, stranger } from '../test/setup/people.ts';
import type { Person } from '../test/setup/people.ts';
import { startTestServer } from '../test/setup/server.ts';
import type { TestResponse, TestServer } from '../test/setup/server.ts';

const postgresHere = await has('postgres');

interface Row {
  /** Path variables, by their name in the template. */
  readonly path?: Readonly<Record<string, string>>;
  readonly query?: string;
  readonly body?: Readonly<Record<string, unknown>>;
  /** Status, or the error code when the call itself is then refused for a reason of its own. */
  readonly right: number | string;
  /** What a person of another team gets: 404 unless the call concerns nothing but the own account. */
  readonly other?: number | string;
}

describe.skipIf(!postgresHere)('every public RPC', () => {
  let server: TestServer;
  let right: Person;
  let other: Person;
  /** Sessions end while this runs (sign-out, password change): keys do the work beside the call at hand. */
  let credentials: { expired: string; revoked: string; unrelated: string; right: string; other: string };
  const teamId = (): string => server.first.teamId;

  beforeAll(async () => {
    server = await startTestServer();
    right = await join(server, server.first.apiKey, teamId(), 'owner');
    other = await stranger(server);
    const [expired, revoked] = [await newKey(server, right.token), await newKey(server, right.token)];
    await server.db.sql`update api_keys set expires_at = now() - interval '1 second' where id = ${expired.id}`;
    await server.call(`DELETE /api-keys/${revoked.id}`, { as: right.token });
    const unrelated = await newKey(server, right.token, { scopes: ['ci:read'] });
    const [own, others] = [await newKey(server, right.token), await newKey(server, other.token)];
    credentials = { expired: expired.secret, revoked: revoked.secret, unrelated: unrelated.secret, right: own.secret, other: others.secret };
  });
  afterAll(async () => await server.stop());

  const made = async (route: string, body: Record<string, unknown>): Promise<string> => {
    const { status, text, body: answer } = await server.call(route, { as: credentials.right, body });
    if (status !== 201) throw new Error(`${route} answered ${status}: ${text}`);
    return String(answer['id']);
  };
  const project = async (): Promise<string> => await made('POST /projects', { name: 'p', teamId: teamId() });
  const environment = async (): Promise<string> => await made(`POST /projects/${await project()}/environments`, { name: 'e' });
  const run = async (): Promise<string> => await made(`POST /teams/${teamId()}/sandbox-runs`, { purpose: 'agent_task', command: ['true'] });
  const member = async (): Promise<string> => (await join(server, server.first.apiKey, teamId(), 'viewer')).userId;
  const runner = async (): Promise<string> => {
    const id = `rnr_${randomBytes(13).toString('hex')}`;
    await server.db.sql`
      insert into runners (id, team_id, name, key_id, public_key, enrolled_at)
      values (${id}, ${teamId()}, ${id}, ${id}, ${randomBytes(32)}, now())`;
    return id;
  };
  const team = { path: {} };
  const ofTeam = (more: Readonly<Record<string, string>> = {}) => ({ path: { team_id: teamId(), ...more } });
  const ofRunner = async () => ofTeam({ runner_id: await runner() });
  const region = async (): Promise<string> => {
    const { body } = await server.call('GET /regions', { as: credentials.right });
    return (body['regions'] as Array<{ id: string }>)[0]?.id ?? '';
  };

  const rows: Readonly<Record<string, () => Promise<Row> | Row>> = {
    'svc.account.v1.AccountService/ChangePassword': () => ({ body: { currentPassword: PASSWORD, newPassword: PASSWORD }, right: 204, other: 204 }),
    'svc.account.v1.AccountService/Plan': () => ({ right: 200, other: 200 }),
    'svc.account.v1.AccountService/TotpConfirm': () => ({ body: { code: '000000' }, right: 'totp_not_pending', other: 'totp_not_pending' }),
    'svc.account.v1.AccountService/TotpDisable': () => ({ right: 204, other: 204 }),
    'svc.account.v1.AccountService/TotpEnroll': () => ({ body: {}, right: 201, other: 201 }),
    'svc.account.v1.AccountService/TotpStatus': () => ({ right: 200, other: 200 }),
    'svc.account.v1.AccountService/UpdateUsername': () => ({ body: { username: `u${randomBytes(6).toString('hex')}` }, right: 200, other: 'username_taken' }),
    'svc.account.v1.AccountService/Whoami': () => ({ right: 200, other: 200 }),
    'svc.apikeys.v1.ApiKeysService/Create': () => ({ body: { name: 'k' }, right: 201, other: 201 }),
    'svc.apikeys.v1.ApiKeysService/List': () => ({ right: 200, other: 200 }),
    'svc.apikeys.v1.ApiKeysService/Revoke': async () => ({ path: { api_key_id: (await newKey(server, credentials.right)).id }, right: 204 }),
    'svc.auth.v1.AuthService/Login': () => ({ body: { email: right.email, password: PASSWORD }, right: 200 }),
    'svc.auth.v1.AuthService/Logout': () => ({ body: {}, right: 204, other: 204 }),
    'svc.environments.v1.EnvironmentsService/Create': async () => ({ path: { project_id: await project() }, body: { name: 'x' }, right: 201 }),
    'svc.environments.v1.EnvironmentsService/Delete': async () => ({ path: { environment_id: await environment() }, right: 204 }),
    'svc.environments.v1.EnvironmentsService/Get': async () => ({ path: { environment_id: await environment() }, right: 200 }),
    'svc.environments.v1.EnvironmentsService/List': async () => ({ path: { project_id: await project() }, right: 200 }),
    'svc.environments.v1.EnvironmentsService/Update': async () => ({ path: { environment_id: await environment() }, body: { branch: 'b' }, right: 200 }),
    'svc.projects.v1.ProjectsService/Create': () => ({ body: { name: 'p', teamId: teamId() }, right: 201 }),
    'svc.projects.v1.ProjectsService/Delete': async () => ({ path: { project_id: await project() }, right: 204 }),
    'svc.projects.v1.ProjectsService/Get': async () => ({ path: { id_or_slug: await project() }, right: 200 }),
    'svc.projects.v1.ProjectsService/List': () => ({ query: `?teamId=${teamId()}`, right: 200 }),
    'svc.regions.v1.RegionsService/List': () => ({ right: 200, other: 200 }),
    'svc.runners.v1.RunnersService/ClearDivergenceFlag': async () => ({ ...(await ofRunner()), body: {}, right: 200 }),
    'svc.runners.v1.RunnersService/CreateEnrollToken': () => ({ ...ofTeam(), body: {}, right: 201 }),
    'svc.runners.v1.RunnersService/Diagnose': () => ({ ...ofTeam(), right: 200 }),
    'svc.runners.v1.RunnersService/Get': async () => ({ ...(await ofRunner()), right: 200 }),
    'svc.runners.v1.RunnersService/List': () => ({ ...ofTeam(), right: 200 }),
    'svc.runners.v1.RunnersService/Pause': async () => ({ ...(await ofRunner()), body: {}, right: 200 }),
    'svc.runners.v1.RunnersService/RequestDiagnostics': async () => ({ ...(await ofRunner()), body: {}, right: 202 }),
    'svc.runners.v1.RunnersService/Resume': async () => ({ ...(await ofRunner()), body: {}, right: 200 }),
    'svc.runners.v1.RunnersService/Revoke': async () => ({ ...(await ofRunner()), right: 204 }),
    'svc.sandboxruns.v1.SandboxRunsService/Cancel': async () => ({ path: { run_id: await run() }, body: {}, right: 200 }),
    'svc.sandboxruns.v1.SandboxRunsService/Create': () => ({ ...ofTeam(), body: { purpose: 'agent_task', command: ['true'] }, right: 201 }),
    'svc.sandboxruns.v1.SandboxRunsService/Get': async () => ({ path: { run_id: await run() }, right: 200 }),
    'svc.sandboxruns.v1.SandboxRunsService/List': () => ({ ...ofTeam(), right: 200 }),
    'svc.sandboxruns.v1.SandboxRunsService/StreamLogs': async () => ({ path: { run_id: await run() }, query: '?follow=false', right: 200 }),
    'svc.teams.v1.AdminTeamsService/SetRegion': async () => ({ ...ofTeam(), body: { regionId: await region() }, right: 'scope_missing', other: 'scope_missing' }),
    'svc.teams.v1.TeamsService/AcceptInvite': () => ({ body: { token: 'invt_none' }, right: 'invite_invalid', other: 'invite_invalid' }),
    'svc.teams.v1.TeamsService/Create': () => ({ body: { name: 't' }, right: 201, other: 201 }),
    'svc.teams.v1.TeamsService/Delete': async () => ({ path: { team_id: await made('POST /teams', { name: 't' }) }, right: 204 }),
    'svc.teams.v1.TeamsService/Get': () => ({ ...ofTeam(), right: 200 }),
    'svc.teams.v1.TeamsService/InviteMember': () => ({ ...ofTeam(), body: { email: 'new@example.com' }, right: 201 }),
    'svc.teams.v1.TeamsService/List': () => ({ ...team, right: 200, other: 200 }),
    'svc.teams.v1.TeamsService/ListInvites': () => ({ ...ofTeam(), right: 200 }),
    'svc.teams.v1.TeamsService/ListMembers': () => ({ ...ofTeam(), right: 200 }),
    'svc.teams.v1.TeamsService/RemoveMember': async () => ({ ...ofTeam({ user_id: await member() }), right: 204 }),
    'svc.teams.v1.TeamsService/RevokeInvite': async () => {
      const { body } = await server.call(`POST /teams/${teamId()}/invites`, { as: credentials.right, body: { email: `${randomBytes(4).toString('hex')}@example.com` } });
      return { ...ofTeam({ invite_id: (body['invite'] as { id: string }).id }), right: 204 };
    },
    'svc.teams.v1.TeamsService/Update': () => ({ ...ofTeam(), body: { description: 'd' }, right: 200 }),
    'svc.teams.v1.TeamsService/UpdateMemberRole': async () => ({ ...ofTeam({ user_id: await member() }), body: { role: 'developer' }, right: 200 }),
  };

  const publicRpcs = rpcs.filter((rpc) => rpc.audience === 'public');

  it('has a row here, and no row is left over', () => {
    expect(Object.keys(rows).sort()).toEqual(publicRpcs.map((rpc) => rpc.id).sort());
  });

  async function send(rpc: RpcInfo, row: Row, as: string | undefined): Promise<TestResponse> {
    const [route] = rpc.routes;
    if (route === undefined) throw new Error(`${rpc.id} has no route`);
    const path = route.template.replace(/\{(\w+)\}/g, (_all, name: string) => row.path?.[name] ?? `{${name}}`);
    const raw = await fetch(`${server.baseUrl}${path}${row.query ?? ''}`, {
      method: route.verb,
      headers: { ...(as !== undefined && { authorization: `Bearer ${as}` }), ...(row.body !== undefined && { 'content-type': 'application/json' }) },
      ...(row.body !== undefined && { body: JSON.stringify(row.body) }),
    });
    const text = await raw.text();
    const body = (text.startsWith('{') ? JSON.parse(text) : {}) as Record<string, unknown>;
    return { status: raw.status, headers: raw.headers, text, body, code: (body['error'] as { code?: string } | undefined)?.code };
  }

  const outcome = (answer: TestResponse): number | string => answer.code ?? answer.status;
  const expected = (value: number | string): number | string => (value === 404 ? 'not_found' : value);

  /** Every row of every table that a call could change. */
  async function contents(): Promise<unknown> {
    return await server.db.sql`
      select (select jsonb_agg(t order by t) from (select id, name, description, region_id from teams) t) as teams,
        (select jsonb_agg(m order by m) from team_members m) as members, (select jsonb_agg(i order by i) from team_invites i) as invites,
        (select jsonb_agg(p order by p) from projects p) as projects, (select jsonb_agg(e order by e) from environments e) as environments,
        (select jsonb_agg(k order by k) from (select id, revoked_at, scopes from api_keys) k) as keys,
        (select jsonb_agg(r order by r) from (select id, revoked_at, paused_at, strikes, diagnostics_requested_at from runners) r) as runners,
        (select count(*)::int from enrollment_tokens) as tokens, (select count(*)::int from sessions) as sessions,
        (select jsonb_agg(w order by w) from (select id, state, cancel_requested_at from work_items) w) as work,
        (select jsonb_agg(u order by u) from (select id, username, password_hash from users) u) as users,
        (select count(*)::int from totp) as totp`;
  }

  it.each(publicRpcs.map((rpc) => [rpc.id, rpc] as const))('%s refuses whom it must and serves whom it may', async (id, rpc) => {
    const row = await rows[id]?.();
    if (row === undefined) throw new Error(`no row for ${id}`);
    const before = await contents();
    if (rpc.auth !== 'none') {
      if (rpc.auth !== 'optional') expect(outcome(await send(rpc, row, undefined)), 'nobody').toBe('credentials_missing');
      for (const [name, credential] of Object.entries({ garbage: 'garbage', expired: credentials.expired, revoked: credentials.revoked })) {
        expect(outcome(await send(rpc, row, credential)), name).toBe('credentials_invalid');
      }
    }
    if (rpc.auth === 'session') expect(outcome(await send(rpc, row, server.first.apiKey)), 'an API key').toBe('session_required');
    else if (rpc.scope !== undefined) expect(outcome(await send(rpc, row, credentials.unrelated)), 'a key without the scope').toBe('scope_missing');
    const stranded = row.other ?? 404;
    if (rpc.auth !== 'none' && stranded === 404) expect(outcome(await send(rpc, row, credentials.other)), 'another team').toBe('not_found');
    expect(await contents(), 'refused calls left a trace').toEqual(before);

    const session = rpc.auth === 'none' ? undefined : (await signIn(server, right.email)).token;
    expect(outcome(await send(rpc, row, session)), 'the right one').toBe(expected(row.right));
    if (rpc.auth !== 'none' && stranded !== 404) {
      const own = (await signIn(server, other.email)).token;
      expect(outcome(await send(rpc, row, own)), 'another team, for itself').toBe(expected(stranded));
    }
  });
});
