/**
 * Here promotions are tested over the real doors: people approve, a runner that the test plays deploys, and
 * whatever comes at once decides once.
 */
import type { Promotion, SvcSDK } from '@svc/sdk';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { eq } from 'drizzle-orm';
import { IMAGE, type ScriptedRunner } from '../../../test/setup/builds/scripted-runner.ts';
import { BUILT, COMMIT, CONTAINER, goodsOf } from '../../../test/setup/delivery/goods.ts';
import { has } from '../../../test/setup/needs.ts';
import { join, newKey, type Person } from '../../../test/setup/people.ts';
import { refused } from '../../../test/setup/refused.ts';
import { waitFor } from '../../../test/setup/wait-for.ts';
import { world, type Member, type World } from '../../../test/setup/world.ts';
import { systemScope } from '../../kit/authorise.ts';
import { expire } from './ended.ts';
import { rowsOf } from '../../kit/resource/index.ts';
import { deployments } from './schema.ts';

const LOW_ROLE = '403 role_insufficient';
const DECIDED = '409 promotion_not_pending';
const INVALID = '400 validation_failed';
const MISSING = '404 not_found';
const DAY_MS = 24 * 60 * 60_000;

describe.skipIf(!(await has('postgres')))('promotions', () => {
  let w: World;
  let { server, sdk, teamId, projectId } = {} as World;
  let admin: SvcSDK;
  let developer: SvcSDK;
  let adminPerson: Member;
  let environmentId: string;
  let runner: ScriptedRunner;

  const goods = goodsOf(() => w);
  const { environment, freshDigest, image, release } = goods;
  const joined = async (role: string): Promise<Person> => await join(server, w.owner.token, { teamId, role });
  const promoted = async (...artifactIds: string[]): Promise<Promotion> =>
    await goods.promotion(environmentId, ...artifactIds);
  const stateOf = async ({ id }: Pick<Promotion, 'id'>): Promise<string | undefined> =>
    (await sdk.promotions.get(environmentId, id)).state;
  /** As the outbox copied it. */
  const copied = async ({ id }: Promotion, state: string): Promise<void> =>
    void (await waitFor(`${id} in its own row`, async () => {
      const rows = await server.db.sql`select 1 from promotions where id = ${id} and state = ${state}`;
      return rows.length > 0;
    }));
  const actions = async (target: string): Promise<Array<string | undefined>> =>
    (await goods.entries({ target })).map(({ action }) => action).toReversed();
  const builds = async () => await sdk.builds.list(environmentId);
  const deploymentsOf = async (digest: string) =>
    await rowsOf(deployments).list(
      { db: server.db, teams: systemScope(teamId) },
      { where: eq(deployments.digest, digest) },
    );

  beforeAll(async () => {
    w = await world();
    ({ server, sdk, teamId, projectId } = w);
    runner = await w.runner();
    adminPerson = await w.member('admin');
    admin = adminPerson.sdk;
    developer = (await w.member('developer')).sdk;
  });
  beforeEach(async () => {
    environmentId = await environment({ deploy: CONTAINER });
  });

  it('wait for an approval, deploy the image by its digest, and say where it runs', async () => {
    const digest = freshDigest();
    // The image comes from a build of another environment.
    await goods.built(runner, await environment(), { digest });
    const artifact = await waitFor('the artifact', async () => await sdk.artifacts.get(teamId, digest));
    const { id: releaseId } = await release(artifact.id);
    const promotion = await developer.promotions.create(environmentId, releaseId);
    expect(promotion).toMatchObject({
      state: 'pending',
      releaseId,
      waitingFor: { code: 'approval', text: 'it has 0 of 1 approvals' },
      policyPreview: { allowed: true, denied: [], warned: [] },
    });
    expect(await refused(developer.promotions.approve(environmentId, promotion.id))).toBe(LOW_ROLE);
    const approved = await admin.promotions.approve(environmentId, promotion.id);
    expect(approved).toMatchObject({
      state: 'approved',
      approvals: [{ userId: adminPerson.userId }],
      digest,
      waitingFor: { code: 'runner' },
    });
    const buildId = approved.buildId ?? '';
    const build = { trigger: 'promotion', commit: COMMIT, digest };
    expect(await sdk.builds.get(environmentId, buildId)).toMatchObject(build);
    const offer = await runner.take();
    const deploy = { kind: 'container' };
    expect(offer).toMatchObject({ id: buildId, deployImage: `${IMAGE}@${digest}`, deploy });
    expect(offer.source).toBeUndefined();
    await runner.finish(offer);
    const url = 'http://10.0.0.7:32768';
    expect(await sdk.promotions.get(environmentId, promotion.id)).toMatchObject({ state: 'deployed', url });
    await copied(promotion, 'deployed');
    const ended = await sdk.promotions.get(environmentId, promotion.id);
    expect(ended).toMatchObject({ state: 'deployed', url });
    expect(ended.waitingFor).toBeUndefined();
    const moves = ['created', 'approved', 'deployed'].map((word) => `promotion.${word}`);
    expect(await actions(promotion.id)).toEqual(moves);
    const how = { promotionId: promotion.id, how: 'promotion' };
    const deployment = { environmentId, digest, buildId, number: 1, ...how };
    expect(await deploymentsOf(digest)).toMatchObject([
      { ...deployment, runnerId: runner.runnerId, address: url },
    ]);
    expect(await refused(admin.promotions.approve(environmentId, promotion.id))).toBe(DECIDED);
    // The deployments stay known when the environment, and with it the build, is gone.
    await sdk.environments.delete(environmentId);
    expect(await deploymentsOf(digest)).toMatchObject([deployment]);
  });

  it('are copied although their environment is deleted before the event of the build is published', async () => {
    const promotion = await promoted((await image()).id);
    await admin.promotions.approve(environmentId, promotion.id);
    await runner.finish(await runner.take());
    await sdk.environments.delete(environmentId);
    await copied(promotion, 'deployed');
  });

  it('fail with their build, with its words, and tell the admins', async () => {
    const promotion = await promoted((await image()).id);
    await admin.promotions.approve(environmentId, promotion.id);
    const offer = await runner.take();
    expect(await runner.beat(offer, 'deploying')).toBe('ok');
    const message = 'the container ended at once';
    const build = { phases: [{ phase: 'deploying', durationMs: 5 }] };
    await runner.report(offer, { exitCode: 1, message, build });
    const failed = { state: 'failed', reason: message };
    expect(await sdk.promotions.get(environmentId, promotion.id)).toMatchObject(failed);
    await copied(promotion, 'failed');
    expect((await actions(promotion.id)).at(-1)).toBe('promotion.failed');
    const notifications = async () =>
      (await admin.notifications.list())
        .filter(({ title }) => title?.includes(`of ${promotion.version} to`))
        .map(({ kind, body }) => ({ kind, body }));
    const told = await waitFor('both notifications', notifications, { holds: ({ length }) => length === 2 });
    expect(told).toEqual([
      { kind: 'promotion.failed', body: message },
      { kind: 'promotion.created', body: `svc promotions approve ${promotion.id} --env ${environmentId}` },
    ]);
    const { id } = await promoted((await image()).id);
    const { buildId } = await admin.promotions.approve(environmentId, id);
    await sdk.builds.cancel(environmentId, buildId ?? '');
    expect(await stateOf({ id })).toBe('failed');
  });

  it('whose runner is lost have failed, and what it says afterwards is a deployment all the same', async () => {
    const digest = freshDigest();
    const promotion = await promoted((await image({ digest })).id);
    await admin.promotions.approve(environmentId, promotion.id);
    const offer = await runner.take();
    expect(await runner.beat(offer, 'deploying')).toBe('ok');
    await server.db
      .sql`update work_leases set expires_at = now() - interval '1 hour' where work_id = ${offer.id} and ended_at is null`;
    await copied(promotion, 'failed');
    const url = 'http://10.0.0.7:1';
    const late = await runner.report(offer, { build: { address: url, phases: [] } });
    expect(late.status).toBe(409);
    const all = async () => await deploymentsOf(digest);
    const [deployment] = await waitFor('the deployment', all, { holds: (some) => some.length > 0 });
    expect(deployment).toMatchObject({ promotionId: promotion.id, how: 'promotion', address: url });
    const { state, reason } = await sdk.promotions.get(environmentId, promotion.id);
    expect([state, reason]).toEqual(['failed', expect.stringContaining('its runner was lost')]);
  });

  it('are approved a hundred times at once and make one build, with one approval of one person', async () => {
    const promotion = await promoted((await image()).id);
    const key = await newKey(server, adminPerson.token, { scopes: ['release:approve'] });
    const second = w.as(key.secret);
    const answers = await Promise.all(
      Array.from({ length: 100 }, async (_, n) =>
        refused((n % 2 === 0 ? admin : second).promotions.approve(environmentId, promotion.id)),
      ),
    );
    // On a busy machine some may find no connection in time: they are told so, and changed nothing.
    expect(new Set(answers.filter((answer) => answer !== '503 unavailable'))).toEqual(
      new Set(['not refused']),
    );
    expect(await builds()).toHaveLength(1);
    const { approvals } = await sdk.promotions.get(environmentId, promotion.id);
    expect(approvals).toMatchObject([{ userId: adminPerson.userId }]);
    expect(await actions(promotion.id)).toEqual(['promotion.created', 'promotion.approved']);
    await sdk.builds.cancel(environmentId, (await builds())[0]?.id ?? '');
  });

  it('are approved or rejected, never both, when both come at once', async () => {
    for (let round = 0; round < 5; round += 1) {
      const promotion = await promoted();
      const answers = await Promise.all([
        refused(admin.promotions.approve(environmentId, promotion.id)),
        refused(sdk.promotions.reject(environmentId, promotion.id, { reason: 'no' })),
      ]);
      expect(answers.toSorted()).toEqual(['409 promotion_not_pending', 'not refused']);
      const isApproved = answers[0] === 'not refused';
      expect(await stateOf(promotion)).toBe(isApproved ? 'approved' : 'rejected');
      expect(await actions(promotion.id)).toHaveLength(2);
    }
  });

  it('need as many people as the environment says, who are still admins, and without who asked', async () => {
    await sdk.environments.update(environmentId, { requiredApprovals: 2, allowSelfApproval: false });
    const leaving = await joined('admin');
    const third = await joined('admin');
    const promotion = await promoted();
    const approve = async (as: SvcSDK) => await as.promotions.approve(environmentId, promotion.id);
    expect(await refused(approve(sdk))).toBe('409 environment_protected');
    expect(await approve(w.as(leaving.token))).toMatchObject({ state: 'pending', approvals: [{}] });
    expect((await approve(w.as(leaving.token))).approvals).toHaveLength(1);
    await sdk.teams.removeMember(teamId, leaving.userId);
    expect(await approve(admin)).toMatchObject({ state: 'pending', waitingFor: { code: 'approval' } });
    expect(await approve(w.as(third.token))).toMatchObject({ state: 'approved' });
    expect(await actions(promotion.id)).toEqual([
      'promotion.created',
      'promotion.approval_given',
      'promotion.approvals_void',
      'promotion.approval_given',
      'promotion.approved',
    ]);
  });

  it('are made easier by admins alone', async () => {
    const strict = { requiredApprovals: 2, allowSelfApproval: false, promotionsOnly: true };
    await developer.environments.update(environmentId, strict);
    for (const weaker of [{ requiredApprovals: 1 }, { allowSelfApproval: true }, { promotionsOnly: false }]) {
      expect(await refused(developer.environments.update(environmentId, weaker))).toBe(LOW_ROLE);
      expect(await refused(admin.environments.update(environmentId, weaker))).toBe('not refused');
    }
    expect(await refused(sdk.environments.update(environmentId, { requiredApprovals: 6 }))).toBe(INVALID);
  });

  it('that are older and pending are superseded when a newer one is approved; newer ones stay', async () => {
    const [oldest, older] = [await promoted(), await promoted()];
    const [approved, newer] = [await promoted(), await promoted()];
    await admin.promotions.approve(environmentId, approved.id);
    const listed = await sdk.promotions.list(environmentId);
    expect(listed.map(({ id, state, rejection }) => ({ id, state, rejection }))).toEqual([
      { id: newer.id, state: 'pending' },
      { id: approved.id, state: 'approved' },
      { id: older.id, state: 'rejected', rejection: 'superseded' },
      { id: oldest.id, state: 'rejected', rejection: 'superseded' },
    ]);
    const ofTeam = async (state: 'pending' | 'approved' | 'rejected') =>
      (await sdk.promotions.listForTeam(teamId, { state })).filter(
        (each) => each.environmentId === environmentId,
      );
    const waits = async (as: SvcSDK) => (await as.teams.inbox(teamId)).filter(({ id }) => id === newer.id);
    expect(await waits(admin)).toMatchObject([{ kind: 'promotion_approval', environmentId }]);
    expect(await waits(developer)).toEqual([]);
    const [pending] = await ofTeam('pending');
    expect(pending).toMatchObject({ id: newer.id, waitingFor: { code: 'approval' }, approvals: [] });
    expect(await ofTeam('approved')).toEqual([await sdk.promotions.get(environmentId, approved.id)]);
    expect((await ofTeam('rejected')).map(({ id }) => id)).toEqual([older.id, oldest.id]);
    expect(await refused(admin.promotions.approve(environmentId, older.id))).toBe(DECIDED);
    expect(await actions(older.id)).toEqual(['promotion.created', 'promotion.rejected']);
  });

  it('expire after 30 days, and not before', async () => {
    const promotion = await promoted();
    await expire(server, Date.now() + 29 * DAY_MS);
    expect(await stateOf(promotion)).toBe('pending');
    await expire(server, Date.now() + 31 * DAY_MS);
    const expired = { state: 'rejected', rejection: 'expired' };
    expect(await sdk.promotions.get(environmentId, promotion.id)).toMatchObject(expired);
    expect(await actions(promotion.id)).toEqual(['promotion.created', 'promotion.rejected']);
  });

  it('pass a gate at the last approval: what it refuses is not approved, and an owner overrides it with a reason', async () => {
    const { id: artifactId } = await image();
    const promotion = await promoted(artifactId);
    const message = 'every image needs provenance that we can verify';
    const require =
      "artifacts.all(a, a.attestations.exists(t, t.predicateType == 'https://slsa.dev/provenance/v1' && t.verified))";
    const document = { on: ['promotion.approve'], rules: [{ id: 'provenance', message, require }] };
    const policyId = await goods.enabled(document, { environmentId });
    expect(await refused(admin.promotions.approve(environmentId, promotion.id))).toBe('403 policy_denied');
    const open = { state: 'pending', approvals: [] };
    expect(await sdk.promotions.get(environmentId, promotion.id)).toMatchObject(open);
    expect(await builds()).toEqual([]);
    const about = { action: 'promotion.approve', subject: promotion.id, outcome: 'deny' };
    expect(await sdk.policies.decisions(teamId, policyId)).toMatchObject([
      { ...about, failed: [{ id: 'provenance', message }] },
    ]);
    const reason = 'the fix cannot wait';
    const overriding = { override: { reason } };
    expect(await refused(admin.promotions.approve(environmentId, promotion.id, overriding))).toBe(LOW_ROLE);
    for (const bad of ['short', ' '.repeat(20)]) {
      const approving = sdk.promotions.approve(environmentId, promotion.id, { override: { reason: bad } });
      expect(await refused(approving)).toBe(INVALID);
    }
    const approved = await sdk.promotions.approve(environmentId, promotion.id, overriding);
    expect(approved).toMatchObject({ state: 'approved', overrideReason: reason });
    await sdk.builds.cancel(environmentId, approved.buildId ?? '');
    await sdk.policies.disable(teamId, policyId);
  });

  it('stay approved where nothing can be deployed, and whoever deploys elsewhere says how it ended', async () => {
    const [{ id: one }, { id: other }] = [await image(), await image()];
    const approvedAs = async (promotion: Promotion) =>
      await admin.promotions.approve(environmentId, promotion.id);
    const external = { state: 'approved', waitingFor: { code: 'external' } };
    expect(await approvedAs(await promoted())).toMatchObject(external);
    const both = await promoted(one, other);
    expect(await approvedAs(both)).toMatchObject({ waitingFor: { code: 'ambiguous_image' } });
    const named = await sdk.promotions.create(environmentId, both.releaseId, { artifactId: other });
    const { buildId } = await approvedAs(named);
    const complete = async ({ id }: Promotion, params: { status: 'deployed' | 'failed'; url?: string }) =>
      await developer.promotions.complete(environmentId, id, params);
    expect(await refused(complete(named, { status: 'deployed' }))).toBe('409 state_conflict');
    await sdk.builds.cancel(environmentId, buildId ?? '');
    await sdk.environments.update(environmentId, { deploy: { kind: 'none' } });
    const elsewhere = await promoted(one);
    expect(await refused(complete(elsewhere, { status: 'deployed' }))).toBe('409 state_conflict');
    expect(await approvedAs(elsewhere)).toMatchObject({ waitingFor: { code: 'no_deploy_target' } });
    const url = 'https://shop.example.com';
    expect(await complete(elsewhere, { status: 'deployed', url })).toMatchObject({ state: 'deployed', url });
    expect(await complete(elsewhere, { status: 'deployed' })).toMatchObject({ state: 'deployed', url });
    expect(await refused(complete(elsewhere, { status: 'failed' }))).toBe('409 state_conflict');
    expect(await refused(complete(both, { status: 'failed', url: 'javascript:alert(1)' }))).toBe(INVALID);
    expect(await complete(both, { status: 'failed' })).toMatchObject({ state: 'failed' });
  });

  it('alone are deployed where the environment says so: builds publish, and rollbacks go to what was promoted', async () => {
    const [direct, later] = [freshDigest(), freshDigest()];
    const before = await goods.built(runner, environmentId, { digest: direct });
    await sdk.environments.update(environmentId, { promotionsOnly: true, deployApproval: true });
    await sdk.builds.create(environmentId);
    const offer = await runner.take();
    expect(offer.deploy).toBeUndefined();
    await runner.finish(offer, { ...BUILT, digest: later });
    expect((await builds())[0]).toMatchObject({ state: 'succeeded' });
    expect(await refused(sdk.builds.rollback(environmentId, before))).toBe('409 environment_protected');
    const promotion = await promoted((await image({ digest: direct })).id);
    await admin.promotions.approve(environmentId, promotion.id);
    await runner.finish(await runner.take());
    const back = await sdk.builds.rollback(environmentId, before);
    expect(back).toMatchObject({ trigger: 'rollback', digest: direct });
    await sdk.builds.cancel(environmentId, back.id);
    const how = async () => (await deploymentsOf(direct)).map((each) => each.how).toSorted();
    await waitFor('both deployments', how, { holds: (all) => all.length === 2 });
    expect(await how()).toEqual(['direct', 'promotion']);
    expect(await deploymentsOf(later)).toEqual([]);
  });

  it('are of the project and the team: everything of others is as good as missing', async () => {
    const { sdk: theirs, teamId: theirTeam } = await w.stranger();
    const promotion = await promoted();
    expect(await refused(theirs.promotions.list(environmentId))).toBe(MISSING);
    expect(await refused(theirs.promotions.listForTeam(teamId))).toBe(MISSING);
    expect(await theirs.promotions.listForTeam(theirTeam)).toEqual([]);
    expect(await refused(theirs.promotions.approve(environmentId, promotion.id))).toBe(MISSING);
    const project = (await theirs.projects.create({ name: 'web', teamId: theirTeam })).id;
    const theirEnvironment = (await theirs.environments.create(project, { name: 'production' })).id;
    expect(await refused(theirs.promotions.create(theirEnvironment, promotion.releaseId))).toBe(MISSING);
    expect(await refused(theirs.promotions.get(theirEnvironment, promotion.id))).toBe(MISSING);
    const other = (await sdk.projects.create({ name: 'other', teamId })).id;
    const elsewhere = (await sdk.environments.create(other, { name: 'production' })).id;
    expect(await refused(sdk.promotions.create(elsewhere, promotion.releaseId))).toBe(MISSING);
    expect(await refused(sdk.promotions.get(elsewhere, promotion.id))).toBe(MISSING);
    const foreign = { artifactId: (await image()).id };
    expect(await refused(sdk.promotions.create(environmentId, promotion.releaseId, foreign))).toBe(MISSING);
  });

  it('that are pending are a hundred at most', async () => {
    const { id: releaseId } = await release();
    await server.db.sql`
      insert into promotions (id, team_id, created_at, project_id, environment_id, environment_name, release_id, version, requested_by)
      select 'prm_many_' || n, ${teamId}, now(), ${projectId}, ${environmentId}, 'e', ${releaseId}, '1', 'user_1' from generate_series(1, 100) n`;
    expect(await refused(sdk.promotions.create(environmentId, releaseId))).toBe('409 limit_reached');
  });
});
