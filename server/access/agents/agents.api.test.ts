/** This tests over the real door what an agent may do, who stops it, and how much it may submit. */
import type { AgentsCreateParams, SvcSDK } from '@svc/sdk';
import { beforeAll, describe, expect, it } from 'vitest';
import { has } from '../../../test/setup/needs.ts';
import { newKey } from '../../../test/setup/people.ts';
import { refused } from '../../../test/setup/refused.ts';
import { waitFor } from '../../../test/setup/wait-for.ts';
import { world, type World } from '../../../test/setup/world.ts';

type Permissions = AgentsCreateParams['permissions'];
const NONE = '0'.repeat(26);
const RUNS: Permissions = ['run:read', 'run:write'];
const run = { command: ['true'] };

describe.skipIf(!(await has('postgres')))('an agent', () => {
  let w: World;
  let sdk: SvcSDK;
  let teamId: string;
  let count = 0;

  beforeAll(async () => {
    w = await world();
    ({ sdk, teamId } = w);
    await w.runner();
  });

  const made = async (given: Partial<AgentsCreateParams> = {}) => {
    const name = `bot-${(count += 1)}`;
    const agent = await sdk.agents.create(teamId, { name, kind: 'custom', permissions: RUNS, ...given });
    const { key, secret } = await sdk.agents.issueKey(teamId, agent.id);
    return { ...agent, keyId: key?.id ?? '', secret, sdk: w.as(secret) };
  };
  const entries = async (target: string) =>
    await w.server.db.sql<
      Array<{ action: string; kind: string; actor: string; details: Record<string, unknown> }>
    >`select action, actor_kind as kind, actor_id as actor, details from audit_entries where chain = ${teamId} and target = ${target} order by seq`;

  it('holds no more than its kind allows, and its name is its own', async () => {
    const create = async (given: Partial<AgentsCreateParams>) =>
      await refused(
        sdk.agents.create(teamId, { name: 'bounded', kind: 'coding', permissions: RUNS, ...given }),
      );
    expect(await create({ permissions: ['run:write', 'project:write'] })).toBe('400 permission_beyond_kind');
    for (const never of ['audit:read', 'agent:manage', 'staff', 'team:manage'] as Permissions)
      expect(await create({ kind: 'custom', permissions: [never] }), never).toBe(
        '400 permission_beyond_kind',
      );
    expect(await create({ permissions: [] })).toBe('400 validation_failed');
    expect(await create({})).toBe('not refused');
    expect(await create({})).toBe('409 name_taken');
    const { id, runsAtOnce, runsPerDay, liveKeys } = await made();
    expect([runsAtOnce, runsPerDay, liveKeys]).toEqual([5, 200, 0]);
    expect(await refused(sdk.agents.update(teamId, id, { kind: 'review' }))).toBe(
      '400 permission_beyond_kind',
    );
    const changed = await sdk.agents.update(teamId, id, { kind: 'review', permissions: ['run:read'] });
    expect(changed).toMatchObject({ kind: 'review', permissions: ['run:read'], runsAtOnce: 5, liveKeys: 1 });
  });

  it('acts in its team alone, as itself, within its permissions', async () => {
    const other = await w.stranger();
    const bot = await made({ permissions: ['team:read', ...RUNS] });
    expect((await bot.sdk.teams.list()).map(({ id, role }) => [id, role])).toEqual([[teamId, 'developer']]);
    expect(await refused(bot.sdk.sandboxRuns.list(other.teamId))).toBe('404 not_found');
    expect(await refused(bot.sdk.projects.list())).toBe('403 scope_missing');
    for (const act of [
      () => bot.sdk.account.whoami(),
      () => bot.sdk.apiKeys.list(),
      () => bot.sdk.apiKeys.create('mine'),
      () => bot.sdk.notifications.list(),
      () => bot.sdk.spaces.list(),
      () => bot.sdk.teams.acceptInvite('invt_x'),
    ])
      expect(await refused(act())).toBe('403 agent_forbidden');
    expect(await refused(bot.sdk.agents.issueKey(teamId, bot.id))).toBe('403 scope_missing');
    expect(await refused(bot.sdk.agents.update(teamId, bot.id, { permissions: RUNS }))).toBe(
      '403 scope_missing',
    );
    expect(await refused(bot.sdk.account.updateUsername('bot-account'))).toBe('403 agent_forbidden');
    expect(await refused(bot.sdk.compliance.delete(teamId, 'cpl_x'))).toBe('403 session_required');
  });

  it('loses a permission at once when it is taken away', async () => {
    const bot = await made();
    await bot.sdk.sandboxRuns.create(teamId, run);
    await sdk.agents.update(teamId, bot.id, { permissions: ['run:read'] });
    expect(await refused(bot.sdk.sandboxRuns.create(teamId, run))).toBe('403 scope_missing');
  });

  it('stands in the ledger by its own name, with its key', async () => {
    const bot = await made({ permissions: ['project:read', 'project:write'] });
    const project = await bot.sdk.projects.create({ name: 'by an agent', teamId });
    expect(await entries(project.id)).toEqual([
      expect.objectContaining({
        action: 'project.created',
        kind: 'agent',
        actor: bot.id,
        details: expect.objectContaining({ keyId: bot.keyId }) as unknown,
      }),
    ]);
    const [shown] = await sdk.audit.list(teamId, { actorId: bot.id });
    expect(shown?.actor).toEqual({ kind: 'agent', id: bot.id, display: bot.name });
    await sdk.audit.verify(teamId);
  });

  it('is managed by admins, seen by all, and by nobody of another team', async () => {
    const { id } = await made();
    const developer = (await w.member('developer')).sdk;
    const other = await w.stranger();
    expect((await developer.agents.get(teamId, id)).id).toBe(id);
    for (const who of [developer.agents, other.sdk.agents]) {
      const code = who === developer.agents ? '403 role_insufficient' : '404 not_found';
      const acts = [
        () => who.create(teamId, { name: 'x', kind: 'review', permissions: ['run:read'] }),
        () => who.update(teamId, id, { name: 'x' }),
        () => who.setEnabled(teamId, id, false),
        () => who.issueKey(teamId, id),
        () => who.revokeKey(teamId, id, `agk_${NONE}`),
        () => who.delete(teamId, id),
      ];
      for (const act of acts) expect(await refused(act())).toBe(code);
    }
    expect(await refused(other.sdk.agents.get(other.teamId, id))).toBe('404 not_found');
    expect(await refused(other.sdk.agents.runs(other.teamId, id))).toBe('404 not_found');
  });

  describe('has keys that', () => {
    it('end with the time that they were given, are shown once, and are at most ten', async () => {
      const bot = await made();
      const { key } = await sdk.agents.issueKey(teamId, bot.id, { expiresInMs: 60_000 });
      const lives = Date.parse(key?.expiresAt ?? '') - Date.parse(key?.createdAt ?? '');
      expect(lives).toBe(60_000);
      for (const expiresInMs of [59_999, 86_400_001])
        expect(await refused(sdk.agents.issueKey(teamId, bot.id, { expiresInMs }))).toBe(
          '400 validation_failed',
        );
      const listed = await sdk.agents.listKeys(teamId, bot.id);
      expect(JSON.stringify(listed)).not.toContain(bot.secret.slice(-20));
      expect(listed.map(({ prefix }) => prefix)).toContain(bot.secret.slice(0, 'cpk_agent_'.length + 12));
      for (let n = 2; n < 10; n += 1) await sdk.agents.issueKey(teamId, bot.id);
      expect(await refused(sdk.agents.issueKey(teamId, bot.id))).toBe('409 limit_reached');
      await w.server.db.sql`update agent_keys set expires_at = now() where id = ${bot.keyId}`;
      expect(await refused(bot.sdk.sandboxRuns.list(teamId))).toBe('401 credentials_invalid');
      expect((await sdk.agents.get(teamId, bot.id)).liveKeys).toBe(9);
    });

    it('are revoked one by one, also twice', async () => {
      const bot = await made();
      const elsewhere = await made();
      await bot.sdk.sandboxRuns.list(teamId);
      expect(await refused(sdk.agents.revokeKey(teamId, elsewhere.id, bot.keyId))).toBe('404 not_found');
      await sdk.agents.revokeKey(teamId, bot.id, bot.keyId);
      await sdk.agents.revokeKey(teamId, bot.id, bot.keyId);
      expect(await refused(bot.sdk.sandboxRuns.list(teamId))).toBe('401 credentials_invalid');
      const actions = (await entries(bot.keyId)).map(({ action }) => action);
      expect(actions).toEqual(['agent_key.issued', 'agent_key.revoked']);
    });

    it('end with the API key that they were issued with, which holds what they hold', async () => {
      const bot = await made();
      const scopes = ['agent:manage', 'run:read'];
      const narrow = await newKey(w.server, w.owner.token, { scopes });
      expect(await refused(w.as(narrow.secret).agents.issueKey(teamId, bot.id))).toBe('403 scope_missing');
      const wide = await newKey(w.server, w.owner.token, { scopes: [...scopes, 'run:write'] });
      const { secret } = await w.as(wide.secret).agents.issueKey(teamId, bot.id);
      await w.as(secret).sandboxRuns.list(teamId);
      await w.owner.sdk.apiKeys.revoke(wide.id);
      await waitFor('the end of the key', async () => await refused(w.as(secret).sandboxRuns.list(teamId)), {
        holds: (outcome) => outcome === '401 credentials_invalid',
      });
    });
  });

  describe('that is switched off', () => {
    it('loses its keys, its queued work ends and its running work is told to stop', async () => {
      const bot = await made();
      const [queued, running] = [
        await bot.sdk.sandboxRuns.create(teamId, run),
        await bot.sdk.sandboxRuns.create(teamId, run),
      ];
      await w.server.db.sql`
        update work_items set state = 'running', lease_id = 'lse_test', runner_id = 'rnr_test', poll_id = 'test', offers = 1 where id = ${running.id}`;
      const off = await sdk.agents.setEnabled(teamId, bot.id, false);
      expect([off.enabled, off.liveKeys]).toEqual([false, 0]);
      expect(await refused(bot.sdk.sandboxRuns.list(teamId))).toBe('401 credentials_invalid');
      expect((await sdk.sandboxRuns.get(queued.id)).state).toBe('cancelled');
      expect((await sdk.sandboxRuns.get(running.id)).cancelRequested).toBe(true);
      expect(await refused(sdk.agents.issueKey(teamId, bot.id))).toBe('409 agent_disabled');
      await sdk.agents.setEnabled(teamId, bot.id, false);
      await sdk.agents.setEnabled(teamId, bot.id, true);
      expect(await refused(bot.sdk.sandboxRuns.list(teamId))).toBe('401 credentials_invalid');
      expect((await entries(bot.id)).slice(1)).toMatchObject([
        { action: 'agent.disabled', kind: 'user', details: { keysRevoked: 1, workStopped: 2 } },
        { action: 'agent.enabled' },
      ]);
    });

    it('submits nothing behind it, however many try at that moment', async () => {
      const bot = await made({ runsAtOnce: 100 });
      const tries = Array.from(
        { length: 20 },
        async () => await refused(bot.sdk.sandboxRuns.create(teamId, run)),
      );
      await Promise.all([...tries, sdk.agents.setEnabled(teamId, bot.id, false)]);
      const open = (await sdk.agents.runs(teamId, bot.id)).filter(({ state }) => state !== 'cancelled');
      expect(open).toEqual([]);
    });

    it('is deleted with its keys, and what it did stays', async () => {
      const bot = await made();
      const { id } = await bot.sdk.sandboxRuns.create(teamId, run);
      await sdk.agents.delete(teamId, bot.id);
      expect(await refused(sdk.agents.get(teamId, bot.id))).toBe('404 not_found');
      expect(await refused(bot.sdk.sandboxRuns.list(teamId))).toBe('401 credentials_invalid');
      expect((await sdk.sandboxRuns.get(id)).state).toBe('cancelled');
    });
  });

  describe('submits work', () => {
    it('that its list shows newest first, page by page', async () => {
      const bot = await made();
      const ids = [];
      for (let n = 0; n < 3; n += 1) ids.unshift((await bot.sdk.sandboxRuns.create(teamId, run)).id);
      await sdk.sandboxRuns.create(teamId, run);
      const page = await sdk.agents.runsPage(teamId, bot.id, { limit: 2 });
      expect(page.runs.map(({ id }) => id)).toEqual(ids.slice(0, 2));
      const all = await sdk.agents.runs(teamId, bot.id);
      expect(all.map(({ id }) => id)).toEqual(ids);
      expect(all[0]).toMatchObject({ kind: 'run', state: 'queued', keyId: bot.keyId });
    });

    it('as much of it at once, and within a day, as it may, also in parallel', async () => {
      const bot = await made({ runsAtOnce: 3, runsPerDay: 5 });
      const submit = async () => await refused(bot.sdk.sandboxRuns.create(teamId, run));
      const first = await Promise.all(Array.from({ length: 12 }, submit));
      expect(first.filter((outcome) => outcome === 'not refused')).toHaveLength(3);
      expect(first.filter((outcome) => outcome === '409 limit_reached')).toHaveLength(9);
      for (const { id } of await sdk.agents.runs(teamId, bot.id)) await sdk.sandboxRuns.cancel(id);
      const second = await Promise.all(Array.from({ length: 4 }, submit));
      expect(second.filter((outcome) => outcome === 'not refused')).toHaveLength(2);
      await w.server.db
        .sql`update work_items set created_at = created_at - interval '25 hours' where agent_id = ${bot.id}`;
      expect(await submit()).toBe('not refused');
    });

    it('and gets the answer of a repeated call also when it may submit nothing more', async () => {
      const bot = await made({ runsAtOnce: 1 });
      const once = { idempotencyKey: 'agent-once' };
      const first = await bot.sdk.sandboxRuns.create(teamId, run, once);
      expect(await bot.sdk.sandboxRuns.create(teamId, run, once)).toEqual(first);
      expect(await refused(bot.sdk.sandboxRuns.create(teamId, run))).toBe('409 limit_reached');
      const other = await made({ runsAtOnce: 1 });
      expect((await other.sdk.sandboxRuns.create(teamId, run, once)).id).not.toBe(first.id);
    });
  });

  it('whose sponsor has left gets no key, the keys of that person end, and admins are told', async () => {
    const admin = await w.member('admin');
    const bot = await admin.sdk.agents.create(teamId, {
      name: 'orphan',
      kind: 'review',
      permissions: ['run:read'],
    });
    expect(bot.sponsorUserId).toBe(admin.userId);
    const { secret } = await admin.sdk.agents.issueKey(teamId, bot.id);
    await w.as(secret).sandboxRuns.list(teamId);
    await sdk.teams.removeMember(teamId, admin.userId);
    expect(await refused(w.as(secret).sandboxRuns.list(teamId))).toBe('401 credentials_invalid');
    expect(await refused(sdk.agents.issueKey(teamId, bot.id))).toBe('409 sponsor_missing');
    const told = await waitFor(
      'the notification',
      async () => (await sdk.notifications.list()).filter(({ kind }) => kind === 'agent.sponsor_left'),
      { holds: (found) => found.length > 0 },
    );
    expect(told).toHaveLength(1);
    expect(told[0]?.title).toBe('The sponsor of the agent orphan has left the team');
    const update = async (sponsorUserId: string) =>
      await refused(sdk.agents.update(teamId, bot.id, { sponsorUserId }));
    expect(await update((await w.stranger()).userId)).toBe('409 sponsor_missing');
    expect(await update(w.owner.userId)).toBe('not refused');
    await sdk.agents.issueKey(teamId, bot.id);
  });
});
