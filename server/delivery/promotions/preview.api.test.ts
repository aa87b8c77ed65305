/** What a promotion is said to change, over the real doors, and that saying it leaves nothing behind. */
import type { Promotion, SvcSDK } from '@svc/sdk';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { IMAGE, type ScriptedRunner } from '../../../test/setup/builds/scripted-runner.ts';
import { COMMIT, CONTAINER, cycloneDx, goodsOf, REPOSITORY } from '../../../test/setup/delivery/goods.ts';
import { has } from '../../../test/setup/needs.ts';
import { waitFor } from '../../../test/setup/wait-for.ts';
import { world, type World } from '../../../test/setup/world.ts';
import { refused } from '../../../test/setup/refused.ts';

describe.skipIf(!(await has('postgres')))('the preview of a promotion', () => {
  let w: World;
  let { sdk, teamId } = {} as World;
  let admin: SvcSDK;
  let developer: SvcSDK;
  let environmentId: string;
  let runner: ScriptedRunner;

  const goods = goodsOf(() => w);
  /** It makes an image of these packages, `name@version` of npm each. */
  const imageOf = async (...packages: string[]) => {
    const { id, digest } = await goods.image({ commit: COMMIT, repository: REPOSITORY });
    const components = packages.map((purl) => ({ type: 'library', name: purl, purl: `pkg:npm/${purl}` }));
    if (packages.length > 0) await goods.uploadSbom(id, cycloneDx(components));
    return { id, digest };
  };
  const fileOf = async (name: string) => await goods.artifact({ name });
  const promoted = async (...artifacts: ReadonlyArray<{ readonly id: string }>): Promise<Promotion> =>
    await goods.promotion(environmentId, ...artifacts.map(({ id }) => id));
  const previewOf = async ({ id }: Promotion, by = sdk) => await by.promotions.preview(environmentId, id);
  const deploy = async ({ id }: Promotion): Promise<string> => {
    const { buildId = '' } = await admin.promotions.approve(environmentId, id);
    await runner.finish(await runner.take());
    await waitFor('the deployment', async () => {
      const rows = await w.server.db.sql`select from deployments where build_id = ${buildId}`;
      return rows.length > 0;
    });
    return buildId;
  };
  const policy = async (
    require: string,
    { mode = 'enforce', on = ['promotion.approve'], overridable = true } = {},
  ) => {
    const document = { on, mode, overridable, rules: [{ id: 'rule', message: 'no', require }] };
    const { id, name } = await goods.policy(document, { environmentId });
    await sdk.policies.enable(teamId, id);
    return { policyId: id, policyName: name, ruleId: 'rule', message: 'no', overridable };
  };

  beforeAll(async () => {
    w = await world();
    ({ sdk, teamId } = w);
    runner = await w.runner();
    admin = (await w.member('admin')).sdk;
    developer = (await w.member('developer')).sdk;
  });
  beforeEach(async () => {
    environmentId = await goods.environment({ deploy: CONTAINER });
  });

  it('says what is brought where nothing runs', async () => {
    const { id: artifactId, digest } = await imageOf();
    const promotion = await promoted({ id: artifactId });
    const { releaseId, version } = promotion;
    const preview = await previewOf(promotion);
    expect(preview).toMatchObject({
      promotion: { id: promotion.id, state: 'pending' },
      brought: { releaseId, version, artifactId, name: IMAGE, digest, commit: COMMIT },
      artifacts: [{ kind: 'image', name: IMAGE, after: digest }],
      packagesProblem: 'there are not two images',
      approvals: 0,
      requiredApprovals: 1,
      policies: { allowed: true, denied: [], warned: [] },
    });
    expect([preview.running, preview.packages]).toEqual([undefined, undefined]);
  });

  it('compares with what the platform deployed last: artifacts and packages', async () => {
    const before = await imageOf('gone@1', 'same@1', 'left@1', 'left@2', '%40acme/web@1');
    const old = [await fileOf('notes'), await fileOf('old')];
    const running = await promoted(before, ...old);
    const buildId = await deploy(running);
    const after = await imageOf('new@1', 'same@1', 'left@2', 'left@3', '%40acme/web@1');
    const come = [await fileOf('notes'), await fileOf('new')];
    const preview = await previewOf(await promoted(after, ...come));
    const { id: promotionId, releaseId, version } = running;
    const image = { artifactId: before.id, digest: before.digest, commit: COMMIT };
    const there = { buildId, url: 'http://10.0.0.7:32768', since: expect.stringMatching(/^\d{4}-/) };
    expect(preview.running).toMatchObject({ releaseId, version, promotionId, ...image, ...there });
    expect(preview.packages).toEqual({
      added: 1,
      removed: 1,
      changed: 1,
      changes: [
        { type: 'npm', name: 'new', before: [], after: ['1'] },
        { type: 'npm', name: 'gone', before: ['1'], after: [] },
        { type: 'npm', name: 'left', before: ['1', '2'], after: ['2', '3'] },
      ],
    });
    const changes = [
      { kind: 'image', name: IMAGE, before: before.digest, after: after.digest },
      { kind: 'file', name: 'notes', before: old[0]?.digest, after: come[0]?.digest },
      { kind: 'file', name: 'new', after: come[1]?.digest },
      { kind: 'file', name: 'old', before: old[1]?.digest },
    ];
    expect(preview.artifacts).toHaveLength(changes.length);
    expect(preview.artifacts).toEqual(expect.arrayContaining(changes));
    // The same image again, once it runs.
    const same = await promoted(before);
    expect(await previewOf(same)).toMatchObject({
      packages: { added: 0, removed: 0, changed: 0, changes: [] },
      artifacts: old.map(({ digest }) => ({ before: digest })),
    });
  });

  it('compares with the image alone of a build that came with no release', async () => {
    const digest = goods.freshDigest();
    await goods.built(runner, environmentId, { digest });
    await waitFor('the artifact', async () => await sdk.artifacts.get(teamId, digest));
    const after = await imageOf('new@1');
    const promotion = await promoted(after);
    const seen = async () => await previewOf(promotion);
    const holds = (preview: Awaited<ReturnType<typeof seen>>) => preview.running !== undefined;
    const { running, packagesProblem, artifacts } = await waitFor('what runs', seen, { holds });
    expect(running).toMatchObject({ digest, commit: COMMIT });
    expect([running?.version, running?.promotionId]).toEqual([undefined, undefined]);
    expect(packagesProblem).toMatch(/^nothing is known of the packages of .*, artifact art_/);
    expect(artifacts).toEqual([{ kind: 'image', name: IMAGE, before: digest, after: after.digest }]);
  });

  it('compares with what was deployed elsewhere, where that was later', async () => {
    await deploy(await promoted(await imageOf('first@1')));
    await sdk.environments.update(environmentId, { deploy: { kind: 'none' } });
    const elsewhere = await promoted(await imageOf('second@1'));
    await admin.promotions.approve(environmentId, elsewhere.id);
    const url = 'https://shop.example.com';
    await sdk.promotions.complete(environmentId, elsewhere.id, { status: 'deployed', url });
    const next = await promoted(await imageOf('third@1'));
    const { running, packages } = await previewOf(next);
    expect(running).toMatchObject({ version: elsewhere.version, promotionId: elsewhere.id, url });
    expect(running?.buildId).toBeUndefined();
    expect(packages?.changes.map(({ name }) => name)).toEqual(['third', 'second']);
    await sdk.environments.update(environmentId, { deploy: { kind: 'container' } });
    await deploy(next);
    expect((await previewOf(await promoted())).running).toMatchObject({ version: next.version });
  });

  it('counts all packages that differ and names a hundred, with ten versions of one', async () => {
    await deploy(await promoted(await imageOf('same@1')));
    const many = Array.from({ length: 120 }, (_, n) => `p${n}@1`);
    const versions = Array.from({ length: 12 }, (_, n) => `a@${n}`);
    const { packages } = await previewOf(await promoted(await imageOf('same@1', ...many, ...versions)));
    expect(packages).toMatchObject({ added: 121, removed: 0, changed: 0 });
    expect(packages?.changes).toHaveLength(100);
    expect(packages?.changes[0]?.after).toHaveLength(10);
  });

  it('says what the policies would say to this caller, as the approval then does, and keeps nothing of it', async () => {
    await sdk.environments.update(environmentId, { requiredApprovals: 2 });
    const promotion = await promoted(await imageOf());
    // Whoever gives the approvals that are missing, there will be two, and the admin's is not that of a
    // person yet.
    const two = await policy('size(promotion.approvals) == 2');
    const named = await policy("!('' in promotion.approvals)");
    const warns = await policy('false', { mode: 'warn' });
    const gates = async () =>
      (await w.server.db.sql`select from policy_gates where team_id = ${teamId}`).length;
    const before = await gates();
    const said = async (by: SvcSDK) => (await previewOf(promotion, by)).policies;
    expect(await said(admin)).toEqual({ allowed: false, denied: [named], warned: [warns] });
    await admin.promotions.approve(environmentId, promotion.id);
    const half = { approvals: 1, requiredApprovals: 2, policies: { denied: [named] } };
    expect(await previewOf(promotion, admin)).toMatchObject(half);
    // A developer approves nothing, and an owner would be the second.
    expect(await said(developer)).toMatchObject({ allowed: false });
    expect(await said(sdk)).toEqual({ allowed: true, denied: [], warned: [warns] });
    expect(two.policyId).toBeDefined();
    await sdk.environments.update(environmentId, { allowSelfApproval: false });
    expect(await said(sdk)).toMatchObject({ allowed: false });
    expect(await gates()).toBe(before);
    await sdk.environments.update(environmentId, { allowSelfApproval: true });
    await admin.promotions.approve(environmentId, promotion.id);
    await sdk.promotions.approve(environmentId, promotion.id);
    expect(await said(sdk)).toBeUndefined();
  });

  it('is in the answer of create, as the approval then says it', async () => {
    await policy('size(promotion.approvals) == 1');
    const image = await imageOf();
    expect((await promoted(image)).policyPreview).toEqual({ allowed: true, denied: [], warned: [] });
    const approving = await policy("release.version == '0'");
    const deploying = await policy("artifacts.all(a, a.attestations.exists(t, t.signer == 'x'))", {
      on: ['deploy'],
    });
    const creating = await policy('size(promotion.approvals) == 1', { on: ['promotion.create'] });
    const broken = await policy("artifacts[7].name == 'x'");
    const promotion = await promoted(image);
    const { allowed, denied = [] } = promotion.policyPreview ?? {};
    expect(allowed).toBe(false);
    expect(denied).toHaveLength(4);
    expect(denied).toEqual(
      expect.arrayContaining([
        approving,
        deploying,
        creating,
        { ...broken, message: expect.stringMatching(/^the rule "rule" could not be judged: index 7/) },
      ]),
    );
    expect((await previewOf(promotion)).policies?.denied).toEqual(
      denied.filter(({ policyId }) => policyId !== creating.policyId),
    );
    expect(await refused(admin.promotions.approve(environmentId, promotion.id))).toBe('403 policy_denied');
  });

  it('has the word on the deploy too, where the approval makes one, and each rule once', async () => {
    const promotion = await promoted(await imageOf());
    const onDeploy = await policy("build.trigger != 'promotion' || promotion.id == ''", { on: ['deploy'] });
    const onBoth = await policy('false', { on: ['promotion.approve', 'deploy'], overridable: false });
    const policies = async () => (await previewOf(promotion)).policies;
    const refusal = { allowed: false, denied: expect.arrayContaining([onDeploy, onBoth]), warned: [] };
    expect(await policies()).toEqual(refusal);
    expect((await policies())?.denied).toHaveLength(2);
    await sdk.policies.disable(teamId, onBoth.policyId);
    expect(await refused(admin.promotions.approve(environmentId, promotion.id))).toBe('403 policy_denied');
    await sdk.environments.update(environmentId, { deploy: { kind: 'none' } });
    expect(await policies()).toEqual({ allowed: true, denied: [], warned: [] });
  });

  it('is of the team alone', async () => {
    const promotion = await promoted();
    expect(await refused(previewOf(promotion, (await w.stranger()).sdk))).toBe('404 not_found');
  });
});
