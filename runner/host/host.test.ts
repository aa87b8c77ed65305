import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { testContext } from '../../test/setup/runner/build-context.ts';
import type { Api } from '../control-plane/api.ts';
import { CallError, type Failure } from '../control-plane/retryable.ts';
import type { SyncHostReply, SyncHostRequest } from '../control-plane/wire.ts';
import { createHost, type HostSync } from './host.ts';

const LOG = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined };
const app = (environmentId: string, revision = 1) =>
  ({ environmentId, revision, kind: 'container', app: environmentId, containerPort: 80 }) as const;

describe('what a runner says of its machine', () => {
  let dataDir: string;
  let said: SyncHostRequest[];
  let answer: (request: SyncHostRequest) => SyncHostReply | Failure;
  beforeEach(() => {
    dataDir = mkdtempSync(join(tmpdir(), 'svc-host-'));
    said = [];
    answer = () => ({ revision: 1 });
  });
  afterEach(() => rmSync(dataDir, { recursive: true, force: true }));

  /** `ps` of the engine prints this; no container is inspected. */
  async function open(ps = 'true'): Promise<HostSync> {
    const { engine, fake } = await testContext();
    fake('podman', ps);
    const call = async (_name: string, body: SyncHostRequest) => {
      said.push(structuredClone(body));
      const reply = answer(body);
      if ('verdict' in reply) throw new CallError(reply);
      return await Promise.resolve({ value: reply, sentMonotonicMs: 0 });
    };
    return createHost({
      api: { call: call as unknown as Api['call'] },
      bootId: 'boot_1',
      runnerId: 'rnr_1',
      dataDir,
      engine: engine.engine,
      dokku: {
        stop: async () => await Promise.resolve(),
        look: async () => await Promise.resolve(undefined),
        serve: async () => await Promise.resolve([]),
        logs: () => ({
          take: async () => await Promise.resolve(undefined),
          confirm: async () => await Promise.resolve(),
        }),
      },
      mounts: {
        problemOf: async () => await Promise.resolve(undefined),
        remove: async () => await Promise.resolve(),
      },
      sites: undefined,
      databases: undefined,
      onLeft: async () => await Promise.resolve(),
      log: LOG,
    });
  }

  it('is asked for until nothing more comes, and kept for the next process', async () => {
    const host = await open();
    answer = ({ have = {} }) =>
      Object.keys(have).length === 0
        ? { revision: 2, apps: [app('env_1')], more: true }
        : { revision: 2, apps: have['env_2'] === undefined ? [app('env_2', 4)] : [] };
    await host.check();
    // The host tells at once that the machine has neither.
    expect(said.map(({ have }) => have)).toEqual([{}, { env_1: 1 }, { env_1: 1, env_2: 4 }]);
    expect(said.flatMap(({ observed = [] }) => observed)).toEqual(
      ['env_1', 'env_2'].map((environmentId) => expect.objectContaining({ environmentId, state: 'absent' })),
    );
    host.wanted(2);
    await host.check();
    expect(said).toHaveLength(3);

    said = [];
    const next = await open();
    expect([...next.documents.keys()]).toEqual(['env_1', 'env_2']);
    await next.check();
    expect(said[0]?.have).toEqual({ env_1: 1, env_2: 4 });
  });

  it('is asked for when a heartbeat answers another revision', async () => {
    const host = await open();
    await host.check();
    host.wanted(1);
    await host.check();
    expect(said).toHaveLength(1);
    answer = () => ({ revision: 2, apps: [app('env_1')] });
    host.wanted(2);
    await host.check();
    expect(host.documents.get('env_1')).toMatchObject({ revision: 1 });
  });

  it('waits for minutes where the control plane is too old to ask', async () => {
    answer = () => ({ verdict: 'retry', code: 'not_found', message: 'no such route', unserved: true });
    const host = await open();
    await host.check();
    host.wanted(7);
    await host.check();
    expect(said).toHaveLength(1);
  });

  it('has no tombstone as carried out whose containers the engine could not be asked for', async () => {
    const tombstone = { id: 'tmb_1', environmentId: 'env_1', kind: 'container', app: 'web' } as const;
    answer = () => ({ revision: 1, tombstones: [tombstone] });
    const host = await open('echo "cannot connect" >&2; exit 125');
    await host.check();
    expect(said).toHaveLength(1);
    host.wanted(2);
    await host.check();
    expect(said.flatMap(({ removed = [] }) => removed)).toEqual([]);
  });
});
