/**
 * Here policies are tested over the real door: tried on what has passed, put in force, overridden by whom
 * may.
 */
import { createSvcSDK, type Policy, type SvcSDK } from '@svc/sdk';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { DIGEST, IMAGE, scriptedRunner } from '../../../test/setup/builds/scripted-runner.ts';
import { CONTAINER, goodsOf } from '../../../test/setup/delivery/goods.ts';
import { refusedWith as refused } from '../../../test/setup/delivery/refused-with.ts';
import { has } from '../../../test/setup/needs.ts';
import { firstSession, join, stranger } from '../../../test/setup/people.ts';
import { startTestServer, type TestServer } from '../../../test/setup/server.ts';
import { waitFor } from '../../../test/setup/wait-for.ts';

const MAIN = {
  on: ['build.create'],
  rules: [{ id: 'main', message: 'builds are made of main', require: "build.branch == 'main'" }],
};

describe.skipIf(!(await has('postgres')))('policies', () => {
  let server: TestServer;
  let sdk: SvcSDK;
  let teamId: string;
  let projectId: string;

  const goods = goodsOf(() => ({ sdk, teamId, projectId }));
  const { enabled, entries, fresh, policy } = goods;
  const sdkOf = (token: string): SvcSDK => createSvcSDK({ baseUrl: server.baseUrl, token, maxRetries: 0 });
  const environment = async (branch = 'main'): Promise<string> => await goods.environment({ branch });
  const ledger = async (action: string) => await entries({ action });
  const rowCounts = async (): Promise<unknown> => {
    const tables = await server.asOwner(
      "select table_name as name from information_schema.tables where table_schema = 'public' and table_type = 'BASE TABLE'",
    );
    const each = tables.map(({ name }) => `select '${name}' as name, count(*)::int as rows from "${name}"`);
    return await server.asOwner(`select * from (${each.join(' union all ')}) t order by name`);
  };

  beforeAll(async () => {
    server = await startTestServer();
    sdk = sdkOf(await firstSession(server));
  });
  afterAll(async () => await server?.stop());
  beforeEach(async () => {
    teamId = (await sdk.teams.create(fresh('team'))).id;
    projectId = (await sdk.projects.create({ name: 'web', teamId })).id;
  });

  it('are tried on what passed before there was any, change nothing by that, and refuse what follows once enabled', async () => {
    const main = await environment();
    const side = await environment('side');
    for (let n = 0; n < 10; n += 1) {
      await sdk.builds.create(main);
      await sdk.builds.create(side);
    }
    const { id } = await policy(MAIN);
    const before = await rowCounts();
    const simulated = await sdk.policies.simulate(teamId, id);
    expect(await rowCounts()).toEqual(before);
    expect(simulated).toMatchObject({
      replayed: 20,
      newlyDenied: 10,
      newlyAllowed: 0,
      unchanged: 10,
      errors: 0,
      truncated: false,
    });
    expect(simulated.results?.[0]).toMatchObject({ action: 'build.create', now: 'deny', failed: ['main'] });
    expect(simulated.results?.[0]).not.toHaveProperty('before');
    expect((await sdk.builds.list(side)).length).toBe(10);

    await sdk.policies.enable(teamId, id);
    expect(await refused(sdk.builds.create(side))).toBe('403 policy_denied builds are made of main');
    await sdk.builds.create(main);
    expect((await sdk.builds.list(side)).length).toBe(10);
    expect(await sdk.policies.decisions(teamId, id)).toMatchObject([
      { outcome: 'allow', gateOutcome: 'allow', failed: [] },
      {
        outcome: 'deny',
        gateOutcome: 'deny',
        revision: 1,
        action: 'build.create',
        failed: [{ id: 'main', message: 'builds are made of main' }],
      },
    ]);
    const draft = { ...MAIN, rules: [{ id: 'any', message: 'any', require: 'true' }] };
    expect(await sdk.policies.simulate(teamId, id, 2, { document: draft })).toMatchObject({
      replayed: 2,
      newlyAllowed: 1,
      unchanged: 1,
      results: [
        { before: 'allow', now: 'allow' },
        { before: 'deny', now: 'allow' },
      ],
    });
  });

  it('that cannot be judged refuse under enforce, which a simulation counts, and name rule and cause', async () => {
    const main = await environment();
    await sdk.builds.create(main);
    const OLD = {
      on: ['build.create'],
      rules: [
        { id: 'old', message: 'no old image', require: "artifacts[7].name == 'x'" },
        { id: 'side', message: 'no side', require: "build.branch != 'side'" },
      ],
    };
    const { id } = await policy(OLD);
    const simulated = await sdk.policies.simulate(teamId, id, 5);
    const { replayed, newlyDenied, unchanged, errors, results } = simulated;
    expect(replayed).toBeGreaterThan(0);
    const all = { newlyDenied: replayed, unchanged: 0, errors: replayed };
    expect({ newlyDenied, unchanged, errors }).toEqual(all);
    expect(results[0]).toMatchObject({
      now: 'error',
      newlyDenied: true,
      failed: expect.arrayContaining(['old']),
      problem: expect.stringMatching(/^rule "old": index 7 out of bounds/),
    });
    const warns = await sdk.policies.simulate(teamId, id, 5, { document: { ...OLD, mode: 'warn' } });
    expect(warns).toMatchObject({ newlyDenied: 0, unchanged: replayed, errors: replayed });

    await sdk.policies.enable(teamId, id);
    expect(await refused(sdk.builds.create(main))).toMatch(
      /^403 policy_denied the rule "old" could not be judged: index 7 out of bounds/,
    );
    expect(await sdk.policies.decisions(teamId, id)).toMatchObject([
      {
        outcome: 'error',
        reason: 'rule',
        failed: [{ id: 'old', message: expect.stringContaining('index 7') }],
      },
    ]);
    const counts = { newlyDenied: 0, unchanged: 1, errors: 1 };
    expect(await sdk.policies.simulate(teamId, id, 1)).toMatchObject(counts);
    const when = { ...OLD, when: "artifacts[7].kind == 'image'" };
    await sdk.policies.updateDocument(teamId, id, when);
    expect(await refused(sdk.builds.create(main))).toMatch(
      /^403 policy_denied the policy ".+" could not be judged: the condition "when": index 7/,
    );
    await sdk.policies.disable(teamId, id);
  });

  it('keep a denial with and without an Idempotency-Key, tell of it, and judge anew when it is repeated', async () => {
    const side = await environment('side');
    const id = await enabled(MAIN);
    const as = await firstSession(server);
    const build = async (headers: Record<string, string>) =>
      await server.call(`POST /environments/${side}/builds`, { as, body: {}, headers });
    const keyed = { 'idempotency-key': fresh('key') };
    const answers = [await build({}), await build(keyed), await build(keyed)];
    expect(answers.map(({ status, code }) => `${status} ${code}`)).toEqual(
      Array(3).fill('403 policy_denied'),
    );
    const [error] = answers.map(({ body }) => body['error'] as { details: { gateId: string } });
    expect(error).toMatchObject({
      message: 'builds are made of main',
      details: {
        failed: [{ policyId: id, ruleId: 'main', message: 'builds are made of main', overridable: true }],
      },
    });
    const kept = await sdk.policies.decisions(teamId, id);
    expect(kept).toHaveLength(3);
    expect(kept[2]?.gateId).toBe(error?.details.gateId);
    await sdk.policies.updateDocument(teamId, id, { ...MAIN, mode: 'warn' });
    expect((await build(keyed)).status).toBe(201);
    expect(await sdk.policies.decisions(teamId, id)).toMatchObject([
      { outcome: 'warn', revision: 2 },
      {},
      {},
      {},
    ]);
  });

  it('hold within their project and their environment alone', async () => {
    const [one, other] = [await environment('side'), await environment('side')];
    const id = await enabled(MAIN, { environmentId: one });
    expect(await refused(sdk.builds.create(one))).toContain('policy_denied');
    await sdk.builds.create(other);
    expect(await sdk.policies.simulate(teamId, id)).toMatchObject({ replayed: 1, unchanged: 1 });
    const elsewhere = (await sdk.projects.create({ name: 'api', teamId })).id;
    expect(await refused(policy(MAIN, { projectId: elsewhere, environmentId: one }))).toContain('404');
  });

  it('have a revision for each other content, and one entry in the ledger for each change', async () => {
    const { id } = await policy(MAIN);
    expect(await sdk.policies.get(teamId, id)).toMatchObject({
      enabled: false,
      revision: 1,
      document: { ...MAIN, mode: 'enforce', overridable: true },
    });
    const same = { rules: MAIN.rules, mode: 'enforce', on: MAIN.on };
    expect((await sdk.policies.updateDocument(teamId, id, same)).revision).toBe(1);
    const updates = Array.from({ length: 4 }, async (_, n) =>
      sdk.policies.updateDocument(teamId, id, { ...MAIN, when: `${n} == ${n}` }),
    );
    await Promise.all(updates);
    expect((await sdk.policies.get(teamId, id)).revision).toBe(5);
    for (const act of ['enable', 'enable', 'disable', 'disable'] as const)
      await sdk.policies[act](teamId, id);
    const acts = { created: 1, document_updated: 4, enabled: 1, disabled: 1 };
    for (const [action, times] of Object.entries(acts))
      expect(await ledger(`policy.${action}`), action).toHaveLength(times);
    const [listed] = await sdk.policies.list(teamId);
    expect(listed).toMatchObject({ id, revision: 5, enabled: false });
    expect(listed).not.toHaveProperty('document');
  });

  it('are refused with all that is wrong in their document, and within limits', async () => {
    const wrong = { on: ['deploi'], rules: [{ id: 'a', message: 'm', require: 'build.brnch == 1' }], x: 1 };
    const { status, code, body } = await server.call(`POST /teams/${teamId}/policies`, {
      as: await firstSession(server),
      body: { name: 'wrong', document: wrong },
    });
    expect(`${status} ${code}`).toBe('400 policy_document_invalid');
    const { problems } = (body['error'] as { details: { problems: object[] } }).details;
    expect(problems).toMatchObject([
      { where: '/x' },
      { where: '/on/0', suggestion: 'deploy' },
      { where: '/rules/0/require', suggestion: 'branch', position: expect.any(Number) },
    ]);
    const checked = await server.call(`POST /teams/${teamId}/policies/check`, {
      as: await firstSession(server),
      body: { document: wrong },
    });
    expect([checked.status, checked.body['error']]).toMatchObject([400, { details: { problems } }]);
    const before = await rowCounts();
    expect(await sdk.policies.check(teamId, MAIN)).toEqual({
      document: { ...MAIN, mode: 'enforce', overridable: true },
    });
    expect(await rowCounts()).toEqual(before);
    const { id, name } = await policy(MAIN);
    expect(await refused(sdk.policies.create(teamId, { name: name, document: MAIN }))).toContain(
      '409 name_taken',
    );
    expect(await refused(sdk.policies.simulate(teamId, id, 10, { document: wrong }))).toContain('400');
    expect(await refused(sdk.policies.simulate(teamId, id, 1_001))).toContain('400 validation_failed');
    const padding = 'p'.repeat(500);
    const rules = Array.from({ length: 50 }, (_, n) => ({
      id: `r${n}`,
      message: padding,
      require: `'${'x'.repeat(700)}' != '${n}'`,
    }));
    // One after the other: documents of this size are checked by few threads, and who waits for them too long
    // is told to come again.
    const large: Policy[] = [];
    for (let n = 0; n < 9; n += 1) large.push(await policy({ on: ['deploy'], rules }));
    const enabled = await Promise.all(
      large.map(async (each) => refused(sdk.policies.enable(teamId, each.id))),
    );
    expect(enabled.filter((said) => said === 'not refused')).toHaveLength(8);
    expect(enabled.filter((said) => said.startsWith('409 limit_reached'))).toHaveLength(1);
  });

  it('are as if missing for another team, and managed by admins alone', async () => {
    const { id } = await policy(MAIN);
    const other = await stranger(server);
    const theirs = sdkOf(other.token);
    const mine = await policy(MAIN, { environmentId: await environment() });
    for (const team of [teamId, other.teamId]) {
      expect(await refused(theirs.policies.get(team, id))).toContain('404 not_found');
      expect(await refused(theirs.policies.enable(team, id))).toContain('404 not_found');
      expect(await refused(theirs.policies.updateDocument(team, id, MAIN))).toContain('404 not_found');
      expect(await refused(theirs.policies.simulate(team, id))).toContain('404 not_found');
      expect(await refused(theirs.policies.decisions(team, id))).toContain('404 not_found');
    }
    const scope = { name: 'x', document: MAIN, environmentId: mine.environmentId ?? '' };
    expect(await refused(theirs.policies.create(other.teamId, scope))).toContain('404 not_found');
    const developer = sdkOf(
      (await join(server, await firstSession(server), { teamId, role: 'developer' })).token,
    );
    expect((await developer.policies.get(teamId, id)).name).toBeTruthy();
    expect((await developer.policies.simulate(teamId, id)).replayed).toBeGreaterThanOrEqual(0);
    expect(await refused(developer.policies.enable(teamId, id))).toContain('403 role_insufficient');
  });

  it('that are bound to what was deleted say so, and are not put in force', async () => {
    const [bound, later] = [await environment(), await environment()];
    const ofEnvironment = await policy(MAIN, { environmentId: bound });
    const ofProject = await policy(MAIN, { projectId });
    const laterOne = await policy(MAIN, { environmentId: later });
    const ofTeam = await policy(MAIN);
    for (const { id } of [ofEnvironment, ofProject, ofTeam]) await sdk.policies.enable(teamId, id);
    expect((await sdk.policies.list(teamId)).map(({ scopeDeleted }) => scopeDeleted)).toEqual(
      Array.from({ length: 4 }, () => false),
    );
    await sdk.environments.delete(bound);
    await sdk.environments.delete(later);
    expect(await sdk.policies.get(teamId, ofEnvironment.id)).toMatchObject({
      enabled: true,
      scopeDeleted: true,
    });
    expect(await sdk.policies.get(teamId, ofProject.id)).toMatchObject({ scopeDeleted: false });
    expect(await refused(sdk.policies.enable(teamId, laterOne.id))).toMatch(
      new RegExp(`409 state_conflict .*bound to ${later}, which was deleted.* guard nothing`),
    );
    expect(await refused(sdk.policies.enable(teamId, ofEnvironment.id))).toContain('409 state_conflict');
    await sdk.policies.disable(teamId, ofEnvironment.id);
    await sdk.projects.delete(projectId);
    const gone = (await sdk.policies.list(teamId)).filter(({ scopeDeleted }) => scopeDeleted);
    expect(gone.map(({ id }) => id).toSorted()).toEqual(
      [ofEnvironment.id, ofProject.id, laterOne.id].toSorted(),
    );
  });

  it('have each change of their document in the ledger, with what it replaced', async () => {
    const { id } = await policy({ ...MAIN, mode: 'enforce' });
    await sdk.policies.updateDocument(teamId, id, { ...MAIN, mode: 'audit' });
    const [created] = await ledger('policy.created');
    const [updated] = await ledger('policy.document_updated');
    expect(created?.details).toMatchObject({ revision: 1, mode: 'enforce' });
    expect(updated?.details).toMatchObject({
      revision: 2,
      mode: 'audit',
      before: { revision: 1, mode: 'enforce', sha256: created?.details?.['sha256'] },
    });
  });

  it('see the image of an approval or a rollback with its provenance', async () => {
    const staff = sdkOf(server.first.staffApiKey);
    const region = (await sdk.regions.list()).find(({ operator }) => operator === 'customer');
    await staff.adminTeams.setRegion(teamId, region?.id ?? '');
    const { token } = await sdk.runners.createEnrollToken(teamId);
    const runner = await scriptedRunner(server.baseUrl, token);
    const environmentId = await goods.environment({ deploy: CONTAINER, deployApproval: true });
    const require = `artifacts.exists(a, a.digest == '${DIGEST}' && a.attestations.exists(t, t.verified && t.builderId.endsWith('/customer/${teamId}/v1')))`;
    const signed = { id: 'signed', message: 'an image needs provenance', require };
    const operated = {
      id: 'operated',
      message: 'on own machines',
      require: "environment.operator == 'customer'",
    };
    const id = await enabled({ on: ['deploy'], rules: [signed, operated] });
    const buildId = await goods.built(runner, environmentId, { digest: DIGEST });
    await waitFor('provenance', async () => (await sdk.artifacts.attestations(teamId, DIGEST))[0]);
    await sdk.builds.deployApproval(environmentId, buildId, 'approve');
    const deploying = await runner.take();
    await runner.finish(deploying, { image: IMAGE, digest: DIGEST, address: 'http://127.0.0.1:1' });
    await sdk.policies.updateDocument(teamId, id, {
      on: ['deploy'],
      rules: [{ id: 'no', message: 'nothing goes back', require: "build.trigger != 'rollback'" }],
    });
    const back = await sdk.builds.rollback(environmentId, buildId);
    expect(await refused(sdk.builds.deployApproval(environmentId, back.id, 'approve'))).toBe(
      '403 policy_denied nothing goes back',
    );
    expect(await sdk.policies.decisions(teamId, id)).toMatchObject([
      { outcome: 'deny', revision: 2, subject: back.id, action: 'deploy' },
      { outcome: 'allow', revision: 1, subject: buildId, action: 'deploy' },
    ]);
  });
});
