/** Statements for callers find nothing of another team, also when a handler hands them its ids without a check. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { has } from '../../../test/setup/needs.ts';
import { startTestServer } from '../../../test/setup/server.ts';
import type { TestServer } from '../../../test/setup/server.ts';
import { systemScope } from '../../kit/authorise.ts';
import { readTimeline } from '../timeline/store.ts';
import * as connections from './connections-store.ts';
import { placeRuns } from './environment.ts';
import { listJobs } from './jobs-store.ts';
import { findNamedRun, findRun, listRuns } from './runs-store.ts';

const PAGE = { take: 10, after: undefined };

describe.runIf(await has('postgres'))('with the ids of another team', () => {
  let server: TestServer;
  let connectionId: string;
  let environmentId: string;
  let run: { readonly id: string; readonly pipelineId: string };

  const post = async (path: string, body: object) => {
    const made = await server.call(`POST ${path}`, { as: server.first.apiKey, body });
    expect(made.status, made.text).toBeLessThan(300);
    return made.body;
  };

  beforeAll(async () => {
    server = await startTestServer();
    const { teamId } = server.first;
    const { id: projectId } = await post('/projects', { name: 'app', teamId });
    ({ id: environmentId } = (await post(`/projects/${projectId}/environments`, { name: 'e' })) as {
      id: string;
    });
    const repository = { repositoryHost: 'github.com', repositoryPath: 'acme/app' };
    const made = await post(`/teams/${teamId}/ci/connections`, { provider: 'github', ...repository });
    connectionId = String(made['id']);
    const reported = { ciConnectionId: connectionId, externalRunId: '1', environmentId };
    run = (await post('/ci/runs', reported)) as unknown as typeof run;
    await post(`/ci/runs/${run.id}/jobs`, { jobs: [{ name: 'unit' }] });
  });
  afterAll(async () => await server.stop());

  const found = async (teamId: string) => {
    const { db } = server;
    const scope = systemScope(teamId);
    const connection = await connections.findConnection(db, systemScope(server.first.teamId), connectionId);
    if (connection === undefined) throw new Error('no connection');
    const name = { connectionId, externalRunId: '1', externalAttempt: 1 };
    return {
      connection: (await connections.findConnection(db, scope, connectionId))?.id,
      ofRepository: (await connections.findConnectionOfRepository(db, scope, connection))?.id,
      locked: (await connections.lockConnection(db, scope, connectionId))?.id,
      count: await connections.countConnections(db, scope, server.first.teamId),
      connections: (await connections.listConnections(db, scope, { ...PAGE, teamId: server.first.teamId }))
        .length,
      pipeline: (await connections.findPipeline(db, scope, run.pipelineId))?.id,
      pipelines: (await connections.listPipelines(db, scope, { ...PAGE, connectionId })).length,
      run: (await findRun(db, scope, run.id))?.id,
      named: (await findNamedRun(db, scope, name))?.id,
      runs: (await listRuns(db, scope, { ...PAGE, of: { pipelineId: run.pipelineId } })).length,
      jobs: (await listJobs(db, scope, { ...PAGE, runId: run.id })).length,
      timeline: (
        await readTimeline(db, scope, { environmentId, before: undefined, take: 10, withRuns: true })
      ).length,
    };
  };

  it('reads nothing', async () => {
    expect(await found(server.first.teamId)).toEqual({
      connection: connectionId,
      ofRepository: connectionId,
      locked: connectionId,
      count: 1,
      connections: 1,
      pipeline: run.pipelineId,
      pipelines: 1,
      run: run.id,
      named: run.id,
      runs: 1,
      jobs: 1,
      timeline: 1,
    });
    const nothing = { count: 0, connections: 0, pipelines: 0, runs: 0, jobs: 0, timeline: 0 };
    expect(await found('team_other')).toEqual(nothing);
  });

  it('changes nothing', async () => {
    const { db } = server;
    const [own, other] = [systemScope(server.first.teamId), systemScope('team_other')];
    const before = await connections.findConnection(db, own, connectionId);
    if (before === undefined) throw new Error('no connection');
    await expect(connections.insertConnection(db, other, before)).rejects.toMatchObject({
      code: 'not_found',
    });
    await connections.updateConnection(db, other, { ...before, defaultBranch: 'theirs' });
    await placeRuns(db, other, before);
    expect(await connections.deleteConnection(db, other, connectionId)).toBe(false);
    expect(await connections.findConnection(db, own, connectionId)).toEqual(before);
  });
});
