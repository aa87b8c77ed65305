/**
 * Two server processes on one database, as an operator runs them: they agree about platform features within a
 * second, with the database's notifications and without; and what needs no database is still answered while
 * there is none.
 */
import { join } from 'node:path';
import { createSvcSDK, type SvcApiError } from '@svc/sdk';
import postgres from 'postgres';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { freshDatabase, type FreshDatabase } from '../bench/database.ts';
import { has } from '../setup/needs.ts';
import { startTcpProxy, type TcpProxy } from '../setup/tcp-proxy.ts';
import { waitFor } from '../setup/wait-for.ts';
import { startPlatform, type Platform, type Sdk } from './platform.ts';
import { startProgram, type Program } from './processes.ts';

/** Time that the product promises. */
const AGREE_WITHIN_MS = 1_000;
const CHANGES = 8;
const PATH = '/platform-features/resolved';
const UNLIMITED = { LIMIT_ANONYMOUS_PER_MINUTE: '10000000' };

interface Pair {
  readonly database: FreshDatabase;
  readonly first: Platform;
  /** Its way to the database goes through the proxy. */
  readonly second: { readonly url: string; readonly program: Program; readonly staff: Sdk };
  readonly proxy: TcpProxy;
  stop(): Promise<void>;
}

async function startPair(prepare: (databaseUrl: string) => Promise<void>): Promise<Pair> {
  const database = await freshDatabase();
  await prepare(database.url);
  const proxy = await startTcpProxy([database.url]);
  const first = await startPlatform({ ...UNLIMITED, DATABASE_URL: database.url });
  const program = startProgram('server/dist/main.js', [], {
    ...UNLIMITED,
    PORT: '0',
    // The same keys: credentials of the one are good at the other.
    DATA_DIR: join(first.folder, 'platform'),
    DATABASE_URL: proxy.urlOf(database.url),
    LOG_LEVEL: 'error',
  });
  const url = (await program.says(/listening on (http:\/\/\S+)/, 60_000))[1] ?? '';
  const staff = createSvcSDK({ baseUrl: url, apiKey: first.bootstrap.staffApiKey, maxRetries: 0 });
  return {
    database,
    first,
    second: { url, program, staff },
    proxy,
    stop: async () => {
      await program.stop();
      await first.stop();
      await proxy.close();
      await database[Symbol.asyncDispose]();
    },
  };
}

/** Returns the features that are shown to nobody, out of all that the server has. */
async function shown(url: string): Promise<Readonly<Record<string, true>>> {
  return ((await (await fetch(`${url}${PATH}`)).json()) as { features: Record<string, true> }).features;
}

/** From now until the server shows it so, by asking it again and again. */
async function lagMs(url: string, key: string, on: boolean): Promise<number> {
  const askedAt = performance.now();
  for (;;) {
    const features = await shown(url);
    const lag = performance.now() - askedAt;
    if ((features[key] === true) === on) return lag;
    if (lag > 10_000)
      throw new Error(`${url} shows ${JSON.stringify(features)} after 10 s, ${key} should be ${on}`);
  }
}

interface End {
  readonly url: string;
  readonly staff: Sdk;
}

/**
 * Moves a switch to and fro by the one server, which shows it at once; how long after its answer the other
 * one does.
 */
async function measureLags(writer: End, reader: End): Promise<number[]> {
  const lags: number[] = [];
  for (let change = 0; change < CHANGES; change += 1) {
    const state = change % 2 === 0 ? 'disabled' : 'enabled';
    await writer.staff.platformFeatures.setState('host.ci', { state, reason: 'a story about two servers' });
    const [own, lag] = await Promise.all([
      shown(writer.url),
      lagMs(reader.url, 'host.ci', state === 'enabled'),
    ]);
    expect(own['host.ci'], 'at the server that made the change').toBe(state === 'enabled' ? true : undefined);
    lags.push(lag);
  }
  return lags;
}

const told = (lags: readonly number[]) => `${lags.map((ms) => Math.round(ms)).join(', ')} ms`;
const middle = (lags: readonly number[]) =>
  lags.toSorted((a, b) => a - b)[Math.floor(lags.length / 2)] ?? Number.NaN;

describe.runIf(await has('postgres'))('two servers on one database', () => {
  let pair: Pair;

  beforeAll(async () => {
    pair = await startPair(async () => undefined);
  }, 120_000);
  afterAll(async () => await pair?.stop());
  afterEach(() => pair.proxy.heal());

  it('agree within a second of a change by either, by notification usually much sooner', async () => {
    const { first, second } = pair;
    const lags = [...(await measureLags(first, second)), ...(await measureLags(second, first))];
    console.log(`with notifications the other server was up to date after ${told(lags)}`);
    expect(Math.max(...lags), told(lags)).toBeLessThan(AGREE_WITHIN_MS);
    // By looking alone half of them would lie above 250 ms.
    expect(middle(lags), told(lags)).toBeLessThan(150);
  });

  it('let exactly one of twenty changes through that were all made of the same revision, whichever server they reach', async () => {
    const { first, second } = pair;
    const { revision, state } = await first.staff.platformFeatures.get('host.graph');
    const to = state === 'enabled' ? 'disabled' : 'enabled';
    const outcomes = await Promise.all(
      Array.from({ length: 20 }, async (_, n) => {
        const { platformFeatures } = n % 2 === 0 ? first.staff : second.staff;
        return await platformFeatures
          .setState('host.graph', { state: to, reason: `one of twenty, number ${n}`, revision })
          .then(
            () => 200,
            (error: unknown) => (error as SvcApiError).status,
          );
      }),
    );
    expect(outcomes.toSorted((a, b) => a - b)).toEqual([200, ...Array.from({ length: 19 }, () => 412)]);
    const [last, ...earlier] = await first.staff.platformFeatures.history('host.graph');
    expect([last?.revisionFrom, last?.revisionTo, last?.to]).toEqual([revision, revision + 1, to]);
    expect(earlier.every((change) => change.revisionTo <= revision)).toBe(true);
  });

  it('answer from memory while one has no database, 304 included, and agree soon after it is back', async () => {
    const { first, second, proxy } = pair;
    await first.staff.platformFeatures.setState('host.ci', { state: 'enabled', reason: 'before the outage' });
    await lagMs(second.url, 'host.ci', true);
    const before = await fetch(`${second.url}${PATH}`);
    const etag = before.headers.get('etag') ?? '';
    const body = await before.text();

    proxy.impair({ how: 'refused' });
    await first.staff.platformFeatures.setState('host.ci', {
      state: 'disabled',
      reason: 'during the outage',
    });
    await expect(second.staff.platformFeatures.list()).rejects.toMatchObject({ status: 503 });
    for (let ask = 0; ask < 20; ask += 1) {
      const whole = await fetch(`${second.url}${PATH}`);
      expect([whole.status, await whole.text()]).toEqual([200, body]);
      const known = await fetch(`${second.url}${PATH}`, { headers: { 'if-none-match': etag } });
      expect([known.status, await known.text()]).toEqual([304, '']);
    }
    // It does try: what it answers, it answers although nothing comes back.
    await waitFor('a try that is refused', () => proxy.refused(), { holds: (count) => count > 0 });

    proxy.heal();
    const lag = await lagMs(second.url, 'host.ci', false);
    console.log(`up to date ${told([lag])} after the database was back`);
    expect(lag).toBeLessThan(2 * AGREE_WITHIN_MS);
  });
});

describe.runIf(await has('postgres'))('two servers on one database whose notifications are lost', () => {
  let pair: Pair;
  let heard: postgres.Sql;
  const notifications: string[] = [];

  beforeAll(async () => {
    // Each session finds this function before the real one, so that the word about features is lost on every
    // way, always.
    pair = await startPair(async (url) => {
      const admin = postgres(url, { max: 1, onnotice: () => undefined });
      await admin.unsafe(`
        create function public.pg_notify(channel text, payload text) returns void language plpgsql as $$ begin
          if channel <> 'svc_platform_features' then perform pg_catalog.pg_notify(channel, payload); end if;
        end $$`);
      await admin.unsafe(
        `alter database ${new URL(url).pathname.slice(1)} set search_path = public, pg_catalog`,
      );
      await admin.end();
    });
    heard = postgres(pair.database.url, { max: 1, onnotice: () => undefined });
    await heard.listen('svc_platform_features', (payload) => void notifications.push(payload));
  }, 120_000);
  afterAll(async () => {
    await heard?.end();
    await pair?.stop();
  });

  it('agree within a second of a change by either, by looking', async () => {
    const { first, second } = pair;
    const lags = [...(await measureLags(first, second)), ...(await measureLags(second, first))];
    console.log(`without notifications the other server was up to date after ${told(lags)}`);
    expect(notifications).toEqual([]);
    expect(Math.max(...lags), told(lags)).toBeLessThan(AGREE_WITHIN_MS);
  });
});
