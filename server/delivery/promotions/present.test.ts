import { PromotionWaitingCode as Code } from '@svc/proto/gen/svc/promotions/v1/promotions_pb.ts';
import { describe, expect, it } from 'vitest';
import { choose } from './image.ts';
import { settledBy, waitingFor } from './present.ts';
import type { Promotion } from './store.ts';

const promotion: Promotion = {
  id: 'prm_1',
  teamId: 'team_1',
  createdAt: new Date(0),
  projectId: 'prj_1',
  environmentId: 'env_1',
  environmentName: 'production',
  releaseId: 'rel_1',
  version: '1.0',
  artifactId: null,
  state: 'pending',
  rejection: null,
  reason: null,
  held: null,
  requestedBy: 'user_1',
  overrideReason: null,
  buildId: null,
  digest: null,
  url: null,
  fingerprint: null,
  subject: null,
  approvedAt: null,
  endedAt: null,
};
const approved: Promotion = { ...promotion, state: 'approved', buildId: 'bld_1', approvedAt: new Date(1) };
const build = {
  number: 7,
  state: 'open',
  workState: 'queued',
  workPhase: 0,
  environmentBusy: false,
  finishedAt: null,
  address: null,
  message: null,
  workMessage: null,
  reason: null,
  runnerName: null,
} as const;
const strict = { requiredApprovals: 2 };

describe('waitingFor()', () => {
  const of = (row: Promotion, found: Parameters<typeof waitingFor>[2]['build'] = build) =>
    waitingFor(row, strict, { approvals: [], build: found })?.code;

  it('says how many approvals count, and how many do not any more', () => {
    const approvals = [{ voidReason: null }];
    expect(waitingFor(promotion, strict, { approvals, build: undefined })).toEqual({
      code: Code.APPROVAL,
      text: 'it has 1 of 2 approvals',
    });
    const more = [...approvals, { voidReason: 'its person has left the team' }];
    expect(waitingFor(promotion, strict, { approvals: more, build: undefined })?.text).toBe(
      'it has 1 of 2 approvals, and 1 that count no longer',
    );
  });

  it('says of every approved one what it waits for', () => {
    expect(of(approved)).toBe(Code.RUNNER);
    expect(of(approved, { ...build, environmentBusy: true })).toBe(Code.ENVIRONMENT_BUSY);
    expect(of(approved, { ...build, workState: 'running', environmentBusy: true })).toBe(Code.RUNNER);
    expect(of(approved, undefined)).toBe(Code.RUNNER);
    const held = { ...approved, buildId: null };
    expect(of({ ...held, held: 'no_deploy_target' })).toBe(Code.NO_DEPLOY_TARGET);
    expect(of({ ...held, held: 'ambiguous_image' })).toBe(Code.AMBIGUOUS_IMAGE);
    expect(of({ ...held, held: 'external' })).toBe(Code.EXTERNAL);
  });

  it('says nothing of one that has ended', () => {
    for (const state of ['deployed', 'rejected', 'failed'] as const)
      expect(of({ ...approved, state })).toBeUndefined();
  });
});

describe('settledBy()', () => {
  const finishedAt = new Date(2);

  it('follows the end of the build, with its address or with the most that is known of why it failed', () => {
    const well = { ...build, state: 'succeeded', finishedAt, address: 'http://10.0.0.7:80' } as const;
    const ended = { state: 'deployed', url: 'http://10.0.0.7:80', reason: null, endedAt: finishedAt };
    expect(settledBy(approved, well)).toMatchObject(ended);
    const badly = { ...build, state: 'failed', finishedAt, reason: 'exit', workMessage: 'no port' } as const;
    expect(settledBy(approved, badly)).toMatchObject({ state: 'failed', reason: 'no port' });
    expect(settledBy(approved, { ...badly, workMessage: null })).toMatchObject({ reason: 'exit' });
    expect(settledBy(approved, { ...badly, state: 'cancelled' })).toMatchObject({ state: 'failed' });
  });

  it('changes nothing while the build is open or gone, and nothing of what has ended otherwise', () => {
    expect(settledBy(approved, build)).toBe(approved);
    expect(settledBy(approved, undefined)).toBe(approved);
    const failed: Promotion = { ...approved, state: 'failed', endedAt: new Date(3) };
    expect(settledBy(failed, { ...build, state: 'succeeded', finishedAt })).toBe(failed);
  });
});

describe('choose()', () => {
  const artifact = (id: string, more: object = {}) => ({
    id,
    teamId: 'team_1',
    createdAt: new Date(0),
    digest: `sha256:${'a'.repeat(64)}`,
    kind: 'image' as const,
    name: 'registry.example.com/acme/web',
    uri: null,
    mediaType: null,
    platform: null,
    packageSetId: null,
    sbomSha256: null,
    sbomUnread: [],
    sbomProblem: null,
    ...more,
  });
  const file = artifact('art_file', { kind: 'file' });

  it('takes the only image, or the one that was named', () => {
    const [one, other] = [artifact('art_1'), artifact('art_2')];
    const image = 'registry.example.com/acme/web';
    expect(choose({ artifactId: null }, [file, one])).toEqual({ artifact: one, image });
    expect(choose({ artifactId: 'art_2' }, [one, other])).toEqual({ artifact: other, image });
  });

  it('takes none of several, none without a registry, and nothing else than images', () => {
    expect(choose({ artifactId: null }, [artifact('art_1'), artifact('art_2')])).toEqual({
      held: 'ambiguous_image',
    });
    expect(choose({ artifactId: null }, [artifact('art_1', { name: 'web' })])).toEqual({
      held: 'ambiguous_image',
    });
    expect(choose({ artifactId: null }, [file])).toEqual({ held: 'external' });
    expect(choose({ artifactId: null }, [])).toEqual({ held: 'external' });
  });
});
