/**
 * Items a second through submit, claim and report, 50 at once, each over HTTP and the last two signed, in one
 * process and with a gateway of its own; beside graphile-worker and beside three bare commits a item.
 */
import { randomUUID } from 'node:crypto';
import postgres from 'postgres';
import { figure, type Figure } from './figure.ts';
import { createJsonClient, enrollBenchRunner, type BenchRunner, type JsonClient } from './client.ts';
import { freshDatabase } from './database.ts';
import { graphile } from './graphile.ts';
import { AMQP_URL } from '../setup/needs.ts';
import { startLayout, type Layout } from './layout.ts';
import type { Platform } from '../e2e/platform.ts';

const ITEMS = 5_000;
const AT_ONCE = 50;
const RUNNERS = 5;
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
  /** Client of the API, which is the runners' too where both are one process. */
  readonly client: JsonClient;
}

async function pump({ platform, teamId, runners, client }: Load, items: number): Promise<number> {
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
  const slot = async (runner: BenchRunner) => {
    while (reported < items) {
      const { status, body } = await runner.call('poll', { waitMs: 1_000 });
      if (status !== 200) throw new Error(`poll answered ${status}: ${JSON.stringify(body)}`);
      const offer = body['run'] as { id: string; epoch: number } | undefined;
      if (offer === undefined) continue;
      const done = await runner.call('report', {
        id: offer.id,
        epoch: offer.epoch,
        reportId: `bench-${offer.id}`,
        reason: 'exit',
        exitCode: 0,
      });
      if (done.status !== 200)
        throw new Error(`report answered ${done.status}: ${JSON.stringify(done.body)}`);
      reported += 1;
      if (reported === items) endedAt = performance.now();
    }
  };
  let endedAt = 0;
  const startedAt = performance.now();
  const slots = Array.from({ length: AT_ONCE }, (_, index) =>
    slot(runners[index % runners.length] ?? failNoRunner()),
  );
  await Promise.all([...Array.from({ length: AT_ONCE }, submitter), ...slots]);
  return (items / (endedAt - startedAt)) * 1000;
}

function failNoRunner(): never {
  throw new Error('no runner was enrolled');
}

async function product(url: string, layout: Layout): Promise<number> {
  const { platform, port, stop } = await startLayout(layout, url, { AMQP_URL });
  const machines = `http://127.0.0.1:${port}`;
  const client = createJsonClient(platform.url, 2 * AT_ONCE);
  const machineClient = createJsonClient(machines, AT_ONCE);
  try {
    const teamId = await platform.customerTeam('bench');
    const runners: BenchRunner[] = [];
    for (let index = 0; index < RUNNERS; index += 1) {
      const { token } = await platform.sdk.runners.createEnrollToken(teamId);
      runners.push(await enrollBenchRunner(machineClient, machines, { token, name: `bench-${index}` }));
    }
    const load = { platform, teamId, runners, client };
    await pump(load, WARM_UP);
    return await pump(load, ITEMS);
  } finally {
    client.close();
    machineClient.close();
    await stop();
  }
}

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
  const graphileRate = (before + (await theirs())) / 2;
  const shared = { name: 'submit + claim + report, 50 at once', unit: 'items/s' };
  const worker = { reference: 'graphile-worker', referenceValue: graphileRate };
  return [
    figure({
      ...shared,
      ...worker,
      value: ours,
      target: '≥ 1.5 ×',
      pass: (_, ratio) => ratio >= 1.5,
    }),
    figure({
      ...shared,
      value: ours,
      reference: 'three bare commits',
      referenceValue: commits,
      target: '≥ 0.4 ×',
      pass: (_, ratio) => ratio >= 0.4,
    }),
    figure({
      ...worker,
      name: `${shared.name}, gateway of its own`,
      unit: shared.unit,
      value: apart,
      target: '≥ 1 ×',
      pass: (_, ratio) => ratio >= 1,
    }),
  ];
}
