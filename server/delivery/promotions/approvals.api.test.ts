/**
 * Here it is tested what approvals are bound to: over HTTP, with people who come and go and targets that
 * change between two of them.
 */
import type { EnvironmentsUpdateParams, Promotion, SvcSDK } from '@svc/sdk';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { IMAGE, type ScriptedRunner } from '../../../test/setup/builds/scripted-runner.ts';
import { goodsOf } from '../../../test/setup/delivery/goods.ts';
import { has } from '../../../test/setup/needs.ts';
import { join, verify, type Person } from '../../../test/setup/people.ts';
import { refused } from '../../../test/setup/refused.ts';
import { waitFor } from '../../../test/setup/wait-for.ts';
import { world, type World } from '../../../test/setup/world.ts';

describe.skipIf(!(await has('postgres')))('approvals', () => {
  let w: World;
  let { server, sdk: owner, teamId, projectId } = {} as World;
  let developer: SvcSDK;
  let ann: Person;
  let bob: Person;
  let environmentId: string;
  /** This is the name of the app of the deploy target. */
  let app: string;
  let runner: ScriptedRunner;

  const { built, enabled, entries, environment, fresh, image, promotion } = goodsOf(() => w);
  const as = ({ token }: Person): SvcSDK => w.as(token);
  const joined = async (): Promise<Person> => await join(server, w.owner.token, { teamId, role: 'admin' });
  const asked = async (): Promise<string> => (await promotion(environmentId, (await image()).id)).id;
  const read = async (id: string): Promise<Promotion> => await owner.promotions.get(environmentId, id);
  /** As it is shown alone, in the list and in its preview. */
  const standing = async (id: string) => {
    const one = await read(id);
    const listed = (await owner.promotions.list(environmentId)).find((each) => each.id === id);
    const preview = await owner.promotions.preview(environmentId, id);
    expect(listed).toEqual(one);
    expect(preview.promotion).toEqual(one);
    const reasons = one.approvals.map(({ voidReason }) => voidReason ?? 'counts');
    expect(preview.approvals).toBe(reasons.filter((reason) => reason === 'counts').length);
    return { state: one.state, missing: one.missingApprovals, reasons };
  };
  const change = async (params: EnvironmentsUpdateParams): Promise<void> =>
    void (await owner.environments.update(environmentId, params));

  beforeAll(async () => {
    w = await world();
    ({ server, sdk: owner, teamId, projectId } = w);
    runner = await w.runner();
    [ann, bob] = [await joined(), await joined()];
    developer = (await w.member('developer')).sdk;
  });
  beforeEach(async () => {
    app = fresh('web');
    const deploy = { kind: 'container', app, hostPort: 8081 } as const;
    environmentId = await environment({ deploy, requiredApprovals: 2 });
  });

  it('given for one target do not count for another: the count starts anew, and says from what to what', async () => {
    const id = await asked();
    const first = await as(ann).promotions.approve(environmentId, id);
    expect(first).toMatchObject({ missingApprovals: 1, approvals: [{ fingerprint: first.fingerprint }] });
    const other = `${app}-other`;
    const deploy = { kind: 'container', app: other, hostPort: 9090 } as const;
    await change({ deploy });
    const reason = `deploy.app: ${app} → ${other}; deploy.hostPort: 8081 → 9090`;
    expect(await standing(id)).toEqual({ state: 'pending', missing: 2, reasons: [reason] });
    const second = await as(bob).promotions.approve(environmentId, id);
    expect(second).toMatchObject({
      state: 'pending',
      waitingFor: { text: 'it has 1 of 2 approvals, and 1 that count no longer' },
    });
    expect(await owner.builds.list(environmentId)).toEqual([]);
    const voided = [{ userId: ann.userId, fingerprint: first.fingerprint, reason }];
    expect(await entries({ target: id, action: 'promotion.approvals_void' })).toMatchObject([
      { details: { fingerprint: second.fingerprint, approvals: voided } },
    ]);
    const approved = await as(ann).promotions.approve(environmentId, id);
    expect(approved).toMatchObject({ state: 'approved', fingerprint: second.fingerprint });
    expect(approved.approvals.map(({ userId, voidReason }) => [userId, voidReason])).toEqual([
      [ann.userId, reason],
      [bob.userId, undefined],
      [ann.userId, undefined],
    ]);
    const offer = await runner.take();
    expect(offer).toMatchObject({ id: approved.buildId, deploy: { app: other } });
    await runner.finish(offer);
  });

  type Change = EnvironmentsUpdateParams | (() => Promise<unknown>);
  const changes: ReadonlyArray<readonly [string, RegExp, Change]> = [
    ['name', /^environment.name: /, { name: 'renamed' }],
    ['branch', /^environment.branch: main → /, { branch: 'other' }],
    ['repository', /^environment.repository: /, { repository: 'https://git.example.com/acme/other' }],
    [
      'port',
      /^deploy.containerPort: 8080 → 81$/,
      async () => await change({ deploy: { kind: 'container', app, hostPort: 8081, containerPort: 81 } }),
    ],
    [
      'way of deploying',
      /^deploy.app: web-\d+ → none; .*deploy.kind: container → none$/,
      { deploy: { kind: 'none' } },
    ],
    ['runner', /^runner.labels: any → zone=b$/, { runner: { labels: { zone: 'b' } } }],
    ['number of approvals', /^environment.requiredApprovals: 2 → 3$/, { requiredApprovals: 3 }],
    ['rule of own approvals', /^environment.allowSelfApproval: true → false$/, { allowSelfApproval: false }],
    [
      'set of variables',
      /^variables: none → 1, the last set at /,
      async () => await owner.variables.set(environmentId, 'URL', 'x'),
    ],
    [
      'policies',
      /^policy policy-\d+: none → revision 1 of pol_\w+$/,
      async () => {
        const document = { on: ['deploy'], rules: [{ id: 'r', message: 'm', require: 'true' }] };
        await enabled(document, { environmentId });
      },
    ],
  ];
  it.each(changes)('are void when the %s changed', async (_what, reason, act) => {
    const id = await asked();
    await as(ann).promotions.approve(environmentId, id);
    await (typeof act === 'function' ? act() : change(act));
    const { missing, reasons } = await standing(id);
    expect([missing, reasons[0]]).toEqual([
      reasons[0]?.includes('requiredApprovals') === true ? 3 : 2,
      expect.stringMatching(reason),
    ]);
  });

  it('are not void for what no deploy of an image depends on', async () => {
    const id = await asked();
    await as(ann).promotions.approve(environmentId, id);
    await change({ buildPath: 'services/web', buildTimeoutSeconds: 60, submodules: true });
    await owner.environments.update(environmentId, { buildType: 'dockerfile' });
    expect(await standing(id)).toEqual({ state: 'pending', missing: 1, reasons: ['counts'] });
  });

  it('stay void when what was changed is changed back', async () => {
    const document = { on: ['promotion.approve'], rules: [{ id: 'r', message: 'm', require: 'true' }] };
    const policyId = await enabled(document, { environmentId });
    const { id: variableId } = await owner.variables.set(environmentId, 'URL', 'a');
    for (const thereAndBack of [
      async () => {
        await change({ branch: 'other' });
        await change({ branch: 'main' });
      },
      async () => {
        await owner.policies.disable(teamId, policyId);
        await owner.policies.enable(teamId, policyId);
      },
      async () => {
        await owner.variables.update(environmentId, variableId, 'URL', 'b');
        await owner.variables.update(environmentId, variableId, 'URL', 'a');
      },
    ]) {
      const id = await asked();
      const { fingerprint } = await as(ann).promotions.approve(environmentId, id);
      await thereAndBack();
      const { missing, reasons } = await standing(id);
      expect([missing, reasons.length, reasons[0] !== 'counts']).toEqual([2, 1, true]);
      expect(await as(bob).promotions.approve(environmentId, id)).toMatchObject({ state: 'pending' });
      expect((await read(id)).fingerprint).not.toBe(fingerprint);
    }
    const id = await asked();
    await as(ann).promotions.approve(environmentId, id);
    await change({ branch: 'other' });
    await change({ branch: 'main' });
    expect((await standing(id)).reasons).toEqual(['the environment was changed, and changed back']);
  });

  it('are taken along by whoever leaves, is demoted, or loses the key, and do not come back', async () => {
    const [leaver, demoted, keyed] = [await joined(), await joined(), await joined()];
    await change({ requiredApprovals: 4 });
    const id = await asked();
    const { apiKey, secret } = await as(keyed).apiKeys.create('approves', { scopes: ['release:approve'] });
    for (const by of [as(leaver), as(demoted), w.as(secret)]) await by.promotions.approve(environmentId, id);
    const three = { state: 'pending', missing: 1, reasons: ['counts', 'counts', 'counts'] };
    expect(await standing(id)).toEqual(three);
    await owner.teams.updateMemberRole(teamId, demoted.userId, 'developer');
    await owner.teams.removeMember(teamId, leaver.userId);
    await as(keyed).apiKeys.revoke(apiKey.id);
    const reasons = [
      'its person has left the team',
      'its person is no admin or owner of the team any more',
      'the API key that it was given with has ended',
    ];
    expect(await standing(id)).toEqual({ state: 'pending', missing: 4, reasons });
    await verify(server, leaver.userId);
    const { token } = await owner.teams.inviteMember(teamId, leaver.email, 'admin');
    await as(leaver).teams.acceptInvite(token ?? '');
    expect((await standing(id)).reasons[0]).toBe(reasons[0]);
    expect(await as(ann).promotions.approve(environmentId, id)).toMatchObject({ missingApprovals: 3 });
    await owner.teams.updateMemberRole(teamId, demoted.userId, 'admin');
    expect(await standing(id)).toEqual({ state: 'pending', missing: 3, reasons: [...reasons, 'counts'] });
    for (const by of [as(leaver), as(demoted), as(keyed)]) await by.promotions.approve(environmentId, id);
    const { state, buildId = '' } = await read(id);
    expect(state).toBe('approved');
    await owner.builds.cancel(environmentId, buildId);
    // What counted at the decision stays so.
    await owner.teams.removeMember(teamId, leaver.userId);
    expect((await read(id)).approvals.filter(({ voidReason }) => voidReason === undefined)).toHaveLength(4);
  });

  it('of one person are one, by session and by key', async () => {
    const id = await asked();
    const { secret } = await as(ann).apiKeys.create('approves', { scopes: ['release:approve'] });
    for (const by of [w.as(secret), as(ann), w.as(secret)])
      expect(await by.promotions.approve(environmentId, id)).toMatchObject({ missingApprovals: 1 });
    expect((await read(id)).approvals).toHaveLength(1);
  });

  it('are given to what was seen: another fingerprint is refused', async () => {
    const id = await asked();
    const { promotion, subject } = await as(ann).promotions.preview(environmentId, id);
    const { fingerprint = '' } = promotion;
    expect(subject).toContainEqual({ name: 'deploy.app', value: app });
    expect(subject.find(({ name }) => name === 'image')?.value).toContain(`${IMAGE}@sha256:`);
    await change({ runner: { labels: { zone: 'b' } } });
    const stale = as(ann).promotions.approve(environmentId, id, { fingerprint });
    expect(await refused(stale)).toBe('409 state_conflict');
    expect(await standing(id)).toEqual({ state: 'pending', missing: 2, reasons: [] });
    const { fingerprint: present = '' } = await read(id);
    expect(await as(ann).promotions.approve(environmentId, id, { fingerprint: present })).toMatchObject({
      missingApprovals: 1,
    });
  });

  it('from before they were bound count no longer', async () => {
    const id = await asked();
    await as(ann).promotions.approve(environmentId, id);
    await server.db.sql`update promotion_approvals set fingerprint = null where promotion_id = ${id}`;
    await server.db.sql`update promotions set fingerprint = null, subject = null where id = ${id}`;
    expect(await standing(id)).toEqual({
      state: 'pending',
      missing: 2,
      reasons: ['it was given before approvals were bound to what they approve'],
    });
    expect(await as(bob).promotions.approve(environmentId, id)).toMatchObject({ missingApprovals: 1 });
  });

  it('are of somebody else where the environment says so: not of who asked, released or built', async () => {
    await change({ requiredApprovals: 1, allowSelfApproval: false, deployApproval: true });
    const digest = `sha256:${'e'.repeat(64)}`;
    const buildId = await built(runner, environmentId, { digest }, as(ann));
    const deciding = as(ann).builds.deployApproval(environmentId, buildId, 'approve');
    expect(await refused(deciding)).toBe('409 environment_protected');
    const artifact = await waitFor('the artifact', async () => await owner.artifacts.get(teamId, digest));
    const made = { version: fresh('v'), artifactIds: [artifact.id] };
    const { id: releaseId } = await as(bob).releases.create(projectId, made);
    const { id } = await developer.promotions.create(environmentId, releaseId);
    for (const by of [ann, bob])
      expect(await refused(as(by).promotions.approve(environmentId, id))).toBe('409 environment_protected');
    const approved = await owner.promotions.approve(environmentId, id);
    expect(approved).toMatchObject({ state: 'approved' });
    await as(bob).builds.deployApproval(environmentId, buildId, 'reject');
    await owner.builds.cancel(environmentId, approved.buildId ?? '');
  });

  it('never deploy what they were not given for, in whatever order approvals and changes come', async () => {
    for (let round = 0; round < 8; round += 1) {
      await change({ deploy: { kind: 'container', app, hostPort: 8081 } });
      const id = await asked();
      const hostPort = 9000 + round;
      await Promise.all(
        [
          as(ann).promotions.approve(environmentId, id),
          change({ deploy: { kind: 'container', app, hostPort } }),
          owner.variables.set(environmentId, 'ROUND', String(round)),
          as(bob).promotions.approve(environmentId, id),
        ].map(async (call) => await refused(call)),
      );
      const { state, approvals, fingerprint, buildId = '' } = await read(id);
      const counting = approvals.filter(({ voidReason }) => voidReason === undefined);
      if (state === 'pending') {
        expect(counting.length).toBeLessThan(2);
        await owner.promotions.reject(environmentId, id, { reason: 'next round' });
        continue;
      }
      expect(new Set(counting.map((each) => each.fingerprint))).toEqual(new Set([fingerprint]));
      expect(counting).toHaveLength(2);
      const [row] = await server.db.sql<Array<{ port: string; deployed: number }>>`
        select p.subject ->> 'deploy.hostPort' as port, (w.spec -> 'deploy' ->> 'hostPort')::int as deployed
        from promotions p join work_items w on w.id = p.build_id where p.id = ${id}`;
      expect(row?.port).toBe(String(row?.deployed));
      await owner.builds.cancel(environmentId, buildId);
    }
  });
});
