/**
 * Here releases are tested over the real doors: what is in one is fixed, named by a digest, and stated by the
 * service.
 */
import { createHash } from 'node:crypto';
import type { Artifact, Attestation } from '@svc/sdk';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { goodsOf } from '../../../test/setup/delivery/goods.ts';
import { has } from '../../../test/setup/needs.ts';
import { refused } from '../../../test/setup/refused.ts';
import { waitFor } from '../../../test/setup/wait-for.ts';
import { world, type World } from '../../../test/setup/world.ts';

describe.skipIf(!(await has('postgres')))('releases', () => {
  let w: World;
  let { server, sdk, teamId, projectId } = {} as World;

  const { artifact, enabled, entries } = goodsOf(() => ({ sdk, teamId, projectId }));
  const statementsOf = async ({ id }: Artifact): Promise<readonly Attestation[]> =>
    await sdk.artifacts.attestations(teamId, id);

  beforeAll(async () => {
    w = await world();
    ({ server, sdk, teamId } = w);
  });
  beforeEach(async () => {
    projectId = (await sdk.projects.create({ name: 'web', teamId })).id;
  });

  it('name their artifacts by one digest that anybody can compute, and the service signs that', async () => {
    const parts = [await artifact(), await artifact()];
    const artifactIds = parts.map(({ id }) => id).toReversed();
    const params = { version: '1.0.0-RC.1', notes: 'the first', artifactIds };
    const release = await sdk.releases.create(projectId, params);
    const artifacts = parts.map(({ digest }) => digest).toSorted();
    const text = JSON.stringify({ artifacts, projectId, version: '1.0.0-RC.1' });
    expect(release).toMatchObject({
      version: '1.0.0-RC.1',
      notes: 'the first',
      projectId,
      projectName: 'web',
      digest: `sha256:${createHash('sha256').update(text).digest('hex')}`,
      artifacts: artifacts.map((digest) => ({ digest, kind: 'file' })),
    });
    expect(await sdk.releases.get(projectId, release.id)).toEqual(release);

    const statement = await waitFor('the statement', async () => (await statementsOf(parts[0]!))[0]);
    expect(statement).toMatchObject({
      predicateType: 'https://in-toto.io/attestation/release/v0.1',
      verification: { status: 'valid', signer: 'the service (platform)' },
      statement: {
        subject: artifacts.map((digest) => ({ digest: { sha256: digest?.slice('sha256:'.length) } })),
        predicate: { purl: 'pkg:generic/web@1.0.0-RC.1', releaseId: release.id },
      },
    });
    expect((await statementsOf(parts[1]!)).map(({ id }) => id)).toEqual([statement.id]);
    expect(await entries({ action: 'release.created' })).toMatchObject([
      {
        target: release.id,
        details: { version: '1.0.0-RC.1', digest: release.digest, artifacts },
      },
    ]);
  });

  it('are stated once, also when a worker dies between the signature and the end of its job', async () => {
    const part = await artifact();
    const { id } = await sdk.releases.create(projectId, { version: '1', artifactIds: [part.id] });
    const first = await waitFor('the statement', async () => (await statementsOf(part))[0]);
    const { sql } = server.db;
    await sql`
      insert into jobs (id, team_id, kind, lane, payload, due_at, created_at)
      select 'job_' || ${teamId} || n, ${teamId}, 'releases.statement', 'again ' || n, ${sql.json({ releaseId: id })}::jsonb, now(), now() from generate_series(1, 3) n`;
    await waitFor(
      'the end of the jobs',
      async () =>
        (await sql`select 1 from jobs where kind = 'releases.statement' and team_id = ${teamId}`).length ===
        0,
    );
    expect((await statementsOf(part)).map((each) => each.id)).toEqual([first.id]);
  });

  it('have a version once in their project, whatever the case and however many ask at once', async () => {
    const versions = ['1.0-beta', '1.0-BETA', '1.0-Beta', '1.0-beta'];
    const answers = await Promise.all(
      versions.map(async (version) => await refused(sdk.releases.create(projectId, { version }))),
    );
    expect(answers.toSorted()).toEqual([
      '409 version_taken',
      '409 version_taken',
      '409 version_taken',
      'not refused',
    ]);
    const other = (await sdk.projects.create({ name: 'other', teamId })).id;
    expect(await refused(sdk.releases.create(other, { version: '1.0-beta' }))).toBe('not refused');
  });

  it.each([
    ['a version that begins with a dash', { version: '-1' }],
    ['an empty version', { version: '' }],
    ['a version of 129 characters', { version: '1'.repeat(129) }],
    ['a version with a line of its own', { version: '1\n2' }],
    ['notes of more than 64 KiB', { version: '1', notes: 'é'.repeat(32_769) }],
    ['an artifact twice', { version: '1', artifactIds: ['art_1', 'art_1'] }],
    ['101 artifacts', { version: '1', artifactIds: Array.from({ length: 101 }, (_, n) => `art_${n}`) }],
  ])('are refused with %s', async (_what, params) => {
    expect(await refused(sdk.releases.create(projectId, params))).toBe('400 validation_failed');
    expect(await sdk.releases.list(projectId)).toEqual([]);
  });

  it('hold artifacts of their own team alone, and those of another team are as good as missing', async () => {
    const mine = await artifact();
    const { sdk: theirs, teamId: theirTeam } = await w.stranger();
    const theirProject = (await theirs.projects.create({ name: 'web', teamId: theirTeam })).id;
    const params = { version: '1', artifactIds: [mine.id] };
    expect(await refused(theirs.releases.create(theirProject, params))).toBe('404 not_found');
    expect(await refused(theirs.releases.create(projectId, { version: '1' }))).toBe('404 not_found');
    expect(await refused(theirs.releases.list(projectId))).toBe('404 not_found');
    const release = await sdk.releases.create(projectId, params);
    expect(await refused(theirs.releases.get(theirProject, release.id))).toBe('404 not_found');
    const unknown = { version: '2', artifactIds: [mine.id, 'art_00000000000000000000000000'] };
    expect(await refused(sdk.releases.create(projectId, unknown))).toBe('404 not_found');
    const other = (await sdk.projects.create({ name: 'other', teamId })).id;
    expect(await refused(sdk.releases.get(other, release.id))).toBe('404 not_found');
  });

  it('are read by viewers and made by developers', async () => {
    const [{ sdk: viewer }, { sdk: developer }] = [await w.member('viewer'), await w.member('developer')];
    expect(await refused(viewer.releases.create(projectId, { version: '1' }))).toBe('403 role_insufficient');
    const { id } = await developer.releases.create(projectId, { version: '1' });
    expect((await viewer.releases.list(projectId)).map((each) => each.id)).toEqual([id]);
  });

  it('pass a gate first, and what it refuses leaves nothing', async () => {
    const stable = {
      id: 'stable',
      message: 'no prereleases here',
      require: "!release.version.contains('-')",
    };
    const policyId = await enabled({ on: ['release.create'], rules: [stable] }, { projectId });
    const part = await artifact();
    const params = { version: '1', artifactIds: [part.id] };
    const early = { ...params, version: '1-rc' };
    expect(await refused(sdk.releases.create(projectId, early))).toBe('403 policy_denied');
    expect(await sdk.releases.list(projectId)).toEqual([]);
    const { id } = await sdk.releases.create(projectId, params);
    expect(await sdk.policies.decisions(teamId, policyId)).toMatchObject([
      { action: 'release.create', subject: id, outcome: 'allow' },
      { action: 'release.create', outcome: 'deny', failed: [{ id: 'stable' }] },
    ]);
  });

  it('are listed newest first in pages', async () => {
    const made: string[] = [];
    for (const version of ['1', '2', '3']) made.push((await sdk.releases.create(projectId, { version })).id);
    const first = await sdk.releases.listPage(projectId, { limit: 2 });
    expect(first.releases.map(({ id }) => id)).toEqual(made.slice(1).toReversed());
    const second = await sdk.releases.listPage(projectId, { limit: 2, cursor: first.nextCursor ?? '' });
    expect(second.releases.map(({ id }) => id)).toEqual([made[0]]);
    expect(second.nextCursor).toBeUndefined();
  });

  it('are listed over all projects of a team', async () => {
    const other = (await sdk.projects.create({ name: 'other', teamId })).id;
    const made = [projectId, other, projectId].entries();
    const ids: string[] = [];
    for (const [version, of] of made) ids.push((await sdk.releases.create(of, { version: `${version}` })).id);
    const page = await sdk.releases.listForTeamPage(teamId, { limit: 2 });
    expect(page.releases.map(({ id }) => id)).toEqual(ids.slice(1).toReversed());
    const rest = await sdk.releases.listForTeamPage(teamId, { cursor: page.nextCursor ?? '' });
    expect(rest.releases[0]).toMatchObject({ id: ids[0], projectName: 'web', version: '0' });
    expect(await refused((await w.stranger()).sdk.releases.listForTeam(teamId))).toBe('404 not_found');
  });
});
