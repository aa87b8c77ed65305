/** Budgets over the real door are of their team, refuse what they must, and say how the month goes. */
import { beforeEach, describe, expect, it } from 'vitest';
import { has } from '../../../test/setup/needs.ts';
import { refused } from '../../../test/setup/refused.ts';
import { world, type World } from '../../../test/setup/world.ts';
import { OF_NO_PLACE, seedDays, type SeededDay } from '../costs/testing/days.ts';
import { BUDGETS_MAX } from './acts.ts';

describe.skipIf(!(await has('postgres')))('budgets', () => {
  let here: World;
  let server: World['server'];
  let sdk: World['sdk'];
  let teamId: string;
  let projectId: string;
  let environmentId: string;

  /** Uses time of today at the first price, 0.0001 a second. */
  const used = async (ms: number, of: Partial<SeededDay> = {}): Promise<void> => {
    const day = new Date().toISOString().slice(0, 10);
    await seedDays(server.db.sql, [{ ...OF_NO_PLACE, ...of, teamId, day, ms }]);
  };

  beforeEach(async () => {
    here = await world();
    ({ server, sdk, teamId, projectId } = here);
    environmentId = (await sdk.environments.create(projectId, { name: 'production' })).id;
  });

  it('are one of a scope: set again the same one changes, and what is not named stays', async () => {
    const first = await sdk.budgets.set(teamId, { monthlyLimit: 200, enforcement: 'hold' });
    expect(first).toMatchObject({
      teamId,
      monthlyLimit: 200,
      currency: 'usd',
      enabled: true,
      enforcement: 'hold',
      spent: '0.000000000000',
      percentUsed: 0,
      state: 'ok',
    });
    expect(first).not.toHaveProperty('projectId');
    const again = await sdk.budgets.set(teamId, { monthlyLimit: 12.34 });
    expect(again).toMatchObject({ id: first.id, monthlyLimit: 12.34, enforcement: 'hold', enabled: true });
    const byId = await sdk.budgets.set(teamId, { id: first.id, monthlyLimit: 12.34, enabled: false });
    expect(byId).toMatchObject({ id: first.id, state: 'disabled', enforcement: 'hold' });
    const others = [
      await sdk.budgets.set(teamId, { monthlyLimit: 1, projectId }),
      await sdk.budgets.set(teamId, { monthlyLimit: 2, environmentId }),
    ];
    const ids = (await sdk.budgets.list(teamId)).map(({ id }) => id);
    expect(ids[0]).toBe(first.id);
    expect(new Set(ids)).toEqual(new Set([first.id, ...others.map(({ id }) => id)]));
    const [row] = await server.db.sql`select revision from budgets where id = ${first.id!}`;
    expect(row).toEqual({ revision: 2 });
  });

  it('of one scope that are set at once are one, and every value that was named is kept', async () => {
    await Promise.all([
      sdk.budgets.set(teamId, { monthlyLimit: 5, enforcement: 'hold' }),
      sdk.budgets.set(teamId, { monthlyLimit: 5, enabled: false }),
      sdk.budgets.set(teamId, { monthlyLimit: 5 }),
    ]);
    expect(await sdk.budgets.list(teamId)).toMatchObject([{ enforcement: 'hold', enabled: false }]);
  });

  it('keep their scope', async () => {
    const budget = await sdk.budgets.set(teamId, { monthlyLimit: 5, projectId });
    const set = (more: object) => sdk.budgets.set(teamId, { id: budget.id!, monthlyLimit: 6, ...more });
    expect(await refused(set({ environmentId }))).toBe('400 validation_failed');
    expect((await set({ projectId })).monthlyLimit).toBe(6);
    await server.asOwner(
      `delete from environments where project_id = '${projectId}'; delete from projects where id = '${projectId}'`,
    );
    expect(await set({ projectId })).toMatchObject({ id: budget.id, projectId });
    expect(await refused(sdk.budgets.set(teamId, { monthlyLimit: 5, projectId }))).toBe('404 not_found');
  });

  it('are of an environment that is named with its project, and show that', async () => {
    const other = (await sdk.projects.create({ name: 'other', teamId })).id;
    const budget = await sdk.budgets.set(teamId, { monthlyLimit: 5, projectId, environmentId });
    expect(budget).toMatchObject({ projectId, environmentId, monthlyLimit: 5 });
    const alone = await sdk.budgets.set(teamId, { monthlyLimit: 6, environmentId });
    expect(alone).toMatchObject({ id: budget.id, projectId, environmentId });
    const byId = { id: budget.id!, monthlyLimit: 7 };
    for (const scope of [{ projectId, environmentId }, { projectId }, { environmentId }, {}])
      expect((await sdk.budgets.set(teamId, { ...byId, ...scope })).id).toBe(budget.id);
    for (const wrong of [
      { monthlyLimit: 1, projectId: other, environmentId },
      { ...byId, projectId: other },
      { ...byId, projectId: other, environmentId },
    ])
      expect(await refused(sdk.budgets.set(teamId, wrong))).toBe('400 validation_failed');
    expect(await sdk.budgets.list(teamId)).toMatchObject([{ id: budget.id, projectId, monthlyLimit: 7 }]);
  });

  it('of 0 that hold refuse the first run, and name whose they are', async () => {
    const run = async (environment: string) =>
      await server.call(`POST /teams/${teamId}/sandbox-runs`, {
        as: here.owner.token,
        body: { command: ['true'], labels: { environment } },
      });
    expect(await sdk.budgets.set(teamId, { monthlyLimit: 0, projectId })).toMatchObject({ state: 'ok' });
    expect((await run(environmentId)).status).toBe(201);
    const set = await sdk.budgets.set(teamId, { monthlyLimit: 0, projectId, enforcement: 'hold' });
    expect(set).toMatchObject({ state: 'exceeded', percentUsed: 0 });
    const held = await run(environmentId);
    expect([held.status, held.code]).toEqual([402, 'spend_refused']);
    expect(held.text).toContain(`new runs of project ${projectId} are refused by its budget`);
    await sdk.budgets.set(teamId, { monthlyLimit: 1, projectId });
    expect((await run(environmentId)).status).toBe(201);
    await sdk.budgets.set(teamId, { monthlyLimit: 0, environmentId, enforcement: 'hold' });
    expect((await run(environmentId)).text).toContain(`new runs of environment ${environmentId} are refused`);
  });

  it('take no limit that is not whole in cents, and no number that is none', async () => {
    const put = async (body: object | string) =>
      await server.call(`PUT /teams/${teamId}/budgets`, { as: here.owner.token, body });
    const limits = [
      '-1',
      '12.345',
      '1e18',
      '1e-320',
      '1000000000.01',
      '"NaN"',
      '"Infinity"',
      '1e400',
      'null',
      '""',
      '"ten"',
      '"10"',
      '[]',
      '{}',
      'true',
    ];
    for (const limit of limits) {
      const { status, code, text } = await put(`{"monthlyLimit":${limit}}`);
      expect([limit, status, code], text).toEqual([limit, 400, 'validation_failed']);
    }
    expect((await put({})).status).toBe(400);
    expect(await sdk.budgets.list(teamId)).toEqual([]);
    const { body } = await put({ monthlyLimit: 12.345 });
    expect(body).toMatchObject({
      error: { details: { fields: [{ field: 'monthlyLimit', rule: 'whole' }] } },
    });
    for (const limit of [0, 0.01, 0.29, 1.1, 4.35, 1_000_000_000, 999_999_999.99])
      expect((await sdk.budgets.set(teamId, { monthlyLimit: limit })).monthlyLimit).toBe(limit);
  });

  it('count in one currency', async () => {
    const set = (currency: string) => sdk.budgets.set(teamId, { monthlyLimit: 1, currency });
    expect((await set('usd')).currency).toBe('usd');
    expect(await refused(set('eur'))).toBe('400 currency_unsupported');
    expect((await set('USD')).currency).toBe('usd');
    expect((await set('Usd')).currency).toBe('usd');
    expect(await refused(set('EUR'))).toBe('400 currency_unsupported');
  });

  it('are of projects and environments of their own team, and nobody sees those of another', async () => {
    const other = await here.stranger();
    const theirs = other.sdk;
    const project = (await theirs.projects.create({ name: 'theirs', teamId: other.teamId })).id;
    const environment = (await theirs.environments.create(project, { name: 'production' })).id;
    const budget = await theirs.budgets.set(other.teamId, { monthlyLimit: 1 });
    const set = (of: object) => refused(sdk.budgets.set(teamId, { monthlyLimit: 1, ...of }));
    expect(await set({ projectId: project })).toBe('404 not_found');
    expect(await set({ environmentId: environment })).toBe('404 not_found');
    expect(await set({ id: budget.id })).toBe('404 not_found');
    expect(await refused(theirs.budgets.set(teamId, { monthlyLimit: 1 }))).toBe('404 not_found');
    expect(await refused(theirs.budgets.list(teamId))).toBe('404 not_found');
    expect(await refused(sdk.budgets.delete(teamId, budget.id!))).toBe('404 not_found');
    expect(await theirs.budgets.list(other.teamId)).toHaveLength(1);
    // A person of both teams reaches the other team's only by its own path.
    const both = await here.member('admin');
    await server.db.sql`
      insert into team_members (team_id, user_id, role, joined_at) values (${other.teamId}, ${both.userId}, 'admin', now())`;
    expect(await refused(both.sdk.budgets.delete(teamId, budget.id!))).toBe('404 not_found');
    expect(await both.sdk.budgets.list(teamId)).toEqual([]);
    expect(await both.sdk.budgets.list(other.teamId)).toHaveLength(1);
  });

  it('are set by admins, seen by viewers, deleted once, and noted in the ledger', async () => {
    const { sdk: viewer } = await here.member('viewer');
    const { sdk: developer } = await here.member('developer');
    const budget = await sdk.budgets.set(teamId, { monthlyLimit: 1 });
    expect(await viewer.budgets.list(teamId)).toMatchObject([{ id: budget.id }]);
    expect(await refused(developer.budgets.set(teamId, { monthlyLimit: 2 }))).toBe('403 role_insufficient');
    await sdk.budgets.set(teamId, { monthlyLimit: 2, enforcement: 'hold' });
    await sdk.budgets.delete(teamId, budget.id!);
    expect(await refused(sdk.budgets.delete(teamId, budget.id!))).toBe('404 not_found');
    expect(await sdk.budgets.list(teamId)).toEqual([]);
    const entries = await server.db.sql`
      select action, details from audit_entries where chain = ${teamId} and target = ${budget.id!} order by seq`;
    const details = { ...OF_NO_PLACE, limitCents: 100, enabled: true, enforcement: 'notify' };
    const held = { ...details, limitCents: 200, enforcement: 'hold' };
    expect(entries).toEqual([
      { action: 'budget.set', details },
      { action: 'budget.set', details: { ...held, before: details } },
      { action: 'budget.deleted', details: held },
    ]);
  });

  it('of an environment or a project say that it was deleted', async () => {
    const project = await sdk.projects.create({ name: 'gone', teamId });
    const environment = await sdk.environments.create(project.id, { name: 'gone' });
    const scopes = [{ environmentId: environment.id }, { projectId: project.id }, { projectId }, {}];
    for (const scope of scopes)
      expect(await sdk.budgets.set(teamId, { monthlyLimit: 1, ...scope })).toMatchObject({
        scopeDeleted: false,
      });
    await sdk.projects.delete(project.id);
    const listed = await sdk.budgets.list(teamId);
    const isGone = ({ environmentId, projectId: id }: (typeof listed)[number]) =>
      environmentId === environment.id || id === project.id;
    expect(listed.map((budget) => budget.scopeDeleted)).toEqual(listed.map(isGone));
    expect(listed.filter(isGone)).toHaveLength(2);
  });

  it('are a hundred of a team, and those that are there still change', async () => {
    await server.db.sql`
      insert into budgets (id, team_id, project_id, limit_cents, created_at, updated_at)
      select 'bdg_full_' || n, ${teamId}, 'prj_' || n, 100, now(), now() from generate_series(1, ${BUDGETS_MAX}::int) n`;
    expect(await refused(sdk.budgets.set(teamId, { monthlyLimit: 1 }))).toBe('409 limit_reached');
    expect((await sdk.budgets.set(teamId, { id: 'bdg_full_7', monthlyLimit: 3 })).monthlyLimit).toBe(3);
  });

  it('measure the whole month, whenever they are made, each its own scope', async () => {
    await used(10_000_000, { environmentId, projectId });
    await used(30_000_000, { projectId });
    await used(60_000_123);
    const spent = async (of: object) => (await sdk.budgets.set(teamId, { monthlyLimit: 8, ...of })).spent;
    expect(await spent({})).toBe('10.000012300000');
    expect(await spent({ projectId })).toBe('4.000000000000');
    expect(await spent({ environmentId })).toBe('1.000000000000');
    await server.asOwner(`delete from environments where id = '${environmentId}'`);
    expect((await sdk.budgets.list(teamId)).map(({ percentUsed, state }) => [percentUsed, state])).toEqual([
      [125, 'exceeded'],
      [12.5, 'ok'],
      [50, 'ok'],
    ]);
  });

  it('that hold refuse runs with one cause, say until when, and let them in again when they are raised', async () => {
    const run = async () =>
      await server.call(`POST /teams/${teamId}/sandbox-runs`, {
        as: here.owner.token,
        body: { command: ['true'], labels: { environment: environmentId } },
        headers: { 'idempotency-key': `held-${teamId}` },
      });
    await used(1_000_000, { environmentId, projectId });
    const { id } = await sdk.budgets.set(teamId, { monthlyLimit: 0.05, projectId, enforcement: 'hold' });
    const { status, code, body } = await run();
    expect([status, code]).toEqual([402, 'spend_refused']);
    expect(body['error']).toMatchObject({
      retryable: false,
      details: {
        cause: 'budget',
        budgetId: id,
        projectId,
        spent: '0.100000000000',
        percentUsed: 200,
        resetsAt: expect.stringMatching(/^\d{4}-\d\d-01T00:00:00\.000Z$/) as string,
        changedBy: 'admins and owners of the team',
      },
    });
    await sdk.budgets.set(teamId, { monthlyLimit: 0.2, projectId });
    const taken = await run();
    expect(taken.status, taken.text).toBe(201);
    await sdk.budgets.set(teamId, { monthlyLimit: 0, projectId });
    expect((await run()).body).toEqual(taken.body);
    const entries = await server.db.sql<Array<{ action: string; details: object }>>`
      select action, details from audit_entries where chain = ${teamId} and action like 'spend.%' order by seq`;
    expect(entries.map(({ action }) => action)).toEqual(['spend.held', 'spend.released', 'spend.held']);
    expect(entries[0]!.details).toMatchObject({
      cause: 'budget',
      scope: projectId,
      budgetId: id,
      monthlyLimit: '0.05',
    });
  });
});
