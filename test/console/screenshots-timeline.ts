/** Takes pictures of the timeline, with a morning of commits behind it. */
import { setColumns } from '../setup/columns.ts';
import type { BrowserContextOptions } from 'playwright-core';
import type { Console } from './console.ts';
import { startFleet, type Fleet } from './fleet.ts';
import { startReporting, type Report } from './reports.ts';
import type { Shoot } from './screenshots-fleet.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;

/** Commits of the morning, the newest first. */
const COMMITS = {
  head: { commitSha: '4be1c9d07a3f5be2b6b1f6a0a4f1f9a64c1d2e3f', branch: 'main', actor: 'kim' },
  basket: { commitSha: '9d02c77ea81f0b4de2a4b7f1c66a1e1f0b8f5a30', branch: 'main', actor: 'ada' },
  prices: { commitSha: 'c81fa60b7d5e4a2098b1d43a7f6e5c4b3a291807', branch: 'prices-in-yen', actor: 'kim' },
  search: { commitSha: '17ab03fe55d24c6f8e9a0b1c2d3e4f5061728394', branch: 'main', actor: 'ada' },
};

/** Takes some seconds. */
export async function playTimeline(console_: Console): Promise<{ fleet: Fleet; environmentId: string }> {
  const fleet = await startFleet(console_, 'Shop');
  const report = await startReporting(console_, fleet);
  const { sql } = console_.server.db;
  const environmentId = await fleet.environment('production', {
    repository: 'https://github.com/acme/shop.git',
    deploy: { kind: 'container', app: 'shop' },
  });
  await fleet.environment('staging');
  const now = Date.now();
  const ago = (ms: number): Date => new Date(now - ms);
  const connections = {
    github: await fleet.connect('github'),
    buildkite: await fleet.connect('buildkite'),
  };
  /** A run that began to wait so long ago, waited and ran. */
  const run = async (
    more: Partial<Report> & { readonly provider?: keyof typeof connections },
    [agoMs, waitedMs, ranMs]: readonly [number, number, number?],
    columns: Readonly<Record<string, unknown>> = {},
  ): Promise<void> => {
    const { provider = 'github', ...reported } = more;
    const id = await report({
      ciConnectionId: connections[provider],
      environmentId,
      trigger: 'push',
      ...(provider === 'github' && { externalUrl: 'https://github.com/acme/shop/actions/runs/1' }),
      ...reported,
    });
    const started = agoMs - waitedMs;
    const times = {
      occurred_at: ago(agoMs),
      queued_at: ago(agoMs),
      started_at: ago(started),
      ...(ranMs !== undefined && { finished_at: ago(started - ranMs), duration_ms: ranMs }),
      ...columns,
    };
    await setColumns(sql, 'ci_runs', { id, ...times });
  };
  const build = async (
    commit: string,
    [agoMs, waitedMs, ranMs]: readonly [number, number, number?],
  ): Promise<{ id: string; workId: string }> => {
    const { id } = await fleet.ok<{ id: string }>(`POST /environments/${environmentId}/builds`, { commit });
    const offer = await runner.take();
    if (ranMs === undefined) await runner.beat(offer, 'building');
    else await runner.finish(offer, { commit, address: 'http://10.0.0.7:32768' });
    const [row] = await sql<Array<{ work: string }>>`
      update builds set created_at = ${ago(agoMs)}, finished_at = ${ranMs === undefined ? null : ago(agoMs - waitedMs - ranMs)}
      where id = ${id} returning work_id as work`;
    const workId = row?.work ?? '';
    await sql`update work_items set started_at = ${ago(agoMs - waitedMs)} where id = ${workId}`;
    return { id, workId };
  };
  const runner = await fleet.runner('berlin-1');
  const { search, prices, basket, head } = COMMITS;
  await run({ ...search, pipelineName: 'tests', status: 'success' }, [
    190 * MINUTE,
    8 * SECOND,
    232 * SECOND,
  ]);
  await run(
    { provider: 'buildkite', ...search, pipelineName: 'e2e', status: 'unknown' },
    [190 * MINUTE, 95 * SECOND],
    {
      finished_at: null,
      reason: 'lost',
      lost: true,
    },
  );
  await build(search.commitSha, [182 * MINUTE, 2 * SECOND, 171 * SECOND]);
  await run({ ...prices, pipelineName: 'tests', status: 'failed' }, [96 * MINUTE, 11 * SECOND, 74 * SECOND]);
  await run({ ...prices, pipelineName: 'lint', status: 'success' }, [96 * MINUTE, 9 * SECOND, 31 * SECOND], {
    soft: true,
  });
  await run(
    { ...basket, pipelineName: 'tests', status: 'failed', trigger: 'push' },
    [52 * MINUTE, 7 * SECOND, 88 * SECOND],
    {
      reason: 'timed_out',
    },
  );
  await run({ ...basket, pipelineName: 'tests', status: 'success', externalAttempt: 2, trigger: 'retry' }, [
    44 * MINUTE,
    64 * SECOND,
    241 * SECOND,
  ]);
  await run({ provider: 'buildkite', ...basket, pipelineName: 'e2e', status: 'cancelled' }, [
    43 * MINUTE,
    14 * SECOND,
    39 * SECOND,
  ]);
  await build(basket.commitSha, [39 * MINUTE, 5 * SECOND, 163 * SECOND]);
  await run({ ...head, pipelineName: 'deploy to production', status: 'queued' }, [150 * SECOND, 0], {
    started_at: null,
    blocked: true,
    reason: 'approval',
  });
  await run({ ...head, pipelineName: 'tests', status: 'running' }, [149 * SECOND, 21 * SECOND], {
    trigger: 'merge_group',
  });
  await run({ ...head, pipelineName: 'lint', status: 'success' }, [149 * SECOND, 6 * SECOND, 28 * SECOND]);
  await build(head.commitSha, [66 * SECOND, 4 * SECOND]);
  return { fleet, environmentId };
}

export async function shootTimeline(
  { fleet, environmentId }: { readonly fleet: Fleet; readonly environmentId: string },
  options: BrowserContextOptions,
  shoot: Shoot,
): Promise<void> {
  const { page, close } = await fleet.open(`/console/timeline?env=${environmentId}`, fleet.owner, options);
  await page.getByText('live', { exact: true }).waitFor();
  await page.getByRole('link', { name: 'Build 3' }).waitFor();
  await shoot(page, 'timeline');
  const { environments } = await fleet.ok<{ environments: Array<{ id: string; name: string }> }>(
    `GET /projects/${fleet.projectId}/environments`,
  );
  const empty = environments.find(({ name }) => name === 'staging')?.id ?? '';
  await page.goto(`/console/timeline?env=${empty}`);
  await page.getByText('live', { exact: true }).waitFor();
  await shoot(page, 'timeline-empty');
  await close();
}
