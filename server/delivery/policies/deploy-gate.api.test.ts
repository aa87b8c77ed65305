/**
 * Here the gate `deploy` is tested over the real doors: each deploy passes one, however it came about, and
 * one that is refused leaves nothing.
 */
import type { SvcSDK } from '@svc/sdk';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { DIGEST, IMAGE, type ScriptedRunner } from '../../../test/setup/builds/scripted-runner.ts';
import { BUILT, COMMIT, CONTAINER, goodsOf, REPOSITORY } from '../../../test/setup/delivery/goods.ts';
import { has } from '../../../test/setup/needs.ts';
import { refused } from '../../../test/setup/refused.ts';
import { waitFor } from '../../../test/setup/wait-for.ts';
import { world, type World } from '../../../test/setup/world.ts';

const DENIED = '403 policy_denied';
const override = { reason: 'the fix cannot wait' };
const ruled = (require: string, more: object = {}) => ({
  on: ['deploy'],
  rules: [{ id: 'rule', message: `not so: ${require}`, require }],
  ...more,
});
const NO = ruled('action == "none"');

describe.skipIf(!(await has('postgres')))('the gate of deploys', () => {
  let { server, sdk: owner, teamId } = {} as World;
  let w: World;
  let admin: SvcSDK;
  let environmentId: string;
  let runner: ScriptedRunner;

  const { built, enabled: enabledIn, environment, fresh, image, promotion } = goodsOf(() => w);
  const enabled = async (document: object): Promise<string> => await enabledIn(document, { environmentId });
  /** The gates of the environment come oldest first. */
  const gates = async () =>
    await server.db.sql<Array<Record<string, unknown>>>`
      select g.action, g.subject, g.outcome, i.input -> 'artifacts' as artifacts, i.input -> 'build' as build, i.input -> 'promotion' as promotion
      from policy_gates g join policy_inputs i on i.team_id = g.team_id and i.sha256 = g.input_sha256
      where g.environment_id = ${environmentId} order by g.id`;
  const deploys = async () => (await gates()).filter(({ action }) => action === 'deploy');
  const published = async (): Promise<void> =>
    await runner.finish(await runner.take(), { ...BUILT, digest: DIGEST });
  const deployed = async (): Promise<string> => await built(runner, environmentId, { digest: DIGEST });
  const submissions = async (): Promise<unknown> =>
    await server.asOwner(
      `select (select count(*)::int from builds where environment_id = '${environmentId}') as builds,
        (select count(*)::int from work_items where team_id = '${teamId}') as items,
        (select count(*)::int from audit_entries where chain = '${teamId}' and action like 'build.%' and action <> 'build.deployed') as entries`,
    );

  beforeAll(async () => {
    w = await world();
    ({ server, sdk: owner, teamId } = w);
    runner = await w.runner();
    admin = (await w.member('admin')).sdk;
  });
  beforeEach(async () => {
    environmentId = await environment({ branch: 'main', deploy: CONTAINER });
  });

  it('is passed when a build is submitted that deploys by itself, whose image has no digest yet', async () => {
    const { id } = await owner.builds.create(environmentId, { commit: COMMIT });
    expect((await gates()).map(({ action, subject }) => [action, subject])).toEqual(
      expect.arrayContaining([
        ['build.create', id],
        ['deploy', id],
      ]),
    );
    const source = { origin: 'build', repository: REPOSITORY, branch: '', commit: COMMIT };
    const unknown = { attestations: [], packages: null, sbom: { present: false } };
    const image = { id: '', kind: 'image', name: '', digest: '', ...source, ...unknown };
    const build = { id, number: 0, branch: '', commit: COMMIT, trigger: 'manual' };
    expect(await deploys()).toMatchObject([{ outcome: 'allow', build, artifacts: [image] }]);
    await published();
    expect(await gates()).toHaveLength(2);
  });

  it.each([
    ['takes promotions alone', { promotionsOnly: true }],
    ['approves deploys', { deployApproval: true }],
    ['deploys nothing', { deploy: { kind: 'none' } }],
  ] as const)('is not passed by a build whose environment %s', async (_what, settings) => {
    await owner.environments.update(environmentId, settings);
    await enabled(NO);
    await deployed();
    expect((await gates()).map(({ action }) => action)).toEqual(['build.create']);
  });

  it('is passed once by an approved deploy, and by a rollback, which waits for its approval where deploys do', async () => {
    await owner.environments.update(environmentId, { deployApproval: true });
    const id = await deployed();
    // Earlier builds of the file have published the same image.
    await waitFor('the build as a source of the artifact', async () =>
      (await owner.artifacts.get(teamId, DIGEST)).sources.some(({ ref }) => ref === id),
    );
    await owner.builds.deployApproval(environmentId, id, 'approve');
    expect(await deploys()).toMatchObject([
      { subject: id, build: { number: 1, trigger: 'manual' }, artifacts: [{ digest: DIGEST, name: IMAGE }] },
    ]);
    await runner.finish(await runner.take());
    const waiting = await owner.builds.rollback(environmentId, id);
    expect(await deploys()).toHaveLength(1);
    await owner.builds.deployApproval(environmentId, waiting.id, 'approve');
    await runner.finish(await runner.take());
    await owner.environments.update(environmentId, { deployApproval: false });
    const back = await owner.builds.rollback(environmentId, id);
    await runner.finish(await runner.take());
    const rolledBack = { build: { trigger: 'rollback' }, artifacts: [{ digest: DIGEST, branch: 'main' }] };
    expect(await deploys()).toMatchObject([
      { subject: id },
      { subject: waiting.id, ...rolledBack },
      { subject: back.id, ...rolledBack },
    ]);
  });

  it('is passed once by the build of a promotion, which the same override lets through', async () => {
    const digest = `sha256:${'e'.repeat(64)}`;
    const { id: artifactId } = await image({ digest });
    const { id } = await promotion(environmentId, artifactId);
    await enabled(ruled('build.trigger != "promotion" || size(promotion.approvals) > 1'));
    expect(await refused(admin.promotions.approve(environmentId, id))).toBe(DENIED);
    expect(await owner.promotions.get(environmentId, id)).toMatchObject({ state: 'pending', approvals: [] });
    expect(await owner.builds.list(environmentId)).toEqual([]);
    const approved = await owner.promotions.approve(environmentId, id, { override });
    expect(approved).toMatchObject({ state: 'approved', overrideReason: override.reason });
    expect(await deploys()).toMatchObject([
      { outcome: 'deny', promotion: { id } },
      {
        outcome: 'overridden',
        subject: approved.buildId,
        build: { trigger: 'promotion' },
        promotion: { id, approvals: [expect.any(String)] },
        artifacts: [{ id: artifactId, digest }],
      },
    ]);
    await runner.finish(await runner.take());
  });

  it('leaves nothing of what it refuses, and is asked anew each time', async () => {
    const first = await deployed();
    const before = await submissions();
    const policyId = await enabled(NO);
    const key = { idempotencyKey: fresh('key') };
    expect(await refused(owner.builds.create(environmentId))).toBe(DENIED);
    expect(await refused(owner.builds.create(environmentId, {}, key))).toBe(DENIED);
    expect(await refused(owner.builds.rollback(environmentId, first))).toBe(DENIED);
    expect(await submissions()).toEqual(before);
    expect(await owner.policies.decisions(teamId, policyId)).toMatchObject(
      Array(3).fill({ action: 'deploy', outcome: 'deny', gateOutcome: 'deny' }),
    );
    await owner.policies.disable(teamId, policyId);
    expect(await owner.builds.create(environmentId, {}, key)).toMatchObject({ number: 2 });
    await published();
    await owner.environments.update(environmentId, { deployApproval: true });
    const id = await deployed();
    await owner.policies.enable(teamId, policyId);
    expect(await refused(owner.builds.deployApproval(environmentId, id, 'approve'))).toBe(DENIED);
    expect(await owner.builds.get(environmentId, id)).toMatchObject({ state: 'awaiting_approval' });
    await owner.builds.deployApproval(environmentId, id, 'reject');
  });

  it('refuses a build whose image nobody can vouch for yet, and lets that image go out when it is known', async () => {
    await enabled(
      ruled(
        "artifacts.all(a, a.attestations.exists(t, t.predicateType == 'https://slsa.dev/provenance/v1' && t.verified))",
      ),
    );
    await enabled(ruled("artifacts.all(a, a.branch == 'main')"));
    expect(await refused(owner.builds.create(environmentId))).toBe(DENIED);
    await owner.environments.update(environmentId, { deployApproval: true });
    const id = await deployed();
    await waitFor('provenance', async () => (await owner.artifacts.attestations(teamId, DIGEST))[0]);
    await owner.builds.deployApproval(environmentId, id, 'approve');
    await runner.finish(await runner.take());
  });

  it('is told no branch of a commit that somebody named: nobody looked whether the branch has it', async () => {
    const ofMain = "artifacts.all(a, a.branch == 'main') && build.branch == 'main'";
    await enabled(ruled(ofMain, { on: ['build.create', 'deploy'] }));
    expect(await refused(owner.builds.create(environmentId, { commit: COMMIT }))).toBe(DENIED);
    const named = await owner.builds.create(environmentId, { commit: COMMIT, override });
    expect(named.branch).toBe('');
    const digest = `sha256:${'9'.repeat(64)}`;
    await runner.finish(await runner.take(), { ...BUILT, digest });
    expect(await refused(owner.builds.rollback(environmentId, named.id))).toBe(DENIED);
    const artifact = await waitFor('the artifact', async () =>
      (await owner.artifacts.list(teamId)).find((each) => each.digest === digest),
    );
    const { sources } = await owner.artifacts.get(teamId, artifact.id);
    expect(sources).toMatchObject([{ origin: 'build', commit: COMMIT }]);
    expect(sources[0]?.branch).toBeUndefined();
    const { id } = await promotion(environmentId, artifact.id);
    expect(await refused(owner.promotions.approve(environmentId, id))).toBe(DENIED);
    const head = await owner.builds.create(environmentId);
    expect(head.branch).toBe('main');
    await owner.builds.cancel(environmentId, head.id);
  });

  it('comes behind roles and what is wrong with the request', async () => {
    const id = await deployed();
    await enabled(NO);
    const { sdk: viewer } = await w.member('viewer');
    expect(await refused(viewer.builds.create(environmentId))).toBe('403 role_insufficient');
    const running = await owner.builds.create(environmentId, { override });
    expect(await refused(owner.builds.rollback(environmentId, running.id))).toBe('409 build_not_deployable');
    expect(await refused(owner.builds.deployApproval(environmentId, running.id, 'approve'))).toBe(
      '409 build_not_waiting',
    );
    await published();
    await owner.environments.update(environmentId, { promotionsOnly: true });
    expect(await refused(owner.builds.rollback(environmentId, id))).toBe('409 environment_protected');
    expect((await deploys()).map(({ outcome }) => outcome)).toEqual(['allow', 'overridden']);
  });

  it('is overridden by an owner with a reason, unless the document forbids it', async () => {
    const policyId = await enabled({ ...NO, on: ['build.create', 'deploy'] });
    const short = { override: { reason: 'because' } };
    expect(await refused(admin.builds.create(environmentId, { override }))).toBe('403 role_insufficient');
    expect(await refused(owner.builds.create(environmentId, short))).toBe('400 validation_failed');
    const { id } = await owner.builds.create(environmentId, { override });
    await published();
    const back = await owner.builds.rollback(environmentId, id, { override });
    await runner.finish(await runner.take());
    const entries = (await owner.audit.list(teamId)).filter(({ action }) => action === 'policy.overridden');
    const [rolledBack, ...created] = entries
      .filter(({ target }) => target === id || target === back.id)
      .map(({ target, details }) => [target, details?.['action'], details?.['reason']]);
    expect(rolledBack).toEqual([back.id, 'deploy', override.reason]);
    // They come newest first.
    expect(created).toEqual([
      [id, 'build.create', override.reason],
      [id, 'deploy', override.reason],
    ]);
    await owner.policies.updateDocument(teamId, policyId, { ...NO, overridable: false });
    expect(await refused(owner.builds.create(environmentId, { override }))).toBe(DENIED);
    expect(await refused(owner.builds.rollback(environmentId, id, { override }))).toBe(DENIED);
  });
});
