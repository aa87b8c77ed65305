/** Jobs that wait for a person when their run ends. */
import { describe, expect, it } from 'vitest';
import { has } from '../../../test/setup/needs.ts';
import { ownServer } from '../../../test/setup/engine/own-server.ts';
import { hook, type Hooked } from '../../../test/setup/ci/hooked.ts';

interface Jobs {
  readonly test: string;
  /** A manual job. */
  readonly deploy: string;
}

/** Makes a pipeline; `end` counts the seconds of its last end. */
const pipeline = (status: string, end: number | null, { test, deploy }: Jobs) => ({
  object_kind: 'pipeline',
  object_attributes: {
    id: 31,
    status,
    ref: 'main',
    finished_at: end === null ? null : `2026-07-01 10:00:${end} UTC`,
  },
  project: { id: 7, path_with_namespace: 'acme/app' },
  builds: [
    { id: 10, name: 'test', status: test, created_at: '2026-07-01 10:00:00 UTC' },
    { id: 11, name: 'deploy', status: deploy, created_at: '2026-07-01 10:00:00 UTC' },
  ],
});

describe.skipIf(!(await has('postgres')))('a job that waits for a person', () => {
  const { server, ok } = ownServer();

  const deliver = async (hooked: Hooked, payload: unknown) => {
    await hooked.deliver(payload);
    const run = await hooked.run('31');
    type Page = { jobs: Array<Record<string, unknown>> };
    const { jobs } = await ok<Page>(`GET /ci/runs/${String(run['id'])}/jobs`);
    return { run, jobs: Object.fromEntries(jobs.map((job) => [String(job['name']), job])) };
  };
  const waits = { status: 'queued', blocked: true, reason: 'approval' };

  it('is no orphan of its run, and opens it again when somebody starts it', async () => {
    const hooked = await hook(server, 'gitlab');
    await deliver(hooked, pipeline('running', null, { test: 'running', deploy: 'manual' }));
    const ended = await deliver(hooked, pipeline('success', 20, { test: 'success', deploy: 'manual' }));
    expect(ended.run).toMatchObject({ status: 'success' });
    expect(ended.jobs['deploy']).toMatchObject(waits);
    expect(ended.jobs['deploy']).not.toHaveProperty('finishedAt');
    const played = await deliver(hooked, pipeline('running', 20, { test: 'success', deploy: 'running' }));
    expect(played.run).toMatchObject({ status: 'running' });
    expect(played.jobs['deploy']).toMatchObject({ status: 'running', blocked: false });
    const failed = await deliver(hooked, pipeline('failed', 40, { test: 'success', deploy: 'failed' }));
    expect(failed.run).toMatchObject({ status: 'failed' });
    expect(failed.jobs['deploy']).toMatchObject({ status: 'failed' });
  });

  it('waits also when it is first reported after the end, while others end with their run', async () => {
    const hooked = await hook(server, 'gitlab', { repositoryHost: 'other.example.com' });
    const { jobs } = await deliver(hooked, pipeline('canceled', 20, { test: 'running', deploy: 'manual' }));
    expect(jobs['deploy']).toMatchObject(waits);
    expect(jobs['test']).toMatchObject({ status: 'cancelled', reason: 'run_ended' });
    const again = pipeline('failed', 30, { test: 'running', deploy: 'manual' });
    const { jobs: later } = await deliver(hooked, again);
    expect(later['deploy']).toMatchObject(waits);
    expect(later['test']).toMatchObject({ status: 'failed', reason: 'run_ended' });
  });
});
