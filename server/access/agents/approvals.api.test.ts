/**
 * This tests over the real door what an agent does with the approval of a person alone: it is asked for once,
 * granted by who may, and used once, by that very call.
 */
import type { CallOptions, SvcApiError, SvcSDK } from '@svc/sdk';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { has } from '../../../test/setup/needs.ts';
import { newKey } from '../../../test/setup/people.ts';
import { refused } from '../../../test/setup/refused.ts';
import { waitFor } from '../../../test/setup/wait-for.ts';
import { world, type World } from '../../../test/setup/world.ts';

const INVALID = '403 approval_invalid';
const COMMIT = 'a'.repeat(40);
const OTHER_COMMIT = 'b'.repeat(40);

describe.skipIf(!(await has('postgres')))('an act of an agent', () => {
  let w: World;
  let sdk: SvcSDK;
  let teamId: string;
  let bot: Awaited<ReturnType<typeof agent>>;
  let environmentId: string;
  let count = 0;

  const agent = async () => {
    const made = await sdk.agents.create(teamId, {
      name: `bot-${(count += 1)}`,
      kind: 'maintenance',
      permissions: ['project:read', 'project:write'],
    });
    return { ...made, sdk: w.as((await sdk.agents.issueKey(teamId, made.id)).secret) };
  };
  const environment = async (repository?: string) => {
    const name = `env-${(count += 1)}`;
    return (await sdk.environments.create(w.projectId, { name, ...(repository && { repository }) })).id;
  };
  const showing = (token: string): CallOptions => ({ headers: { 'svc-approval': token } });
  const build = async (options: CallOptions = {}, commit = COMMIT, by = bot, of = environmentId) =>
    await by.sdk.builds.create(of, { commit }, options);
  /** The id of the request that a refused call leaves. */
  const asked = async (call: Promise<unknown>): Promise<string> => {
    const error = (await call.catch((problem: unknown) => problem)) as SvcApiError;
    expect(error.code).toBe('approval_required');
    const { error: told } = error.body as { error: { details: { approvalId: string } } };
    return told.details.approvalId;
  };
  const grant = async (
    approvalId?: string,
    by: SvcSDK = sdk,
    resourceId = environmentId,
  ): Promise<string> => {
    const what = { action: 'build.create', resourceId, ...(approvalId !== undefined && { approvalId }) };
    return (await by.agents.issueApprovalToken(teamId, bot.id, what)).token;
  };
  const builds = async (): Promise<number> => (await sdk.builds.list(environmentId)).length;
  const stateOf = async (id: string) => (await sdk.agents.getApproval(teamId, id)).state;

  beforeAll(async () => {
    w = await world();
    ({ sdk, teamId } = w);
    await w.runner();
  });
  beforeEach(async () => {
    bot = await agent();
    environmentId = await environment('https://git.example.com/acme/web');
  });

  it('is refused and changes nothing; the same call finds the same request, and people are told once', async () => {
    const id = await asked(build());
    expect(await asked(build())).toBe(id);
    expect(await asked(build({}, OTHER_COMMIT))).not.toBe(id);
    expect(await builds()).toBe(0);
    expect(await sdk.agents.getApproval(teamId, id)).toMatchObject({
      agentName: bot.name,
      action: 'build.create',
      resourceId: environmentId,
      state: 'requested',
      bound: true,
      request: { environmentId, commit: COMMIT },
    });
    expect((await sdk.agents.get(teamId, bot.id)).openApprovals).toBe(2);
    const inbox = (await sdk.teams.inbox(teamId)).filter((item) => item.id === id);
    expect(inbox).toMatchObject([
      { kind: 'agent_approval', text: `the agent ${bot.name} asks for build.create on ${environmentId}` },
    ]);
    const told = async () => (await sdk.notifications.list()).filter(({ body }) => body.includes(id)).length;
    await waitFor('the notification', told, { holds: (n) => n > 0 });
    expect(await told()).toBe(1);
  });

  it('that could not be done leaves no request', async () => {
    const other = await w.stranger();
    const project = await other.sdk.projects.create({ name: 'theirs', teamId: other.teamId });
    const theirs = await other.sdk.environments.create(project.id, { name: 'production' });
    expect(await refused(build({}, COMMIT, bot, theirs.id))).toBe('404 not_found');
    expect(await refused(build({}, COMMIT, bot, await environment()))).toBe('409 environment_incomplete');
    expect(await sdk.agents.listApprovals(teamId, { agentId: bot.id })).toEqual([]);
  });

  it('works once when it is approved, in twenty parallel tries, and says so', async () => {
    const id = await asked(build());
    const token = await grant(id);
    const tries = await Promise.all(
      Array.from({ length: 20 }, async () => await refused(build(showing(token)))),
    );
    expect(tries.filter((outcome) => outcome === 'not refused')).toHaveLength(1);
    expect(tries.filter((outcome) => outcome === INVALID)).toHaveLength(19);
    expect(await builds()).toBe(1);
    const approval = await sdk.agents.getApproval(teamId, id);
    expect(approval).toMatchObject({ state: 'used', decidedBy: w.owner.userId });
    const [made] = await sdk.builds.list(environmentId);
    expect(await sdk.agents.runs(teamId, bot.id)).toMatchObject([
      { id: made?.id, kind: 'build', environmentId, approvalId: id },
    ]);
    const entries = await w.server.db.sql<Array<{ action: string; kind: string; details: object }>>`
      select action, actor_kind as kind, details from audit_entries
      where chain = ${teamId} and (target = ${id} or action = 'build.submitted' and target = ${environmentId}) order by seq`;
    const approved = { approvalId: id, approvedBy: w.owner.userId };
    expect(entries).toMatchObject([
      { action: 'agent_approval.requested', kind: 'agent' },
      { action: 'agent_approval.granted', kind: 'user' },
      { action: 'build.submitted', kind: 'agent', details: approved },
      { action: 'agent_approval.used', kind: 'agent', details: { ...approved, action: 'build.create' } },
    ]);
    expect(JSON.stringify(entries)).not.toContain(token);
    expect(await asked(build())).not.toBe(id);
  });

  it('is approved for one call and no other', async () => {
    const token = await grant(await asked(build()));
    const colleague = await agent();
    const elsewhere = await environment('https://git.example.com/acme/web');
    expect(await refused(build(showing(token), OTHER_COMMIT))).toBe(INVALID);
    expect(await refused(build(showing(token), COMMIT, colleague))).toBe(INVALID);
    expect(await refused(build(showing(token), COMMIT, bot, elsewhere))).toBe(INVALID);
    expect(await refused(bot.sdk.builds.unlock(environmentId, undefined, showing(token)))).toBe(INVALID);
    expect(await refused(build(showing('apt_guessed')))).toBe(INVALID);
    expect(await builds()).toBe(0);
    await build(showing(token));
    expect(await builds()).toBe(1);
  });

  it('is approved in advance for any one call of its kind, and the ledger keeps the digest of it', async () => {
    const token = await grant();
    await build(showing(token), OTHER_COMMIT);
    expect(await refused(build(showing(token), OTHER_COMMIT))).toBe(INVALID);
    const [used] = await w.server.db.sql<Array<{ digest: string }>>`
      select details ->> 'fingerprint' as digest from audit_entries
      where chain = ${teamId} and action = 'agent_approval.used' and actor_id = ${bot.id}`;
    expect(used?.digest).toMatch(/^[0-9a-f]{64}$/);
  });

  it('is not done when its approval has expired, was denied, or ended with the agent', async () => {
    const late = await asked(build());
    const lateToken = await grant(late);
    await w.server.db.sql`update agent_approvals set expires_at = now() where id = ${late}`;
    expect(await refused(build(showing(lateToken)))).toBe(INVALID);
    expect(await stateOf(late)).toBe('expired');
    expect(await refused(grant(late))).toBe('409 state_conflict');

    const denied = await asked(build());
    const deniedToken = await grant(denied);
    expect((await sdk.agents.denyApproval(teamId, denied)).state).toBe('denied');
    expect((await sdk.agents.denyApproval(teamId, denied)).state).toBe('denied');
    expect(await refused(build(showing(deniedToken)))).toBe(INVALID);

    const revoked = await asked(build());
    await grant(revoked);
    await sdk.agents.setEnabled(teamId, bot.id, false);
    expect(await stateOf(revoked)).toBe('revoked');
    expect(await refused(grant())).toBe('409 agent_disabled');
    expect(await builds()).toBe(0);
  });

  it('is not done when who approved it may not do that any more', async () => {
    const { sdk: adminSdk, userId } = await w.member('admin');
    const demoted = await grant(await asked(build()), adminSdk);
    await sdk.teams.updateMemberRole(teamId, userId, 'developer');
    expect(await refused(build(showing(demoted)))).toBe(INVALID);
    expect(await refused(grant(undefined, adminSdk))).toBe('403 role_insufficient');
    await sdk.teams.updateMemberRole(teamId, userId, 'admin');
    const gone = await grant(await asked(build()), adminSdk);
    await sdk.teams.removeMember(teamId, userId);
    expect(await refused(build(showing(gone)))).toBe(INVALID);
    expect(await builds()).toBe(0);
  });

  it('is approved by the session of a person who may do it, and by no key', async () => {
    const { secret } = await newKey(w.server, w.owner.token, { scopes: ['agent:manage', 'project:write'] });
    const id = await asked(build());
    expect(await refused(grant(id, w.as(secret)))).toBe('403 session_required');
    expect(await refused(grant(id, bot.sdk))).toBe('403 session_required');
    expect(await refused(grant(id, (await w.member('developer')).sdk))).toBe('403 role_insufficient');
    expect(await refused(grant(id, (await w.stranger()).sdk))).toBe('404 not_found');
    expect(await refused(grant(id, sdk, 'env_other'))).toBe('400 validation_failed');
    const odd = { action: 'build.anything', resourceId: environmentId };
    expect(await refused(sdk.agents.issueApprovalToken(teamId, bot.id, odd))).toBe('400 validation_failed');
    expect(await refused((await w.stranger()).sdk.agents.getApproval(teamId, id))).toBe('404 not_found');
  });

  it('keeps its approval when it fails, and when its transaction does not commit', async () => {
    const token = await grant(await asked(build()));
    const atOnce = async (runs: number) =>
      await w.server.db.sql`update agents set runs_at_once = ${runs} where id = ${bot.id}`;
    await atOnce(0);
    expect(await refused(build(showing(token)))).toBe('409 limit_reached');
    await atOnce(5);
    await w.server.asOwner(`
      create function refuse_at_commit() returns trigger language plpgsql as $$ begin raise exception 'not committed'; end $$;
      create constraint trigger refuse_at_commit after insert on builds deferrable initially deferred
        for each row when (new.environment_id = '${environmentId}') execute function refuse_at_commit()`);
    expect(await refused(build(showing(token)))).toMatch(/^50/);
    await w.server.asOwner('drop trigger refuse_at_commit on builds; drop function refuse_at_commit()');
    expect(await builds()).toBe(0);
    await build(showing(token));
    expect(await builds()).toBe(1);
  });

  it('that was done is answered again for its key, without an approval', async () => {
    const once = { idempotencyKey: 'approved-once' };
    const token = await grant(await asked(build(once)));
    const first = await build({ ...once, ...showing(token) });
    expect(await build(once)).toEqual(first);
    expect(await build({ ...once, ...showing(token) })).toEqual(first);
    expect(await builds()).toBe(1);
  });

  it('is shown without its secrets, and is asked for a limited number of times', async () => {
    const canary = 'approval-canary-5f1d';
    const id = await asked(bot.sdk.variables.set(environmentId, 'TOKEN', canary));
    const shown = await sdk.agents.getApproval(teamId, id);
    expect(shown.request).toMatchObject({ name: 'TOKEN', value: '[secret]' });
    const [row] = await w.server.db
      .sql`select row_to_json(a)::text as text from agent_approvals a where id = ${id}`;
    expect(String(row?.['text'])).not.toContain(canary);
    await w.server.db.sql`
      insert into agent_approvals (id, team_id, agent_id, action, resource_id, state, expires_at, created_at)
      select 'apr_many' || n || ${bot.id}, ${teamId}, ${bot.id}, 'build.create', 'x', 'requested', now() + interval '1 hour', now()
      from generate_series(1, 49) n`;
    expect(await refused(build())).toBe('409 limit_reached');
    expect(await asked(bot.sdk.variables.set(environmentId, 'TOKEN', canary))).toBe(id);
  });

  it('is listed by agent and state, page by page', async () => {
    const [first, second] = [await asked(build()), await asked(build({}, OTHER_COMMIT))];
    await sdk.agents.denyApproval(teamId, first);
    const list = async (state?: 'requested' | 'denied') =>
      (await sdk.agents.listApprovals(teamId, { agentId: bot.id, ...(state && { state }) })).map(
        ({ id }) => id,
      );
    expect([await list(), await list('requested'), await list('denied')]).toEqual([
      [second, first],
      [second],
      [first],
    ]);
    const page = await sdk.agents.listApprovalsPage(teamId, { agentId: bot.id, limit: 1 });
    expect(page.approvals.map(({ id }) => id)).toEqual([second]);
    expect(page.nextCursor).toBeDefined();
  });
});
