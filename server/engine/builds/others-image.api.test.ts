/**
 * These tests ask over HTTP for images of another team in the service's local registry. Whether they are
 * there or not, the answer is that of an image that does not exist.
 */
import type { SvcApiError, SvcSDK } from '@svc/sdk';
import { beforeAll, describe, expect, it } from 'vitest';
import { DIGEST } from '../../../test/setup/builds/scripted-runner.ts';
import { has } from '../../../test/setup/needs.ts';
import { createIndependentRunner } from '../../../test/e2e/independent-runner.ts';
import { join } from '../../../test/setup/people.ts';
import { ownServer } from '../../../test/setup/engine/own-server.ts';

describe.skipIf(!(await has('postgres')))('an image of another team', () => {
  const env = { JOB_RUNNER_ENABLED: 'true', LEASE_MS: '3600000', OFFER_MS: '3600000' };
  const own = ownServer({ env });
  const { server, sdk: sdkOf } = own;
  let sdk: SvcSDK;
  let admin: SvcSDK;
  let teamId: string;
  let otherId: string;
  let projectId: string;
  let environmentId: string;
  let names = 0;

  const refused = async (call: PromiseLike<unknown>) => {
    try {
      await call;
    } catch (error) {
      const { status, code, message } = error as SvcApiError;
      return { status, code, message };
    }
    return 'not refused';
  };
  const noSuchImage = {
    status: 404,
    code: 'not_found',
    message: 'no such image, or it is not visible to you',
  };
  const freshDigest = (): string => `sha256:${String((names += 1)).padStart(64, '0')}`;
  const namesOf = (team: string, host = '127.0.0.1:5000') => `${host}/${team}/shop.production`;
  /** As an earlier version declared it. */
  const declaredBefore = async (): Promise<string> => {
    const own = { name: namesOf(teamId), kind: 'image', digest: freshDigest() } as const;
    const { id } = await sdk.artifacts.declare(teamId, own);
    await server.asOwner(`update artifacts set name = '${namesOf(otherId)}' where id = '${id}'`);
    return id;
  };

  beforeAll(async () => {
    sdk = sdkOf();
    teamId = await own.customer('b');
    otherId = (await sdk.teams.create('a')).id;
    projectId = (await sdk.projects.create({ name: 'web', teamId })).id;
    const repository = 'https://git.example.com/acme/web';
    const of = { name: 'e', repository, deploy: { kind: 'container' } } as const;
    environmentId = (await sdk.environments.create(projectId, of)).id;
    admin = sdkOf((await join(server, server.first.apiKey, { teamId, role: 'admin' })).token);
  });

  it('cannot be run, by whatever name of the registry, nor can that of a team that does not exist', async () => {
    const nobody = `team_${'0'.repeat(26)}`;
    const hosts = ['127.0.0.1:5000', 'localhost:5000', 'LOCALHOST:5000', '127.0.0.2:5000', '0.0.0.0:5000'];
    for (const host of hosts)
      for (const team of [otherId, nobody])
        for (const end of [`@${DIGEST}`, ':latest', '']) {
          const run = {
            purpose: 'agent_task',
            image: `${namesOf(team, host)}${end}`,
            command: ['true'],
          } as const;
          expect(await refused(sdk.sandboxRuns.create(teamId, run)), run.image).toEqual(noSuchImage);
        }
    for (const image of [`${namesOf(teamId)}@${DIGEST}`, '127.0.0.1:5000/base/node:20', 'alpine:3'])
      expect(
        await refused(sdk.sandboxRuns.create(teamId, { purpose: 'agent_task', image, command: ['true'] })),
      ).toBe('not refused');
  });

  it('cannot be declared, by its name or its address, nor reported by a run of a CI', async () => {
    const digest = freshDigest();
    const connection = await sdk.ci.createConnection(teamId, {
      provider: 'github',
      repositoryHost: 'github.com',
      repositoryPath: 'acme/web',
    });
    const run = await sdk.ci.report({
      ciConnectionId: connection.id,
      externalRunId: '7',
      status: 'running',
      commitSha: 'c'.repeat(40),
      branch: 'main',
    });
    for (const said of [
      { name: namesOf(otherId) },
      { name: 'shop', uri: `${namesOf(otherId)}:1` },
      { name: 'shop', uri: `${namesOf(otherId, 'localhost:5000')}@${digest}` },
    ]) {
      const params = { ...said, kind: 'image', digest } as const;
      expect(await refused(sdk.artifacts.declare(teamId, params))).toEqual(noSuchImage);
      expect(await refused(sdk.artifacts.reportForRun(run.id, params))).toEqual(noSuchImage);
    }
    expect(await sdk.artifacts.list(teamId)).toEqual([]);
  });

  it('cannot be released or promoted, though it was declared before', async () => {
    const artifactId = await declaredBefore();
    const release = { version: '1', artifactIds: [artifactId] };
    expect(await refused(sdk.releases.create(projectId, release))).toEqual(noSuchImage);
    const own = { name: namesOf(teamId), kind: 'image', digest: freshDigest() } as const;
    const { id } = await sdk.artifacts.declare(teamId, own);
    const { id: releaseId } = await sdk.releases.create(projectId, { version: '2', artifactIds: [id] });
    const promotion = await sdk.promotions.create(environmentId, releaseId);
    await server.asOwner(`update artifacts set name = '${namesOf(otherId)}' where id = '${id}'`);
    expect(await refused(admin.promotions.approve(environmentId, promotion.id))).toEqual(noSuchImage);
    expect(await sdk.builds.list(environmentId)).toEqual([]);
  });

  it('cannot be rolled back to, though a runner of the team reported it', async () => {
    const runner = await own.runner(teamId);
    const { id } = await sdk.builds.create(environmentId);
    const built = { commit: 'c'.repeat(40), buildType: 'dockerfile', digest: freshDigest() } as const;
    await runner.finish(await runner.take(), { ...built, image: namesOf(otherId) });
    expect(await refused(sdk.builds.rollback(environmentId, id))).toEqual(noSuchImage);
  });

  it('is known to the runner: the offer of a run says whose it is, and whether the machine works for others', async () => {
    const [pool] = await server.db.sql<Array<{ id: string }>>`select id from teams where service_pool`;
    const offered = async (ownerId: string, runnersOf: SvcSDK, runnerTeam: string) => {
      const { token } = await runnersOf.runners.createEnrollToken(runnerTeam);
      const runner = createIndependentRunner(server.baseUrl);
      await runner.enroll(token, `r${(names += 1)}`);
      const facts = {
        version: '1.0.0',
        os: 'linux',
        arch: 'x64',
        isolation: 'container',
        executor: 'podman',
      };
      await runner.call('heartbeat', { facts });
      const run = {
        purpose: 'agent_task',
        image: `${namesOf(ownerId)}@${DIGEST}`,
        command: ['true'],
      } as const;
      await sdk.sandboxRuns.create(ownerId, run);
      return (await runner.call('poll', { waitMs: 10_000 })).body['run'] as Record<string, unknown>;
    };
    const own = await offered(teamId, sdk, teamId);
    expect([own['teamId'], own['shared'] ?? false]).toEqual([teamId, false]);
    const shared = await offered(otherId, sdkOf(server.first.staffApiKey), pool?.id ?? '');
    expect(shared).toMatchObject({ teamId: otherId, shared: true });
  });
});
