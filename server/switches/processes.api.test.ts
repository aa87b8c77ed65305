/** What processes with different environments make of one database, each started as the server starts it. */
import { create } from '@bufbuild/protobuf';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { FeatureDefinition } from '@svc/proto/features/definition.ts';
import type { FeatureKey } from '@svc/proto/features/manifest.ts';
import { WatchRequestSchema } from '@svc/proto/gen/svc/platformfeatures/v1/platformfeatures_pb.ts';
import { createTestDatabase, type TestDatabase } from '../../test/setup/database.ts';
import { has } from '../../test/setup/needs.ts';
import { useServer } from '../../test/setup/use-server.ts';
import { systemClock } from '../base/clock.ts';
import type { Ctx } from '../kit/context.ts';
import { createSecrets } from '../base/secrets.ts';
import { startPlatformFeatures, type PlatformFeatures, type PlatformFeaturesDeps } from './index.ts';
import { operationsOf, REASON } from '../../test/setup/platformfeatures/operations.ts';

const postgresHere = await has('postgres');
const JOB_RUNNER: FeatureKey = 'host.job_runner';

describe.skipIf(!postgresHere)('processes of one installation', () => {
  let database: TestDatabase;
  let running: PlatformFeatures[];

  beforeEach(async () => {
    database = await createTestDatabase();
    running = [];
  });
  afterEach(async () => {
    await Promise.all(running.map(async (one) => await one.stop()));
    await database.drop();
  });

  const start = async (options: Partial<PlatformFeaturesDeps> = {}): Promise<PlatformFeatures> => {
    const started = await startPlatformFeatures({
      db: database.db,
      clock: systemClock,
      secrets: createSecrets(new Uint8Array(32)),
      variables: {},
      worker: false,
      companionUrl: undefined,
      onError: () => undefined,
      ...options,
    });
    running.push(started);
    return started;
  };
  const worker = async (enabled: boolean): Promise<PlatformFeatures> =>
    await start({ worker: true, variables: { JOB_RUNNER_ENABLED: enabled, RUNNERS_ENABLED: true } });
  const changes = async (): Promise<ReadonlyArray<Record<string, unknown>>> =>
    await database.db.sql<Array<Record<string, unknown>>>`
      select key, from_state, to_state, reason, actor_kind, actor_id, actor_display, source, request_id
      from platform_feature_changes order by revision_to`;

  it('begin with every switch at its default, and nothing written', async () => {
    const one = await worker(false);
    expect([one.revision(), one.isEnabled('host.ci'), one.isEnabled(JOB_RUNNER)]).toEqual([0, true, false]);
    expect(one.gate.state('host.incidents')).toBe('disabled');
    expect(one.gate.state(JOB_RUNNER)).toBe('hidden');
    expect(one.gate.state('host.ci')).toBe('open');
    expect(await changes()).toEqual([]);
  });

  it('have the job runner where the worker says, with a row of history and of audit for each change of its mind', async () => {
    const on = await worker(true);
    expect([on.isEnabled(JOB_RUNNER), on.revision()]).toEqual([true, 1]);
    expect((await worker(true)).revision()).toBe(1);
    const off = await worker(false);
    expect([off.isEnabled(JOB_RUNNER), off.revision()]).toEqual([false, 2]);
    const common = {
      key: JOB_RUNNER,
      actor_kind: 'environment',
      actor_id: 'JOB_RUNNER_ENABLED',
      actor_display: 'JOB_RUNNER_ENABLED',
      source: 'boot',
      request_id: '',
    };
    expect(await changes()).toEqual([
      {
        ...common,
        from_state: 'disabled',
        to_state: 'enabled',
        reason: 'JOB_RUNNER_ENABLED is true in the environment of a worker',
      },
      {
        ...common,
        from_state: 'enabled',
        to_state: 'disabled',
        reason: 'JOB_RUNNER_ENABLED is false in the environment of a worker',
      },
    ]);
    const entries = await database.db.sql`
      select actor_kind, actor_id, target, details->>'to' as "to" from audit_entries where chain = 'platform' order by seq`;
    expect([...entries]).toEqual([
      { actor_kind: 'system', actor_id: 'JOB_RUNNER_ENABLED', target: JOB_RUNNER, to: 'enabled' },
      { actor_kind: 'system', actor_id: 'JOB_RUNNER_ENABLED', target: JOB_RUNNER, to: 'disabled' },
    ]);
  });

  it('that start at the same time write the environment once', async () => {
    await Promise.all(Array.from({ length: 8 }, async () => await worker(true)));
    expect(await changes()).toHaveLength(1);
  });

  it('follow the worker when they serve the API alone, whatever their own variable says', async () => {
    const api = await start({ variables: { JOB_RUNNER_ENABLED: false, RUNNERS_ENABLED: true } });
    expect(api.isEnabled(JOB_RUNNER)).toBe(false);
    const changed = new Promise<void>((resolve) => void api.onChange(resolve));
    await worker(true);
    await changed;
    expect([api.isEnabled(JOB_RUNNER), api.gate.state(JOB_RUNNER)]).toEqual([true, 'open']);
  });

  it('hold host.runners off each for itself where RUNNERS_ENABLED is false', async () => {
    const off = await start({ variables: { RUNNERS_ENABLED: false } });
    const on = await start({ variables: { RUNNERS_ENABLED: true } });
    expect([off.isEnabled('host.runners'), off.gate.state('host.runners')]).toEqual([false, 'hidden']);
    expect([on.isEnabled('host.runners'), on.gate.state('host.runners')]).toEqual([true, 'open']);
    expect(await changes()).toEqual([]);
  });

  it('end the stream of a watcher that has left, and tell one that stays of every change', async () => {
    const api = await start();
    const watch = async (signal: AbortSignal): Promise<AsyncIterator<{ readonly revision: number }>> => {
      const handler = api.handlers.methods.get('svc.platformfeatures.v1.PlatformFeaturesService/Watch');
      const stream = await handler?.(create(WatchRequestSchema), { call: { signal } } as unknown as Ctx);
      return (stream as unknown as AsyncIterable<{ readonly revision: number }>)[Symbol.asyncIterator]();
    };
    const left = new AbortController();
    const [leaving, staying] = [await watch(left.signal), await watch(new AbortController().signal)];
    for (const watcher of [leaving, staying])
      expect(await watcher.next()).toMatchObject({ done: false, value: { revision: 0, position: '0' } });
    const [ended, told] = [leaving.next(), staying.next()];
    left.abort();
    expect(await ended).toEqual({ done: true, value: undefined });
    await worker(true);
    expect(await told).toMatchObject({ done: false, value: { revision: 1, position: '1' } });
    await staying.return?.();
  });

  it('stay out of a start whose manifest cannot be right, and say what is wrong with it', async () => {
    const looping: FeatureDefinition = {
      key: 'host.loop',
      description: 'Depends on itself.',
      owner: 'tests',
      since: '0.10.0',
      lifecycle: 'ga',
      visibility: 'public',
      default: 'disabled',
      dependsOn: ['host.loop'],
    };
    await expect(start({ manifest: [looping] })).rejects.toThrow('host.loop');
  });

  it('go on with what they know while the states cannot be read, and say so once', async () => {
    const told: unknown[] = [];
    const failed = new Promise<void>((resolve) => {
      void start({
        onError: (error) => {
          told.push(error);
          resolve();
        },
      }).then(async () => {
        await database.db.sql`alter table platform_feature_states rename to elsewhere`;
        await database.db.sql`update platform_feature_revision set revision = 7`;
      });
    });
    await failed;
    const [one] = running;
    expect([one?.isEnabled('host.ci'), one?.revision(), one?.gate.state('host.ci')]).toEqual([
      true,
      0,
      'open',
    ]);
    expect(told.map(String)).toEqual([expect.stringContaining('platform_feature_states')]);
    // And they are up to date again as soon as that is over.
    const followed = new Promise<void>((resolve) => void one?.onChange(resolve));
    await database.db.sql`alter table elsewhere rename to platform_feature_states`;
    await followed;
    expect([one?.revision(), told.length]).toEqual([7, 1]);
  });
});

describe.skipIf(!postgresHere)('a server that is told RUNNERS_ENABLED=false', () => {
  const { server } = useServer({ env: { RUNNERS_ENABLED: 'false' } });
  const { patch, get, history } = operationsOf(() => server);

  it('shows host.runners as held off by the variable, and refuses to switch it', async () => {
    expect(await get('host.runners')).toMatchObject({
      state: 'disabled',
      enabled: false,
      reason: 'disabled',
      toggleable: false,
      environmentVariable: 'RUNNERS_ENABLED',
      revision: 0,
    });
    const answer = await patch('host.runners', { state: 'enabled', reason: REASON });
    expect([answer.status, answer.code]).toEqual([409, 'feature_not_toggleable']);
    expect(answer.text).toContain('RUNNERS_ENABLED');
    expect(await history('host.runners')).toEqual([]);
  });
});
