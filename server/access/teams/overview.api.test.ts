/** Here people look at a team at a glance, from its first day until it deploys. */
import type { SvcSDK, TeamsOverviewResponse } from '@svc/sdk';
import { beforeAll, describe, expect, it } from 'vitest';
import { has } from '../../../test/setup/needs.ts';
import { newKey } from '../../../test/setup/people.ts';
import { setFeature } from '../../../test/setup/features.ts';
import { refused } from '../../../test/setup/refused.ts';
import { waitFor } from '../../../test/setup/wait-for.ts';
import { useServer } from '../../../test/setup/use-server.ts';
import { world, type World } from '../../../test/setup/world.ts';

describe.skipIf(!(await has('postgres')))('the overview of a team', () => {
  let w: World;
  let { sdk, teamId, projectId } = {} as World;
  const seen = async (as: SvcSDK = sdk): Promise<TeamsOverviewResponse> => await as.teams.overview(teamId);
  const done = ({ steps }: TeamsOverviewResponse): string[] =>
    steps.map(({ kind, done: isDone }) => `${kind} ${isDone}`);

  beforeAll(async () => {
    w = await world();
    ({ sdk, teamId, projectId } = w);
  });

  it('says what is to be set up, what goes on and why it waits', async () => {
    const first = await seen();
    expect(done(first)).toEqual([
      'region false',
      'run false',
      'project true',
      'build false',
      'ci_connection false',
    ]);
    expect(first).toMatchObject({ needsYou: [], now: [], environments: [], runners: [] });
    expect(first.monthToDate).toMatchObject({ currency: 'usd', decimals: 2, net: '0.000000000000' });

    const runner = await w.runner();
    const { id: runId } = await sdk.sandboxRuns.create(teamId, { command: ['echo', 'of the overview'] });
    const { id: environmentId } = await sdk.environments.create(projectId, {
      name: 'production',
      repository: 'https://git.example.com/acme/web.git',
      deploy: { kind: 'container', app: 'overview' },
    });
    const build = await sdk.builds.create(environmentId);
    const waiting = await seen();
    expect(done(waiting)).toEqual([
      'region true',
      'runner true',
      'run false',
      'project true',
      'build true',
      'ci_connection false',
    ]);
    expect(waiting.runners).toEqual([{ health: 'live', count: 1 }]);
    expect(waiting.now.map(({ id }) => id)).toEqual([runId, build.id]);
    expect(waiting.now[0]).toMatchObject({
      kind: 'run',
      text: 'echo of the overview',
      state: 'queued',
      waitingReason: 'dispatching',
    });
    expect(waiting.now[1]).toMatchObject({ kind: 'build', text: '#1 of main', environmentId });

    const offer = await runner.take();
    expect(await runner.beat(offer, 'cloning')).toBe('ok');
    const working = await seen();
    expect(working.now[0]).toMatchObject({ id: build.id, state: 'running' });
    expect(working.now[0]).not.toHaveProperty('waitingReason');
    expect(working.now[1]).toMatchObject({ id: runId, state: 'queued' });
    await runner.finish(offer);
    expect((await seen()).now.map(({ id }) => id)).toEqual([runId]);
    const deployed = async () => (await seen()).environments;
    expect(await waitFor('what runs there', deployed, { holds: (some) => some.length > 0 })).toEqual([
      expect.objectContaining({
        id: environmentId,
        name: 'production',
        projectName: 'web',
        buildId: build.id,
        url: 'http://10.0.0.7:32768',
      }),
    ]);
  });

  it('shows what waits for the person as the inbox does', async () => {
    const { needsYou } = await seen();
    expect(needsYou).toEqual((await sdk.teams.inbox(teamId)).slice(0, 10));
  });

  it('shows what the credential and the role may see, and nothing of other teams', async () => {
    const { secret } = await newKey(w.server, w.owner.token, { scopes: ['team:read', 'runner:read'] });
    const narrow = await seen(w.as(secret));
    expect(done(narrow)).toEqual(['region true', 'runner true']);
    expect(narrow).toMatchObject({ now: [], environments: [], runners: [{ health: 'live', count: 1 }] });
    expect(narrow).not.toHaveProperty('monthToDate');
    const stranger = await w.stranger();
    expect(await refused(stranger.sdk.teams.overview(teamId))).toBe('404 not_found');
    expect(await stranger.sdk.teams.overview(stranger.teamId)).toMatchObject({ now: [], environments: [] });
  });
});

describe.skipIf(!(await has('postgres')))('the overview of a team without a platform feature', () => {
  const { server, call } = useServer();

  it('says nothing that its RPCs would not show', async () => {
    const { teamId, apiKey } = server.first;
    const kinds = async () => {
      const { body } = await call(apiKey, `GET /teams/${teamId}/overview`);
      return (body['steps'] as Array<{ kind: string }>).map(({ kind }) => kind);
    };
    expect(await kinds()).toEqual(['region', 'run', 'project', 'build', 'ci_connection']);
    for (const key of ['host.ci', 'host.runners']) await setFeature(server, key, 'disabled');
    expect(await kinds()).toEqual(['run', 'project', 'build']);
  });
});
