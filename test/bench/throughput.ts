/**
 * Items a second through submit, claim and report, 50 at once, over HTTP and the last two signed, by runners
 * of ten slots and of one, in one process and with a gateway of its own; beside graphile-worker and beside
 * three bare commits an item.
 */
import { randomUUID } from 'node:crypto';
import postgres from 'postgres';
import { figure, type Figure } from './figure.ts';
import { callsTogether } from '../../runner/control-plane/calls-together.ts';
import { createJsonClient, enrollBenchRunner, type BenchRunner, type JsonClient } from './client.ts';
import { freshDatabase } from './database.ts';
import { graphile } from './graphile.ts';
import { AMQP_URL } from '../setup/needs.ts';
import { startLayout, type Layout } from './layout.ts';
import type { Platform } from '../e2e/platform.ts';

const ITEMS = 5_000;
const AT_ONCE = 50;
const SLOTS = 10;
/** Engines compile what runs for seconds; before that, each side would be measured at its slowest. */
const WARM_UP = 5_000;

async function bareCommits(url: string): Promise<number> {
  const sql = postgres(url, { max: 10, onnotice: () => undefined });
  await sql`create table bare (id uuid primary key, state text not null)`;
  let begun = 0;
  const startedAt = performance.now();
  const worker = async () => {
    while (begun < ITEMS) {
      begun += 1;
      const id = randomUUID();
      await sql`insert into bare values (${id}, 'queued')`;
      await sql`update bare set state = 'running' where id = ${id}`;
      await sql`update bare set state = 'done' where id = ${id}`;
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
  const perSecond = (ITEMS / (performance.now() - startedAt)) * 1000;
  await sql.end();
  return perSecond;
}

interface Load {
  readonly platform: Platform;
  readonly teamId: string;
  readonly runners: readonly BenchRunner[];
  /** Slots that each runner has. */
  readonly slots: number;
  /** Client of the API, which is the runners' too where both are one process. */
  readonly client: JsonClient;
}

async function pump({ platform, teamId, runners, client, slots }: Load, items: number): Promise<number> {
  const headers = { authorization: `Bearer ${platform.bootstrap.apiKey}` };
  let submitted = 0;
  let reported = 0;
  const submitter = async () => {
    while (submitted < items) {
      submitted += 1;
      const { status, body } = await client.post(
        `/teams/${teamId}/sandbox-runs`,
        { command: ['true'] },
        headers,
      );
      if (status !== 201) throw new Error(`submit answered ${status}: ${JSON.stringify(body)}`);
    }
  };
  const ended = (count: number): void => {
    reported += count;
    if (reported >= items && endedAt === 0) endedAt = performance.now();
  };
  let endedAt = 0;
  const startedAt = performance.now();
  await Promise.all([
    ...Array.from({ length: AT_ONCE }, submitter),
    ...runners.map(async (runner) => await work(runner, { slots, ended, isOver: () => reported >= items })),
  ]);
  return (items / (endedAt - startedAt)) * 1000;
}

interface Working {
  readonly slots: number;
  ended(count: number): void;
  isOver(): boolean;
}

/** Does what a daemon does whose tasks end at once: what ended meanwhile goes in one report. */
async function work(runner: BenchRunner, { slots, ended, isOver }: Working): Promise<void> {
  let free = slots;
  let wake: () => void = () => undefined;
  const call = callsTogether(async (name, body) => {
    const { status, body: value } = await runner.call(name, body);
    if (status !== 200) throw new Error(`${name} answered ${status}: ${JSON.stringify(value)}`);
    return { value, sentMonotonicMs: 0 };
  });
  const execute = async ({ id, epoch }: Offer): Promise<void> => {
    await call('report', { id, epoch, reportId: `bench-${id}`, reason: 'exit', exitCode: 0 });
    ended(1);
    free += 1;
    wake();
  };
  while (!isOver()) {
    if (free === 0) await new Promise<void>((resolve) => (wake = resolve));
    const many = slots > 1 ? { slots: free, offersMax: free } : {};
    const { value } = await call('poll', { waitMs: 1_000, ...many });
    const { run, more } = value as { run?: Offer; more?: { runs: readonly Offer[] } };
    for (const offer of run === undefined ? [] : [run, ...(more?.runs ?? [])]) {
      free -= 1;
      void execute(offer);
    }
  }
}

interface Offer {
  readonly id: string;
  readonly epoch: number;
}

/**
 * Does `measure` with a function that sends so many items through the product, and returns how many a
 * second.
 */
export async function withProduct<T>(
  { url, layout, slots = SLOTS }: { readonly url: string; readonly layout: Layout; readonly slots?: number },
  measure: (pass: (items: number) => Promise<number>, platform: Platform) => Promise<T>,
): Promise<T> {
  const { platform, port, stop } = await startLayout(layout, url, { AMQP_URL });
  const machines = `http://127.0.0.1:${port}`;
  const client = createJsonClient(platform.url, 2 * AT_ONCE);
  const machineClient = createJsonClient(machines, AT_ONCE);
  try {
    const teamId = await platform.customerTeam('bench');
    const runners: BenchRunner[] = [];
    for (let index = 0; index < AT_ONCE / slots; index += 1) {
      const { token } = await platform.sdk.runners.createEnrollToken(teamId);
      runners.push(await enrollBenchRunner(machineClient, machines, { token, name: `bench-${index}` }));
    }
    const load = { platform, teamId, runners, slots, client };
    return await measure(async (items) => await pump(load, items), platform);
  } finally {
    client.close();
    machineClient.close();
    await stop();
  }
}

const product = async (url: string, layout: Layout, slots = SLOTS): Promise<number> =>
  await withProduct({ url, layout, slots }, async (pass) => {
    await pass(WARM_UP);
    return await pass(ITEMS);
  });

export async function run(): Promise<Figure[]> {
  await using first = await freshDatabase();
  const commits = await bareCommits(first.url);
  await using second = await freshDatabase();
  const theirs = async () =>
    (await graphile(second.url, 'throughput', { count: ITEMS, atOnce: AT_ONCE }))[0] ?? Number.NaN;
  const before = await theirs();
  await using third = await freshDatabase();
  const ours = await product(third.url, 'one process');
  await using fourth = await freshDatabase();
  const apart = await product(fourth.url, 'gateway of its own');
  await using fifth = await freshDatabase();
  const oneSlot = await product(fifth.url, 'one process', 1);
  const graphileRate = (before + (await theirs())) / 2;
  const name = 'submit + claim + report, 50 at once';
  const beside = (what: string, value: number, least: number) =>
    figure({
      name: `${name}${what}`,
      unit: 'items/s',
      value,
      reference: 'graphile-worker',
      referenceValue: graphileRate,
      target: `≥ ${least} ×`,
      pass: (_, ratio) => ratio >= least,
    });
  return [
    beside(', ten slots a runner', ours, 1.5),
    figure({
      name,
      unit: 'items/s',
      value: ours,
      reference: 'three bare commits',
      referenceValue: commits,
      target: '≥ 0.28 ×',
      pass: (_, ratio) => ratio >= 0.28,
    }),
    beside(', gateway of its own', apart, 1),
    beside(', one slot a runner', oneSlot, 1.1),
  ];
}
