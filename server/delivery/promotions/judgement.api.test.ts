/**
 * Here acts of judgement are tested: what a person decides, and what a key may decide in a person's place.
 */
import type { ApiKeysCreateParams, SvcSDK } from '@svc/sdk';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { CONTAINER, goodsOf } from '../../../test/setup/delivery/goods.ts';
import { has } from '../../../test/setup/needs.ts';
import { join } from '../../../test/setup/people.ts';
import { refused } from '../../../test/setup/refused.ts';
import { world, type World } from '../../../test/setup/world.ts';

type Scopes = NonNullable<ApiKeysCreateParams['scopes']>;

const NO_SCOPE = '403 scope_missing';
const NOT_WAITING = '409 build_not_waiting';
const LOW_ROLE = '403 role_insufficient';
const override = { reason: 'the fix cannot wait' };

describe.skipIf(!(await has('postgres')))('acts of judgement', () => {
  let w: World;
  /** It is also staff. */
  let owner: SvcSDK;
  let teamId: string;
  let projectId: string;
  let developer: SvcSDK;
  let environmentId: string;

  const goods = goodsOf(() => ({ sdk: owner, teamId, projectId }));
  const keyOf = async (person: SvcSDK, scopes?: Scopes): Promise<SvcSDK> =>
    w.as((await person.apiKeys.create('test', scopes === undefined ? {} : { scopes })).secret);
  const promotion = async (): Promise<string> => (await goods.promotion(environmentId)).id;

  beforeAll(async () => {
    w = await world();
    owner = await w.staffSession();
    teamId = (await owner.teams.create('makers')).id;
    projectId = (await owner.projects.create({ name: 'web', teamId })).id;
    const { token } = await join(w.server, w.server.first.apiKey, { teamId, role: 'developer' });
    developer = w.as(token);
  });
  beforeEach(async () => {
    environmentId = await goods.environment({ deploy: CONTAINER });
  });

  it('approve and reject with a key only where release:approve was asked for by name', async () => {
    const { id: buildId } = await owner.builds.create(environmentId);
    const missing = '403 scope_missing';
    const others = await keyOf(owner);
    const manager = await keyOf(owner, ['key:manage', 'release:write', 'project:write']);
    for (const key of [others, w.as(w.server.first.apiKey), await keyOf(manager), manager]) {
      const id = await promotion();
      expect(await refused(key.promotions.approve(environmentId, id))).toBe(missing);
      expect(await refused(key.promotions.reject(environmentId, id, { reason: 'no' }))).toBe(missing);
      expect(await refused(key.builds.deployApproval(environmentId, buildId, 'approve'))).toBe(missing);
    }
    expect(await refused(manager.apiKeys.create('more', { scopes: ['release:approve'] }))).toBe(NO_SCOPE);
    const approver = await keyOf(owner, ['release:approve']);
    expect(await approver.promotions.approve(environmentId, await promotion())).toMatchObject({
      state: 'approved',
    });
    const rejecting = approver.promotions.reject(environmentId, await promotion(), { reason: 'no' });
    expect(await rejecting).toMatchObject({ state: 'rejected' });
    expect(await refused(approver.builds.deployApproval(environmentId, buildId, 'reject'))).toBe(NOT_WAITING);
    const byDeveloper = await keyOf(developer, ['release:approve']);
    expect(await refused(byDeveloper.promotions.approve(environmentId, await promotion()))).toBe(LOW_ROLE);
  });

  it('override policies in a session alone, whatever the key holds', async () => {
    const key = await keyOf(owner, ['release:approve', 'release:write', 'project:write', 'policy:manage']);
    const { id: buildId } = await owner.builds.create(environmentId);
    const id = await promotion();
    for (const call of [
      async () => await key.promotions.approve(environmentId, id, { override }),
      async () => await key.builds.create(environmentId, { override }),
      async () => await key.builds.rollback(environmentId, buildId, { override }),
      async () => await key.builds.deployApproval(environmentId, buildId, 'approve', { override }),
    ])
      expect(await refused(call())).toBe('403 session_required');
    expect((await owner.promotions.get(environmentId, id)).approvals).toEqual([]);
    expect(await owner.promotions.approve(environmentId, id, { override })).toMatchObject({
      state: 'approved',
    });
  });

  it('are reviewed and retired in a session alone: packages, and what statements are believed by', async () => {
    const key = await keyOf(owner, ['compliance:manage', 'team:manage', 'artifact:read']);
    const answers = async (by: SvcSDK, staff: SvcSDK): Promise<string[]> =>
      await Promise.all([
        refused(by.compliance.markLegalReviewed(teamId, 'cmp_1', { note: 'read' })),
        refused(by.compliance.delete(teamId, 'cmp_1')),
        refused(by.trustedKeys.remove(teamId, 'tky_1')),
        refused(by.trustedIdentities.remove(teamId, 'tid_1')),
        refused(staff.adminSigningKeys.revoke('sgk_1', { reason: 'lost' })),
      ]);
    expect(new Set(await answers(key, w.staff))).toEqual(new Set(['403 session_required']));
    expect(new Set(await answers(owner, owner))).toEqual(new Set(['404 not_found']));
  });

  it.each([
    ['blanks', ' \u00a0\u3000\t'],
    ['zero-width characters', '\u200b\u200c\u200d\u2060\ufeff'],
    ['bidirectional controls', '\u202a\u202e\u2066\u2069\u061c'],
    ['marks without a letter', '\u0301\u0489\u20dd'],
    ['fillers', '\u3164\u115f\u1160\uffa0'],
    ['blanks of Braille', '\u2800'],
    ['tags and variation selectors', '\u{e0041}\u{e007f}\ufe0f\u{e0100}'],
    ['soft hyphens', '\u00ad'],
  ])('take no reason that consists of %s', async (_what, blank) => {
    const reason = blank.repeat(20);
    const id = await promotion();
    const answers = [
      await refused(owner.promotions.reject(environmentId, id, { reason })),
      await refused(owner.promotions.reject(environmentId, id, { reason: blank })),
      await refused(owner.promotions.approve(environmentId, id, { override: { reason } })),
      await refused(owner.promotions.approve(environmentId, id, { override: { reason: `x${reason}y` } })),
      await refused(owner.builds.create(environmentId, { override: { reason: `x${reason}y` } })),
      await refused(owner.adminSigningKeys.revoke('sgk_1', { reason: blank })),
      await refused(owner.compliance.markLegalReviewed(teamId, 'cmp_1', { note: blank })),
      await refused(owner.policies.create(teamId, { name: blank, document: {} })),
      await refused(owner.teams.create(blank)),
    ];
    expect(answers).toEqual(answers.map(() => '400 validation_failed'));
    const switched = owner.platformFeatures.setState('host.ci', { state: 'disabled', reason });
    expect(await refused(switched)).toBe('400 reason_required');
    expect(await owner.promotions.get(environmentId, id)).toMatchObject({ state: 'pending', approvals: [] });
  });
});
