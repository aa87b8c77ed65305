/**
 * Here the graph is tested over the real door: what hangs together, how far one sees, and that nobody sees
 * more than through the resources themselves.
 */
import type { GraphEdge } from '@svc/sdk';
import { beforeAll, describe, expect, it } from 'vitest';
import { has } from '../../../test/setup/needs.ts';
import { newKey } from '../../../test/setup/people.ts';
import { refused } from '../../../test/setup/refused.ts';
import { world, type World } from '../../../test/setup/world.ts';
import { NODES_MAX, HISTORY_MAX } from './walk.ts';

const SHA = '0123456789abcdef0123456789abcdef01234567';

describe.skipIf(!(await has('postgres')))('the graph', () => {
  let here: World;
  let server: World['server'];
  let sdk: World['sdk'];
  let otherSdk: World['sdk'];
  let otherTeamId: string;
  let teamId: string;
  let projectId: string;
  let environmentId: string;
  let siblingId: string;
  let runId: string;
  let looseRunId: string;

  const ref = (kind: string, id: string) => `graph:${kind}:${id}`;
  const refs = ({ nodes }: { readonly nodes: readonly { readonly ref: string }[] }) =>
    nodes.map((node) => node.ref);
  const spelt = ({ edges }: { readonly edges: readonly GraphEdge[] }) =>
    edges.map(({ from, to, relation }) => `${from} ${relation} ${to}`).sort();

  beforeAll(async () => {
    here = await world();
    ({ server, sdk } = here);
    teamId = (await sdk.teams.create('graph')).id;
    projectId = (await sdk.projects.create({ name: 'app', teamId })).id;
    environmentId = (await sdk.environments.create(projectId, { name: 'production' })).id;
    siblingId = (await sdk.environments.create(projectId, { name: 'staging' })).id;
    const labels = { environment: environmentId, commit: SHA };
    runId = (await sdk.sandboxRuns.create(teamId, { command: ['make', 'secret=1'], labels })).id;
    looseRunId = (await sdk.sandboxRuns.create(teamId, { command: ['true'] })).id;
    ({ sdk: otherSdk, teamId: otherTeamId } = await here.stranger());
  });

  it('shows one node of each kind', async () => {
    const team = { kind: 'team', id: teamId, name: 'graph' };
    expect(await sdk.graph.node(ref('team', teamId))).toMatchObject(team);
    const project = { kind: 'project', name: 'app', teamId };
    expect(await sdk.graph.node(ref('project', projectId))).toMatchObject(project);
    const environment = await sdk.graph.node(ref('environment', environmentId));
    expect(environment).toMatchObject({ ref: ref('environment', environmentId), name: 'production', teamId });
    expect(environment).not.toHaveProperty('state');
    const run = { kind: 'run', name: 'make', state: 'queued' };
    expect(await sdk.graph.node(ref('run', runId))).toMatchObject(run);
  });

  it('walks as many steps as it is asked to, one when it is not', async () => {
    const start = ref('environment', environmentId);
    expect(await sdk.graph.edges(start, 0)).toMatchObject({ depth: 0, edges: [], truncated: false });
    expect(refs(await sdk.graph.edges(start, 0))).toEqual([start]);

    const near = await sdk.graph.edges(start);
    expect(refs(near)).toEqual([start, ref('project', projectId), ref('run', runId)]);
    expect(spelt(near)).toEqual([
      `${start} ran ${ref('run', runId)}`,
      `${ref('project', projectId)} contains ${start}`,
    ]);

    const two = await sdk.graph.edges(start, 2);
    expect(refs(two).slice(3).sort()).toEqual([ref('environment', siblingId), ref('team', teamId)].sort());
    const three = await sdk.graph.edges(start, 3);
    expect(refs(three)).toContain(ref('run', looseRunId));
    expect(refs(three)).toHaveLength(6);
    expect(new Set(spelt(three)).size).toBe(three.edges.length);
  });

  it.each([
    [-5, 0],
    [4, 3],
    [2_000_000_000, 3],
  ])('clamps a depth of %i to %i', async (asked, depth) => {
    expect((await sdk.graph.edges(ref('team', teamId), asked)).depth).toBe(depth);
  });

  it('finds a commit by its full SHA, in either case', async () => {
    const found = await sdk.graph.commit(SHA.toUpperCase());
    expect(found).toMatchObject({ sha: SHA, truncated: false });
    expect(refs(found)).toEqual([ref('run', runId), ref('environment', environmentId)]);
    expect(spelt(found)).toEqual([`${ref('environment', environmentId)} ran ${ref('run', runId)}`]);
  });

  it('finds the builds and CI runs of a commit, and the environments that they hang on', async () => {
    const sha = 'c'.repeat(40);
    const repository = 'https://github.com/acme/graph';
    const webId = (await sdk.projects.create({ name: 'web', teamId })).id;
    const [firstId, secondId] = [
      (await sdk.environments.create(webId, { name: 'one', repository })).id,
      (await sdk.environments.create(webId, { name: 'two', repository })).id,
    ];
    const connection = await sdk.ci.createConnection(teamId, {
      provider: 'github',
      repositoryHost: 'github.com',
      repositoryPath: 'acme/graph',
      projectId: webId,
    });
    const report = { ciConnectionId: connection.id, externalRunId: '1', branch: 'main', commitSha: sha };
    const { secret } = await newKey(server, here.owner.token, { scopes: ['ci:read', 'ci:write'] });
    const ciRun = await here.as(secret).ci.report({ ...report, pipelineName: 'CI' });
    const build = await sdk.builds.create(firstId, { commit: sha });
    const labelled = await sdk.sandboxRuns.create(teamId, {
      command: ['true'],
      labels: { environment: firstId, commit: sha },
    });
    const [buildRef, ciRef, runRef] = [
      ref('build', build.id),
      ref('ci_run', ciRun.id),
      ref('run', labelled.id),
    ];
    const [first, second] = [ref('environment', firstId), ref('environment', secondId)];
    const found = await sdk.graph.commit(sha);
    expect(refs(found)).toEqual([buildRef, ciRef, runRef, first, second]);
    expect(spelt(found)).toEqual(
      [
        `${first} ran ${buildRef}`,
        `${first} ran ${ciRef}`,
        `${first} ran ${runRef}`,
        `${second} ran ${ciRef}`,
      ].sort(),
    );
    expect(await sdk.graph.node(buildRef)).toMatchObject({ kind: 'build', name: 'build 1', state: 'queued' });
    expect(await sdk.graph.node(ciRef)).toMatchObject({ kind: 'ci_run', name: 'CI', state: 'running' });
    expect(refs(await sdk.graph.edges(buildRef))).toEqual([buildRef, first]);
    expect(refs(await sdk.graph.edges(second))).toEqual([second, ref('project', webId), ciRef]);
    expect(refs(await sdk.graph.edges(first))).toEqual(expect.arrayContaining([buildRef, ciRef, runRef]));

    // Each is there for whoever may read it, and for nobody else.
    const seenWith = async (...scopes: string[]) =>
      refs(await here.as((await newKey(server, here.owner.token, { scopes })).secret).graph.commit(sha));
    expect(await seenWith('project:read')).toEqual([buildRef, first]);
    expect(await seenWith('ci:read')).toEqual([ciRef]);
    expect(await seenWith('run:read')).toEqual([runRef]);
    for (const each of [buildRef, ciRef])
      expect(await refused(otherSdk.graph.node(each))).toBe('404 not_found');
    expect(await refused(otherSdk.graph.commit(sha))).toBe('404 not_found');
  });

  it('leads from a commit over its artifact and release to where it was promoted', async () => {
    const sha = 'd'.repeat(40);
    const digest = `sha256:${'d'.repeat(64)}`;
    const shopId = (await sdk.projects.create({ name: 'shop', teamId })).id;
    const liveId = (await sdk.environments.create(shopId, { name: 'live' })).id;
    const artifact = await sdk.artifacts.declare(teamId, { name: 'app', kind: 'image', digest, commit: sha });
    const artifactRef = ref('artifact', artifact.id ?? '');
    const release = await sdk.releases.create(shopId, { version: '1', artifactIds: [artifact.id ?? ''] });
    const promotion = await sdk.promotions.create(liveId, release.id);
    const [releaseRef, promotionRef] = [ref('release', release.id), ref('promotion', promotion.id)];
    expect(await sdk.graph.commit(sha)).toMatchObject({ nodes: [{ ref: artifactRef, name: 'app' }] });
    const around = await sdk.graph.edges(artifactRef, 3);
    expect(spelt(around)).toEqual(
      [
        `${artifactRef} in ${releaseRef}`,
        `${ref('project', shopId)} contains ${releaseRef}`,
        `${releaseRef} promoted_by ${promotionRef}`,
        `${promotionRef} promoted_to ${ref('environment', liveId)}`,
        `${ref('project', shopId)} contains ${ref('environment', liveId)}`,
        `${ref('team', teamId)} contains ${ref('project', shopId)}`,
      ].toSorted(),
    );
    expect(refs(await sdk.graph.edges(ref('environment', liveId)))).toContain(promotionRef);
    expect(await sdk.graph.node(promotionRef)).toMatchObject({ name: '1', state: 'pending', teamId });
    for (const each of [artifactRef, releaseRef, promotionRef])
      expect(await refused(otherSdk.graph.node(each))).toBe('404 not_found');
  });

  it("answers another team's node and commit like a missing one", async () => {
    const plain = async (path: string) => {
      const { status, text } = await server.call(`GET ${path}`, { as: otherKey });
      return `${status} ${text.replace(/"requestId":"[^"]*"/, '')}`;
    };
    const otherKey = (await otherSdk.apiKeys.create('graph')).secret;
    for (const [kind, id] of [
      ['team', teamId],
      ['project', projectId],
      ['environment', environmentId],
      ['run', runId],
    ] as const) {
      const missing = id.replace(/_.*/, `_${'0'.repeat(26)}`);
      for (const tail of ['', '/edges?depth=3']) {
        const theirs = await plain(`/graph/nodes/${ref(kind, id)}${tail}`);
        expect(theirs).toMatch(/^404 .*"not_found"/);
        expect(theirs).toBe(await plain(`/graph/nodes/${ref(kind, missing)}${tail}`));
      }
    }
    const theirs = await plain(`/graph/commits/${SHA}`);
    expect(theirs).toMatch(/^404 .*"not_found"/);
    expect(theirs).toBe(await plain(`/graph/commits/${'f'.repeat(40)}`));
  });

  it('hangs no run on an environment of another team, whatever its label says', async () => {
    const labels = { environment: environmentId, commit: SHA };
    const run = await otherSdk.sandboxRuns.create(otherTeamId, { command: ['true'], labels });
    const around = await otherSdk.graph.edges(ref('run', run.id), 3);
    expect(refs(around).sort()).toEqual([ref('run', run.id), ref('team', otherTeamId)].sort());
    expect(refs(await otherSdk.graph.commit(SHA))).toEqual([ref('run', run.id)]);
    expect(refs(await sdk.graph.edges(ref('environment', environmentId), 3))).not.toContain(
      ref('run', run.id),
    );
  });

  it('shows a credential only the kinds that it may read', async () => {
    const { secret } = await newKey(server, here.owner.token, { scopes: ['project:read'] });
    const poor = here.as(secret);
    expect(await refused(poor.graph.node(ref('run', runId)))).toBe('403 scope_missing');
    expect(await refused(poor.graph.node(ref('team', teamId)))).toBe('403 scope_missing');
    expect(await refused(poor.graph.node(ref('run', `run_${'0'.repeat(26)}`)))).toBe('404 not_found');
    expect(await refused(poor.graph.commit(SHA))).toBe('404 not_found');
    const around = await poor.graph.edges(ref('environment', environmentId), 3);
    expect(new Set(around.nodes.map(({ kind }) => kind))).toEqual(new Set(['environment', 'project']));
  });

  it('refuses what is no reference and no SHA', async () => {
    for (const bad of ['environment:x', 'graph:pipeline:cip_1', `graph:run:${runId}:x`, 'graph:run:'])
      expect(await refused(sdk.graph.node(bad)), bad).toBe('400 validation_failed');
    expect(await refused(sdk.graph.commit('abc'))).toBe('400 validation_failed');
  });

  it('says when there is more than it shows', async () => {
    const crowd = await sdk.teams.create('crowd');
    const { id } = await sdk.projects.create({ name: 'first', teamId: crowd.id });
    await server.db.sql`
      insert into projects (id, team_id, name, slug, created_at)
      select 'prj_' || lpad('g' || n, 26, '0'), ${crowd.id}, 'p', 'crowd-' || n, now() from generate_series(1, ${NODES_MAX}::int) n`;
    const many = await sdk.graph.edges(ref('team', crowd.id), 3);
    expect(many.nodes).toHaveLength(NODES_MAX);
    expect(many.truncated).toBe(true);
    const shown = new Set(refs(many));
    expect(many.edges.every(({ from, to }) => shown.has(from) && shown.has(to))).toBe(true);

    const one = ref('environment', siblingId);
    const labels = { environment: siblingId, commit: 'b'.repeat(40) };
    for (let n = 0; n <= HISTORY_MAX; n += 1)
      await sdk.sandboxRuns.create(teamId, { command: ['true'], labels });
    expect(await sdk.graph.edges(one)).toMatchObject({ truncated: true });
    expect((await sdk.graph.edges(one)).nodes).toHaveLength(HISTORY_MAX + 2);
    expect(await sdk.graph.commit('b'.repeat(40))).toMatchObject({ truncated: true });
    expect((await sdk.graph.edges(ref('project', id), 1)).truncated).toBe(false);
  });
});
