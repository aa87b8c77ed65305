/** A team's runners as they are watched: over the real door, through the SDK. */
import type { RunnersEvent } from '@svc/sdk';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createIndependentRunner } from '../../../test/e2e/independent-runner.ts';
import { setFeature } from '../../../test/setup/features.ts';
import { has } from '../../../test/setup/needs.ts';
import { newKey, revokeKey, stranger } from '../../../test/setup/people.ts';
import { ownServer } from '../../../test/setup/engine/own-server.ts';
import { listen, type Listening } from '../../../test/setup/told.ts';
import { createFakeClock } from '../../../test/setup/clock.ts';
import { defaultWorkSettings } from '../work/index.ts';
import { systemScope } from '../../kit/authorise.ts';
import { createRosterWatches } from './live.ts';
import { TIMED } from '../../../test/setup/timed.ts';
import { world } from '../../../test/setup/world.ts';

const postgresHere = await has('postgres');
const CHANGE_WITHIN_MS = 2_000;

describe.skipIf(!postgresHere)('runners.watch', () => {
  const { server, ok: call, sdk } = ownServer();
  let teamId: string;
  const leaving = new AbortController();
  beforeAll(() => void ({ teamId } = server.first));
  afterAll(() => leaving.abort());

  const enroll = async (name: string) => {
    const { token } = await call(`POST /teams/${teamId}/runners/enroll-tokens`, {});
    const runner = createIndependentRunner(server.baseUrl);
    return { runner, id: await runner.enroll(String(token), name) };
  };
  const watch = (token?: string): Listening<RunnersEvent> =>
    listen(sdk(token).runners.watch(teamId, { signal: leaving.signal }));
  const health = ({ runners }: RunnersEvent): Record<string, string> =>
    Object.fromEntries(runners.map((runner) => [runner.name, runner.health]));

  it(
    'begins with roster and health, and tells of enrolling, pausing and revoking within two seconds',
    TIMED,
    async () => {
      const [told, other] = [watch(), watch()];
      const [first, same] = await Promise.all(
        [told, other].map(async (each) => await each.event('the present', () => true)),
      );
      expect([first?.runners, first?.health.degraded]).toEqual([[], false]);
      expect(same?.position).toBe(first?.position);

      const { id } = await enroll('box');
      await told.event('the new runner', (event) => health(event)['box'] === 'never_seen');
      await call(`POST /teams/${teamId}/runners/${id}/pause`, { note: 'lunch' });
      const began = Date.now();
      const paused = await told.event('the pause', (event) => health(event)['box'] === 'paused');
      expect(paused.runners[0]?.pauseNote).toBe('lunch');
      expect((told.times[told.events.indexOf(paused)] ?? 0) - began).toBeLessThan(CHANGE_WITHIN_MS);
      await call(`DELETE /teams/${teamId}/runners/${id}`);
      await told.event(
        'the revocation',
        (event) => paused !== event && event.runners.length === 0 && event !== first,
      );
      await other.event('the pause', (event) => health(event)['box'] === 'paused');
    },
  );

  it('tells of work that waits', async () => {
    const told = watch();
    await told.event('the present', () => true);
    const { id } = await call(`POST /teams/${teamId}/sandbox-runs`, { command: ['true'] });
    await told.event('the run', (event) => event.health.stuckWork.runs === 1);
    await call(`POST /sandbox-runs/${String(id)}/cancel`);
  });

  it('ends when the credential is revoked, and is there for nobody else', async () => {
    const key = await newKey(server, server.first.apiKey, { scopes: ['runner:read'] });
    const told = watch(key.secret);
    await told.event('the present', () => true);
    expect((await revokeKey(server, server.first.apiKey, key.id)).status).toBe(204);
    expect(await told.ended).toBe('credentials_invalid');
    expect(await watch((await stranger(server)).token).ended).toBe('not_found');
  });

  it('ends as a route that never was when host.runners is switched off', async () => {
    const told = watch();
    await told.event('the present', () => true);
    await setFeature(server, 'host.runners', 'disabled');
    expect(await told.ended).toBe('not_found');
    await setFeature(server, 'host.runners', 'enabled');
  });

  it('bundles what only heartbeats changed, and never what else did', async () => {
    const { id } = await enroll('beating');
    const clock = createFakeClock(new Date());
    let looks = 0;
    const sql = new Proxy(server.db.sql, {
      apply: (target, self, args: unknown[]) => {
        if (String(args[0]).includes('order by r.name')) looks += 1;
        return Reflect.apply(target as never, self, args) as unknown;
      },
    });
    const watches = createRosterWatches(defaultWorkSettings);
    const events: RunnersEvent[] = [];
    const following = (async () => {
      for await (const { event } of watches.watch(
        teamId,
        { sql, clock, scope: systemScope(teamId), teamId },
        leaving.signal,
      ))
        events.push(event as unknown as RunnersEvent);
    })();
    const beat = async (): Promise<void> => {
      await server.db
        .sql`update runners set last_heartbeat_at = clock_timestamp(), last_seen_at = clock_timestamp() where id = ${id}`;
      const before = looks;
      // One look may have begun before it.
      await expect.poll(() => looks, { timeout: 10_000 }).toBeGreaterThan(before + 1);
    };
    await expect.poll(() => events.length).toBe(1);
    // From never seen to live is more than a time.
    await beat();
    expect(events).toHaveLength(2);
    await beat();
    expect(events).toHaveLength(2);
    clock.advance(10_000);
    await beat();
    expect(events).toHaveLength(3);
    await beat();
    await call(`POST /teams/${teamId}/runners/${id}/pause`, {});
    await expect.poll(() => events.length, { timeout: 5_000 }).toBe(4);
    leaving.abort();
    await following;
  });
});

describe.skipIf(!postgresHere)('runners.diagnose', () => {
  it.each([1_500, 2_500])('asks live no longer than a caller of %d ms waits', TIMED, async (timeoutMs) => {
    const { sdk, teamId, server } = await world();
    const { token } = await sdk.runners.createEnrollToken(teamId);
    await createIndependentRunner(server.baseUrl).enroll(token, 'quiet');
    const bundle = await sdk.runners.diagnose(teamId, { live: true }, { timeoutMs });
    expect(bundle).toMatchObject({ liveAnswered: false, runners: [{ name: 'quiet' }] });
  });
});
