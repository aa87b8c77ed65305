/** These tests show what is true of jobs of connections whatever they do. */
import { describe, expect, it } from 'vitest';
import { ownBackground } from '../../../test/setup/forges/background.ts';
import { fakeHooks, githubHooks } from '../../../test/setup/forges/github-hooks.ts';
import { has } from '../../../test/setup/needs.ts';
import { connectionJob } from './background.ts';
import type { Job } from '../../kit/jobs/index.ts';
import { ForgeError, type ForgeProblem } from '../providers/forges/call.ts';

const TOKEN = 'token-of-the-host';
const PATH = 'acme/app';

describe.skipIf(!(await has('postgres')))('jobs of a connection', () => {
  const background = ownBackground();

  const connected = async () => {
    const forge = await background.startForge(githubHooks(fakeHooks(TOKEN, PATH)));
    const wanted = { provider: 'github', host: 'github.com', path: PATH, token: TOKEN, apiUrl: forge.url };
    return { id: await background.connect({ ...wanted, ingestMode: 'both' }), forge };
  };
  const waiting = async () =>
    (
      await background.server.db.sql`select kind, attempts from jobs where state = 'waiting' order by kind`
    ).map((row) => [row['kind'], row['attempts']]);

  it('leave a host alone for as long as it asks, whichever of them was told so', async () => {
    const { id, forge } = await connected();
    let isBusy = true;
    forge.instead(() => (isBusy ? { status: 429, headers: { 'retry-after': '50' } } : undefined));
    await background.work();
    const asked = forge.asked.length;
    isBusy = false;
    await background.call(`POST /ci/connections/${id}/discover`);
    await background.work();
    expect(forge.asked).toHaveLength(asked);
    // A job that was not tried counts no attempt.
    expect(await waiting()).toEqual([
      ['ci_discover', 0],
      ['ci_subscribe', 1],
    ]);
    background.later(51_000);
    await background.work();
    expect(forge.asked.length).toBeGreaterThan(asked);
    expect(await waiting()).toEqual([]);
  });

  it('are done when their connection is gone, unless they bring what they need of it', async () => {
    const { id, forge } = await connected();
    await background.work();
    const asked = forge.asked.length;
    await background.call(`POST /ci/connections/${id}/discover`);
    expect((await background.call(`DELETE /ci/connections/${id}`)).status).toBe(204);
    expect(await waiting()).toEqual([
      ['ci_discover', 0],
      ['ci_unsubscribe', 0],
    ]);
    await background.work();
    expect(forge.asked.slice(asked).map(({ method }) => method)).toEqual(['DELETE']);
    expect(await waiting()).toEqual([]);
  });

  it.each([
    ['its last attempt', 'rate_limited', { retryInMs: undefined }],
    ['more than its patience', 'rate_limited', { retryInMs: 5_000 }],
    ['a failure that will not pass', 'forbidden', { retryInMs: 5_000 }],
  ] as const)('keep nobody else waiting for %s', async (_what, problem: ForgeProblem, { retryInMs }) => {
    const { id } = await connected();
    const { server, clock } = background;
    const error = new ForgeError(problem, 'no', { retryInMs: 90_000 });
    const kind = connectionJob(
      { db: server.db, clock },
      {
        kind: 'ci_discover',
        patienceMs: retryInMs === undefined ? 100_000 : 60_000,
        run: async () => await Promise.reject(error),
        gaveUp: async () => undefined,
      },
    );
    const job = { payload: { connectionId: id }, retryInMs } as unknown as Job;
    await expect(kind.run(job, new AbortController().signal)).rejects.toBe(error);
    const [row] = await server.db.sql`select quiet_until as until from ci_connections where id = ${id}`;
    expect(row?.['until']).toBeNull();
  });
});
