/** Here people look for what a team has: they may see all of it, some of it, or nothing. */
import type { SvcSDK } from '@svc/sdk';
import { beforeAll, describe, expect, it } from 'vitest';
import { has } from '../../../test/setup/needs.ts';
import { newKey } from '../../../test/setup/people.ts';
import { setFeature } from '../../../test/setup/features.ts';
import { refused } from '../../../test/setup/refused.ts';
import { useServer } from '../../../test/setup/use-server.ts';
import { world, type World } from '../../../test/setup/world.ts';

describe.skipIf(!(await has('postgres')))('the search of a team', () => {
  let w: World;
  let { sdk, teamId } = {} as World;
  let projectId: string;
  let environmentId: string;
  const found = async (text: string, as: SvcSDK = sdk, limit?: number) =>
    (await as.teams.search(teamId, text, limit === undefined ? {} : { limit })).map(
      ({ kind, name }) => `${kind} ${name}`,
    );

  beforeAll(async () => {
    w = await world();
    ({ sdk, teamId } = w);
    projectId = (await sdk.projects.create({ name: 'Heron', teamId })).id;
    environmentId = (await sdk.environments.create(projectId, { name: 'heron-production' })).id;
    await sdk.runnerGroups.create(teamId, 'old-herons');
    await sdk.ci.createConnection(teamId, {
      projectId,
      provider: 'github',
      repositoryHost: 'github.com',
      repositoryPath: 'acme/heron',
    });
    await sdk.releases.create(projectId, { version: '7.1.0-Heron' });
  });

  it('finds parts of names in any case, the closest first, with their place', async () => {
    expect(await found('HERON')).toEqual([
      'project Heron',
      'environment heron-production',
      'CI connection acme/heron',
      'runner group old-herons',
    ]);
    expect(await found(' heron', sdk, 2)).toEqual(['project Heron', 'environment heron-production']);
    const [environment] = await sdk.teams.search(teamId, 'heron-p');
    expect(environment).toEqual({
      kind: 'environment',
      id: environmentId,
      name: 'heron-production',
      projectId,
    });
    expect(await found('7.1.0-heron')).toEqual(['release 7.1.0-Heron']);
    expect(await found('%')).toEqual([]);
    expect(await refused(found('  '))).toBe('400 validation_failed');
  });

  it('finds things of any number by the beginnings of their ids', async () => {
    const { id } = await sdk.sandboxRuns.create(teamId, { command: ['true'] });
    for (const text of [id, id.slice(0, 20)])
      expect(await sdk.teams.search(teamId, text)).toEqual([{ kind: 'run', id }]);
    expect(await sdk.teams.search(teamId, environmentId)).toMatchObject([{ id: environmentId }]);
    const [release] = await sdk.releases.list(projectId);
    expect(await sdk.teams.search(teamId, String(release?.id))).toMatchObject([
      { name: '7.1.0-Heron', projectId },
    ]);
    await sdk.sandboxRuns.cancel(id);
  });

  it('shows what the credential and the role may see, and nothing of other teams', async () => {
    const { secret } = await newKey(w.server, w.owner.token, { scopes: ['team:read', 'runner:read'] });
    expect(await found('heron', w.as(secret))).toEqual(['runner group old-herons']);
    const stranger = await w.stranger();
    expect(await refused(stranger.sdk.teams.search(teamId, 'heron'))).toBe('404 not_found');
    expect(await stranger.sdk.teams.search(stranger.teamId, 'heron')).toEqual([]);
    expect(await stranger.sdk.teams.search(stranger.teamId, environmentId)).toEqual([]);
  });
});

describe.skipIf(!(await has('postgres')))('the search of a team without a platform feature', () => {
  const { server, call } = useServer();

  it('finds nothing that its RPCs would not show', async () => {
    const { teamId, apiKey } = server.first;
    const kinds = async () => {
      const { body } = await call(apiKey, `GET /teams/${teamId}/search?text=heron`);
      return (body['hits'] as Array<{ kind: string }>).map(({ kind }) => kind);
    };
    const repository = { repositoryHost: 'github.com', repositoryPath: 'acme/heron' };
    const made = [
      await call(apiKey, 'POST /projects', { teamId, name: 'heron' }),
      await call(apiKey, `POST /teams/${teamId}/runner-groups`, { name: 'herons' }),
      await call(apiKey, `POST /teams/${teamId}/ci/connections`, { provider: 'github', ...repository }),
    ];
    expect(made.map(({ status }) => status)).toEqual([201, 201, 201]);
    expect(await kinds()).toEqual(['project', 'runner group', 'CI connection']);
    for (const key of ['host.ci', 'host.runners']) await setFeature(server, key, 'disabled');
    expect(await kinds()).toEqual(['project']);
  });
});
