/**
 * Starts what the complaints share: one real server and gateway with short times, real daemons whose executor
 * is played, runners whose every word is written by the test, and a bad network between them.
 */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { createSvcSDK } from '@svc/sdk';
import { afterAll, beforeAll, expect, onTestFinished } from 'vitest';
import {
  buildBundle,
  startProcess,
  type Bundle,
  type DaemonProcess,
  type RunnerHome,
} from '../setup/runner/daemon-process.ts';
import { fakeEvents, script } from '../setup/runner/fake-executor.ts';
import { tempDir } from '../setup/runner/temp-dir.ts';
import { createIndependentRunner, FACTS, type IndependentRunner } from '../e2e/independent-runner.ts';
import { runsItself } from '../setup/own-runners.ts';
import { waitFor } from '../setup/wait-for.ts';
import { freePorts } from '../faults/free-ports.ts';
import { startTcpProxy, type TcpProxy } from '../setup/tcp-proxy.ts';
import { startTestServer, type TestServer } from '../setup/server.ts';

type Sdk = ReturnType<typeof createSvcSDK>;
type Run = Awaited<ReturnType<Sdk['sandboxRuns']['get']>>;

/** Milliseconds. Real ones are twenty times as long. */
export const TIMES = { heartbeat: 300, lease: 2_400, grace: 200, offer: 2_000, silent: 1_500 };

const SETTINGS = {
  HEARTBEAT_MS: String(TIMES.heartbeat),
  LEASE_MS: String(TIMES.lease),
  LEASE_GRACE_MS: String(TIMES.grace),
  OFFER_MS: String(TIMES.offer),
  SWEEP_EVERY_MS: '100',
  RELAY_EVERY_MS: '200',
  POLL_WAIT_MS: '2000',
  RUNNER_SILENT_MS: String(TIMES.silent),
  RUNNER_STUCK_MS: '300',
  RUNNER_WATCH_EVERY_MS: '100',
};

export interface DaemonOptions {
  readonly url?: string;
  readonly args?: readonly string[];
  readonly enrollArgs?: readonly string[];
  readonly nodeArgs?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** Does not wait until it is live. */
  readonly unseen?: boolean;
  readonly minFreeMb?: number;
  /** True where the daemon is the released program with a real executor. */
  readonly real?: boolean;
}

let names = 0;

/** Call at the top of a test file. `networks`: proxies that are known to the server from its start. */
export function useWorld(
  env: Readonly<Record<string, string>> = {},
  networks = 6,
  moreUrls: readonly string[] = [],
) {
  let server: TestServer | undefined;
  let bundle: Bundle | undefined;
  const proxies: TcpProxy[] = [];
  let taken = 0;
  beforeAll(async () => {
    const [port = 0] = await freePorts(1);
    for (let i = 0; i < networks; i += 1) proxies.push(await startTcpProxy([port]));
    const urls = [`http://127.0.0.1:${port}`, ...proxies.map(({ url }) => url), ...moreUrls];
    [server, bundle] = await Promise.all([
      startTestServer({ env: { ...SETTINGS, PORT: String(port), PUBLIC_URLS: urls.join(','), ...env } }),
      buildBundle(),
    ]);
  }, 60_000);
  afterAll(async () => {
    await Promise.all(proxies.map(async (proxy) => await proxy.close()));
    await server?.stop();
    bundle?.remove();
  });

  const there = () => {
    if (server === undefined || bundle === undefined) throw new Error('nothing is started yet');
    const { baseUrl, first } = server;
    const sdk = createSvcSDK({ baseUrl, apiKey: first.apiKey });
    return { server, bundle, sdk, staff: createSvcSDK({ baseUrl, apiKey: first.staffApiKey }) };
  };
  /** It is waited for until it has one of these states; the failure shows what the run looks like. */
  const until = async (runId: string, ...states: readonly string[]): Promise<Run> => {
    let last: Run | undefined;
    try {
      return await waitFor(
        `${runId} to be ${states.join(' or ')}`,
        async () => {
          last = await there().sdk.sandboxRuns.get(runId);
          return states.includes(last.state) ? last : undefined;
        },
        { withinMs: 20_000 },
      );
    } catch (error) {
      throw new Error(`last seen: ${JSON.stringify(last)}`, { cause: error });
    }
  };

  return {
    get server(): TestServer {
      return there().server;
    },
    get sdk(): Sdk {
      return there().sdk;
    },
    /** It is the released svc-runner. */
    get program() {
      return there().bundle.main;
    },
    until,
    /** Makes a team with its own runners. */
    team: async (): Promise<string> => {
      const { sdk, staff } = there();
      const { id } = await sdk.teams.create(`team ${(names += 1)}`);
      await runsItself(staff, id);
      return id;
    },
    /** Returns a network of its own between a runner and the server: real until it is impaired. */
    network: (): TcpProxy => {
      const proxy = proxies[taken];
      if (proxy === undefined) throw new Error(`all ${proxies.length} networks are taken; ask for more`);
      taken += 1;
      onTestFinished(() => proxy.heal({ reset: true }));
      return proxy;
    },
    daemon: async (
      teamId: string,
      {
        url,
        args = [],
        enrollArgs = [],
        nodeArgs = [],
        env: more = {},
        unseen = false,
        minFreeMb = 1,
        real = false,
      }: DaemonOptions = {},
    ) => {
      const { sdk, bundle: built, server: own } = there();
      const root = tempDir();
      const name = `machine-${(names += 1)}`;
      const [dataDir, executorDir] = [join(root, 'data'), join(root, 'executor')];
      mkdirSync(dataDir, { mode: 0o700 });
      const { token } = await sdk.runners.createEnrollToken(teamId);
      const enroll = startProcess(
        [...nodeArgs, built.main],
        ['enroll', '--url', url ?? own.baseUrl, '--name', name, '--data-dir', dataDir, ...enrollArgs],
        { SVC_ENROLL_TOKEN: token, ...more },
      );
      expect(await enroll.exited, enroll.output()).toBe(0);
      const home: RunnerHome = {
        dataDir,
        executorDir,
        events: () => fakeEvents(executorDir),
        file: (file) => join(root, file),
      };
      /** Starts another process on the same folder, as a service manager does. */
      const again = (...others: string[]): DaemonProcess =>
        startProcess(
          [...nodeArgs, ...(real ? [built.main, 'run'] : [built.fake])],
          ['--data-dir', dataDir, '--min-free-mb', String(minFreeMb), ...others],
          {
            FAKE_EXECUTOR_DIR: executorDir,
            ...more,
          },
        );
      const process = again(...args);
      const runnerId = (await sdk.runners.list(teamId)).find((runner) => runner.name === name)?.id ?? '';
      if (!unseen)
        await waitFor(
          `${name} to be live:\n${process.output()}`,
          async () => (await sdk.runners.get(teamId, runnerId)).health === 'live',
        );
      return { home, runnerId, name, process, again };
    },
    scripted: async (teamId: string, url?: string) => {
      const { sdk, server: own } = there();
      const runner = createIndependentRunner(url ?? own.baseUrl);
      const { token } = await sdk.runners.createEnrollToken(teamId);
      const runnerId = await runner.enroll(token, `scripted-${(names += 1)}`);
      expect(await runner.call('heartbeat', { facts: FACTS })).toMatchObject({ status: 200 });
      return { ...runner, runnerId };
    },
    submit: async (teamId: string, command: readonly string[], more: object = {}): Promise<Run> =>
      await there().sdk.sandboxRuns.create(teamId, { command: [...command], ...more }),
    outputOf: async (runId: string): Promise<string> => {
      let text = '';
      for await (const event of there().sdk.sandboxRuns.streamLogs(runId, { follow: false }))
        text += event.text;
      return text;
    },
  };
}

export interface Offer {
  readonly id: string;
  readonly epoch: number;
}

export const offerOf = (body: Record<string, unknown>): Offer | undefined => body['run'] as Offer | undefined;

/** A task that has begun, and ends with 0 when its file `gate` is there. */
export const gated = (home: RunnerHome) =>
  script({ out: 'begun' }, { await: home.file('gate') }, { exit: 0 });

/** Takes the next run for a scripted runner, which has begun with it. */
export async function begin(runner: Pick<IndependentRunner, 'call'>): Promise<Offer> {
  const offer = offerOf((await runner.call('poll', { waitMs: 2_000 })).body);
  const lease = { id: offer?.id ?? '', epoch: offer?.epoch ?? 0 };
  await runner.call('heartbeat', { leases: [lease] });
  return lease;
}

export { script, waitFor };
