/** The timeline as it is watched: over the real door, through the SDK. */
import type { TimelineEvent } from '@svc/sdk';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { setFeature } from '../../../test/setup/features.ts';
import { has } from '../../../test/setup/needs.ts';
import { join, newKey, stranger } from '../../../test/setup/people.ts';
import { ownServer } from '../../../test/setup/engine/own-server.ts';
import { listen, type Listening } from '../../../test/setup/told.ts';
import { systemScope } from '../../kit/authorise.ts';
import { createTimelineWatches, watchTimeline } from './watch.ts';
import { TIMED } from '../../../test/setup/timed.ts';

const CHANGE_WITHIN_MS = 2_000;

describe.skipIf(!(await has('postgres')))('timeline.watch', () => {
  const { server, call, made, connection, sdk } = ownServer();
  let environmentId: string;
  let ciConnectionId: string;
  const leaving = new AbortController();

  beforeAll(async () => {
    environmentId = await environment('e');
  });
  afterAll(() => leaving.abort());

  const post = async (path: string, body: object) => await made(`POST ${path}`, body);
  /** Makes an environment with a connection of its own. */
  const environment = async (name: string): Promise<string> => {
    const projectId = await post('/projects', { name, teamId: server.first.teamId });
    ciConnectionId = await connection(`acme/${name}`, { projectId });
    return await post(`/projects/${projectId}/environments`, {
      name: 'production',
      repository: `https://github.com/acme/${name}`,
    });
  };
  const report = async (externalRunId: string, more: object = {}): Promise<string> =>
    await post('/ci/runs', {
      ciConnectionId,
      environmentId,
      externalRunId,
      branch: 'main',
      commitSha: 'a'.repeat(40),
      status: 'running',
      ...more,
    });
  const watch = (token?: string, params: { limit?: number } = {}): Listening<TimelineEvent> =>
    listen(sdk(token).timeline.watch(environmentId, params, { signal: leaving.signal }));
  const ids = ({ entries }: TimelineEvent): string[] => entries.map(({ id }) => id);

  it(
    'begins with what there is, and tells what is new and what changed within two seconds',
    TIMED,
    async () => {
      const old = await report('1');
      const told = watch();
      const first = await told.event('the present', () => true);
      expect([ids(first), first.gone]).toEqual([[old], []]);
      expect(first.entries[0]).toMatchObject({ kind: 'ci_run', ciStatus: 'running', provider: 'github' });

      const fresh = await report('2');
      const began = Date.now();
      const second = await told.event('the new run', (event) => ids(event).includes(fresh));
      expect(ids(second)).toEqual([fresh]);
      expect((told.times[told.events.indexOf(second)] ?? 0) - began).toBeLessThan(CHANGE_WITHIN_MS);

      await post(`/ci/runs/${old}/complete`, { status: 'failed', durationMs: 500 });
      const third = await told.event('the end', ({ entries }) =>
        entries.some(({ status }) => status === 'failed'),
      );
      expect([ids(third), third.entries[0]?.durationMs]).toEqual([[old], 500]);
      expect(new Set(told.events.map(({ position }) => position)).size).toBe(told.events.length);
    },
  );

  it('names what was pushed out of the watched ones', async () => {
    const told = watch(undefined, { limit: 1 });
    const [shown = ''] = ids(await told.event('the present', () => true));
    const fresh = await report('3');
    const pushed = await told.event('the new run', (event) => ids(event).includes(fresh));
    expect([ids(pushed), pushed.gone]).toEqual([[fresh], [shown]]);
  });

  it('names the same state alike to whoever watches, whenever they came', async () => {
    const [one, other] = [watch(), watch()];
    const positions = await Promise.all(
      [one, other].map(async (told) => (await told.event('the present', () => true)).position),
    );
    expect(positions[0]).toMatch(/^[\w-]{22}$/);
    expect(positions[1]).toBe(positions[0]);
  });

  it('costs one look a period however many watch', async () => {
    const { db } = server;
    let looks = 0;
    const sql = new Proxy(db.sql, {
      apply: (target, self, args: unknown[]) => {
        if (String(args[0]).includes('entries')) looks += 1;
        return Reflect.apply(target as never, self, args) as unknown;
      },
    });
    const counted = { ...db, sql } as typeof db;
    const teams = systemScope(server.first.teamId);
    const watches = createTimelineWatches(() => true);
    const watchers = Array.from({ length: 20 }, (_each, n) =>
      watchTimeline(
        watches,
        { db: counted, teams, environmentId, limit: n + 1 },
        new AbortController().signal,
      ),
    );
    await Promise.all(watchers.map(async (watcher) => await watcher.next()));
    expect(looks).toBeLessThanOrEqual(2);
    const changed = Promise.all(watchers.map(async (watcher) => await watcher.next()));
    const before = looks;
    await report('4');
    await changed;
    // One finds the change; it may have begun a moment before it.
    expect(looks - before).toBeLessThanOrEqual(3);
    await Promise.all(watchers.map(async (watcher) => await watcher.return(undefined)));
  });

  it('is for whoever may read the timeline, and ends when they may no more', async () => {
    const other = await stranger(server);
    expect(await watch(other.token).ended).toBe('not_found');
    const { teamId, apiKey } = server.first;
    const member = await join(server, apiKey, { teamId, role: 'viewer' });
    const key = await newKey(server, member.token);
    const [byKey, bySession] = [watch(key.secret), watch(member.token)];
    await Promise.all([byKey, bySession].map(async (told) => await told.event('the present', () => true)));
    expect((await call(`DELETE /api-keys/${key.id}`, undefined, member.token)).status).toBe(204);
    expect(await byKey.ended).toBe('credentials_invalid');
    expect((await call(`DELETE /teams/${teamId}/members/${member.userId}`)).status).toBe(204);
    expect(await bySession.ended).toBe('unavailable');
    expect(await watch(member.token).ended).toBe('not_found');
  });

  it('ends when its environment is deleted', async () => {
    environmentId = await environment('short-lived');
    const told = watch();
    await told.event('the present', () => true);
    expect((await call(`DELETE /environments/${environmentId}`)).status).toBe(204);
    expect(await told.ended).toBe('not_found');
    environmentId = await environment('next');
  });

  it('shows builds alone while host.ci is off, and the runs again after that', async () => {
    const run = await report('gated');
    const build = await post(`/environments/${environmentId}/builds`, { commit: 'a'.repeat(40) });
    const told = watch();
    await told.event('both', ({ entries }) =>
      [run, build].every((id) => entries.some((one) => one.id === id)),
    );
    const page = async () => {
      const { status, body } = await call(`GET /environments/${environmentId}/timeline`);
      return [status, (body['entries'] as Array<{ kind: string }>).map(({ kind }) => kind)];
    };
    await setFeature(server, 'host.ci', 'disabled');
    await told.event('the runs gone', ({ gone }) => gone.includes(run) && !gone.includes(build));
    expect(await page()).toEqual([200, ['build']]);
    await watch().event('builds alone', ({ entries }) => entries.every(({ kind }) => kind === 'build'));
    await setFeature(server, 'host.ci', 'enabled');
    await told.event('the runs again', ({ entries }) => entries.some(({ id }) => id === run));
    expect(await page()).toEqual([200, expect.arrayContaining(['build', 'ci_run'])]);
  });
});
