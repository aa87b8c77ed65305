/**
 * Statements for callers find nothing of another team, also when a handler hands them its ids without a
 * check.
 */
import { eq } from 'drizzle-orm';
import { beforeAll, describe, expect, it } from 'vitest';
import { has } from '../../../test/setup/needs.ts';
import { ownServer } from '../../../test/setup/engine/own-server.ts';
import { systemClock } from '../../base/clock.ts';
import { systemScope } from '../../kit/authorise.ts';
import { readTimeline } from '../timeline/store.ts';
import {
  connectionOfRepository,
  connectionRows,
  countConnections,
  insertConnection,
} from '../connections/rows.ts';
import { pipelineRows } from '../pipelines/index.ts';
import { placeRuns } from './environment.ts';
import { listJobs } from './jobs-store.ts';
import { findNamedRun, findRun, listPipelines, listRuns } from './runs-store.ts';
import { ciConnections } from '../connections/schema.ts';

const refusedAsMissing = (error: unknown): undefined => {
  expect(error).toMatchObject({ code: 'not_found' });
  return undefined;
};

const PAGE = { take: 10, after: undefined };

describe.runIf(await has('postgres'))('with the ids of another team', () => {
  const { server, ok, made, connection } = ownServer();
  let connectionId: string;
  let environmentId: string;
  let run: { readonly id: string; readonly pipelineId: string };

  beforeAll(async () => {
    const projectId = await made('POST /projects', { name: 'app', teamId: server.first.teamId });
    environmentId = await made(`POST /projects/${projectId}/environments`, { name: 'e' });
    connectionId = await connection('acme/app');
    const reported = { ciConnectionId: connectionId, externalRunId: '1', environmentId };
    run = await ok<typeof run>('POST /ci/runs', reported);
    await ok(`POST /ci/runs/${run.id}/jobs`, { jobs: [{ name: 'unit' }] });
  });

  const found = async (teamId: string) => {
    const { db } = server;
    const scope = systemScope(teamId);
    const who = { db, teams: scope };
    const connection = await connectionRows.find(
      { db, teams: systemScope(server.first.teamId) },
      connectionId,
    );
    const seen = async (work: Promise<{ readonly id: string }>) =>
      await work.then(({ id }) => id, refusedAsMissing);
    const name = { connectionId, externalRunId: '1', externalAttempt: 1 };
    return {
      connection: await seen(connectionRows.find(who, connectionId)),
      ofRepository: (await connectionOfRepository(who, connection))?.id,
      locked: await seen(connectionRows.lock(who, connectionId)),
      count: await countConnections(who, server.first.teamId),
      connections: (await connectionRows.list(who, { where: eq(ciConnections.teamId, server.first.teamId) }))
        .length,
      pipeline: await seen(pipelineRows.find(who, run.pipelineId)),
      pipelines: (await listPipelines(db, scope, { ...PAGE, connectionId })).length,
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
    const [ours, theirs] = [
      { db, teams: own },
      { db, teams: other, clock: systemClock },
    ];
    const before = await connectionRows.find(ours, connectionId);
    await expect(insertConnection(theirs, before)).rejects.toMatchObject({ code: 'not_found' });
    const set = { defaultBranch: 'theirs' };
    expect(await connectionRows.update(theirs, connectionId, { set })).toBeUndefined();
    await placeRuns(db, other, before);
    expect(await connectionRows.remove(theirs, connectionId)).toBeUndefined();
    expect(await connectionRows.find(ours, connectionId)).toEqual(before);
  });
});
