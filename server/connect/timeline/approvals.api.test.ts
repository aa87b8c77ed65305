/** Builds whose deploy a person decides about, in the timeline. */
import { beforeAll, describe, expect, it } from 'vitest';
import type { TimelineEntry } from '@svc/sdk';
import type { ScriptedRunner } from '../../../test/setup/builds/scripted-runner.ts';
import { has } from '../../../test/setup/needs.ts';
import { world, type World } from '../../../test/setup/world.ts';

describe.skipIf(!(await has('postgres')))('builds with an approval in the timeline', () => {
  let w: World;
  let runner: ScriptedRunner;
  let environmentId: string;

  beforeAll(async () => {
    w = await world();
    runner = await w.runner();
    const environment = await w.sdk.environments.create(w.projectId, {
      name: 'guarded',
      repository: 'https://git.example.com/acme/guarded',
      deploy: { kind: 'container', app: 'guarded' },
      deployApproval: true,
      allowSelfApproval: true,
    });
    environmentId = environment.id;
  });

  const entryOf = async (buildId: string): Promise<TimelineEntry | undefined> =>
    (await w.sdk.timeline.get(environmentId)).entries.find(({ id }) => id === buildId);
  const published = async () => {
    const { id } = await w.sdk.builds.create(environmentId);
    await runner.finish(await runner.take());
    const build = await w.sdk.builds.get(environmentId, id);
    expect(build).toMatchObject({ state: 'awaiting_approval', attempt: 1 });
    return build;
  };

  it('has the start of an approved build from when a runner first began it, and counts the attempt that deploys it', async () => {
    const { id, startedAt } = await published();
    expect(await entryOf(id)).toMatchObject({ status: 'awaiting_approval', blocked: true, startedAt });
    await w.sdk.builds.deployApproval(environmentId, id, 'approve');
    expect(await entryOf(id)).toMatchObject({ status: 'queued', startedAt, attempt: 1 });
    await runner.finish(await runner.take());
    const ended = await w.sdk.builds.get(environmentId, id);
    expect(ended).toMatchObject({ state: 'succeeded', startedAt, attempt: 2 });
    const { finishedAt, runnerName } = ended;
    expect(await entryOf(id)).toMatchObject({
      status: 'succeeded',
      reason: 'exit',
      startedAt,
      finishedAt,
      attempt: 2,
      runnerName,
    });
  });

  it('says of a build that it was rejected, and of a rollback that never ran no start', async () => {
    const { id, startedAt } = await published();
    expect(await entryOf(id)).not.toHaveProperty('reason');
    await w.sdk.builds.deployApproval(environmentId, id, 'reject');
    expect(await entryOf(id)).toMatchObject({ status: 'cancelled', reason: 'rejected', startedAt });

    const [target] = (await w.sdk.builds.list(environmentId)).filter(({ state }) => state === 'succeeded');
    const rollback = await w.sdk.builds.rollback(environmentId, target?.id ?? '');
    await w.sdk.builds.deployApproval(environmentId, rollback.id, 'reject');
    const entry = await entryOf(rollback.id);
    expect(entry).toMatchObject({ status: 'cancelled', reason: 'rejected' });
    expect(entry).not.toHaveProperty('startedAt');
    expect(entry).not.toHaveProperty('durationMs');
  });

  it('says cancelled, and not rejected, of a build that was cancelled while it waited for a person', async () => {
    const { id } = await published();
    await w.sdk.builds.cancel(environmentId, id);
    expect(await entryOf(id)).toMatchObject({ status: 'cancelled', reason: 'cancelled' });
  });
});
