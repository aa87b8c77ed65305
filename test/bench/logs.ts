/**
 * Log lines through one gateway and one server, each a process of its own, into PostgreSQL: signed appends of
 * 256 KiB of four runs at once, as daemons send them. Beside it, in the same run, the same bytes inserted as
 * they are by postgres.js, one row an append. Memory is looked at while they pass, and the tail of a log of 1
 * GB is read beside that of one of 10 MB.
 */
import { createHash, randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { limitLines } from '@svc/runner/output/line-limit.ts';
import { createMasker } from '@svc/runner/output/masking.ts';
import postgres from 'postgres';
import { figure, median, type Figure } from './figure.ts';
import { createByteClient, createJsonClient, enrollBenchRunner, type BenchRunner } from './client.ts';
import { freshDatabase } from './database.ts';
import type { Platform } from '../e2e/platform.ts';
import { startLayout } from './layout.ts';
import { resident } from './resident.ts';
import type { Program } from '../e2e/processes.ts';

const MEBIBYTE = 1_048_576;
const CHUNK = 262_144;
const STREAMS = 4;
/** By contract the most that one run may keep. */
const RUN_BYTES = 268_435_456;
const WARM_BYTES = 64 * MEBIBYTE;
const PASSED_BYTES = 512 * MEBIBYTE;
const TAIL_BYTES = 65_536;
const TAIL_READS = 300;

/**
 * Returns lines as a build prints them: a time, a level, words, a path. A tenth of each line is noise that no
 * compression shortens.
 */
function logLines(bytes: number): Buffer {
  let text = '';
  for (let line = 0; text.length < bytes; line += 1) {
    const noise = randomBytes(6).toString('hex');
    text += `2026-11-20T16:00:${String(line % 60).padStart(2, '0')}.${line % 1000}Z INFO compiled src/components/widget-${line % 977}.ts -> dist/${noise}.js in ${line % 131} ms\n`;
  }
  return Buffer.from(text.slice(0, bytes));
}

/** Processor seconds that it has used. */
function cpuSeconds({ child }: Program): number {
  const fields = readFileSync(`/proc/${child.pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
  return (Number(fields[11]) + Number(fields[12])) / 100;
}

/** Returns how many MB/s of the same chunks are written as rows of a bare table, as many at once. */
async function bareInserts(url: string, chunk: Buffer): Promise<number> {
  const sql = postgres(url, { max: STREAMS, onnotice: () => undefined });
  await sql`create table bare (id bigint generated always as identity primary key, data bytea not null)`;
  let left = PASSED_BYTES / chunk.length;
  const startedAt = performance.now();
  const insert = async () => {
    while ((left -= 1) >= 0) await sql`insert into bare (data) values (${chunk})`;
  };
  await Promise.all(Array.from({ length: STREAMS }, insert));
  const perSecond = PASSED_BYTES / 1e6 / ((performance.now() - startedAt) / 1000);
  await sql.end();
  return perSecond;
}

interface Stand extends AsyncDisposable {
  readonly platform: Platform;
  readonly gateway: Program;
  readonly teamId: string;
  readonly runners: readonly BenchRunner[];
}

async function start(databaseUrl: string): Promise<Stand> {
  const { platform, gateway, port, stop } = await startLayout('gateway of its own', databaseUrl);
  const url = `http://127.0.0.1:${port}`;
  const json = createJsonClient(url, 2 * STREAMS);
  const bytes = createByteClient(url, STREAMS);
  const teamId = await platform.customerTeam('bench');
  const runners: BenchRunner[] = [];
  for (let index = 0; index < STREAMS; index += 1) {
    const { token } = await platform.sdk.runners.createEnrollToken(teamId);
    runners.push(await enrollBenchRunner(json, url, { token, name: `bench-${index}`, byteClient: bytes }));
  }
  return {
    platform,
    gateway,
    teamId,
    runners,
    async [Symbol.asyncDispose]() {
      json.close();
      bytes.close();
      await stop();
    },
  };
}

interface Grant {
  readonly id: string;
  readonly epoch: number;
}

async function grantTo(runner: BenchRunner, { platform, teamId }: Stand): Promise<Grant> {
  await platform.sdk.sandboxRuns.create(teamId, { command: ['true'], limits: { outputBytes: RUN_BYTES } });
  for (;;) {
    const { status, body } = await runner.call('poll', { waitMs: 5_000 });
    if (status !== 200) throw new Error(`poll answered ${status}: ${JSON.stringify(body)}`);
    const offer = body['run'] as Grant | undefined;
    if (offer !== undefined) return { id: offer.id, epoch: offer.epoch };
  }
}

/** Appends to one run after another until `more` says that it is enough. */
async function write(
  runner: BenchRunner,
  stand: Stand,
  { chunk, more }: { readonly chunk: Buffer; readonly more: () => boolean },
): Promise<void> {
  const chunks = JSON.stringify([{ stream: 'stdout', data: chunk.toString('base64') }]);
  while (more()) {
    const { id, epoch } = await grantTo(runner, stand);
    for (let offset = 0; offset + chunk.length <= RUN_BYTES && more(); offset += chunk.length) {
      const body = Buffer.from(`{"id":"${id}","epoch":${epoch},"offset":${offset},"chunks":${chunks}}`);
      const status = await runner.send(`/runners/${runner.id}/logs`, 'application/json', body);
      if (status !== 200) throw new Error(`append at ${offset} of ${id} answered ${status}`);
    }
    await runner.call('report', { id, epoch, reportId: `bench-${id}`, reason: 'exit', exitCode: 0 });
  }
}

interface Passed {
  readonly perSecond: number;
  readonly grownMb: number;
  readonly notes: string;
}

async function pass(stand: Stand, chunk: Buffer, bytes: number): Promise<Passed> {
  let left = bytes / chunk.length;
  const programs = [stand.gateway, stand.platform.server];
  const before = programs.map(resident);
  const cpuBefore = programs.map(cpuSeconds);
  let peak = before;
  const watch = setInterval(() => (peak = programs.map((p, i) => Math.max(peak[i] ?? 0, resident(p)))), 100);
  const startedAt = performance.now();
  const selfBefore = process.cpuUsage();
  await Promise.all(
    stand.runners.map(async (runner) => await write(runner, stand, { chunk, more: () => (left -= 1) >= 0 })),
  );
  const seconds = (performance.now() - startedAt) / 1000;
  clearInterval(watch);
  const self = process.cpuUsage(selfBefore);
  const cpu = programs.map((p, i) => cpuSeconds(p) - (cpuBefore[i] ?? 0));
  const grown = programs.map((_, i) => (peak[i] ?? 0) - (before[i] ?? 0));
  return {
    perSecond: bytes / 1e6 / seconds,
    grownMb: Math.max(...grown),
    notes:
      `${(bytes / MEBIBYTE).toFixed(0)} MiB in ${seconds.toFixed(1)} s; processor seconds: gateway ${cpu[0]?.toFixed(1)}, server ${cpu[1]?.toFixed(1)}, ` +
      `this generator ${((self.user + self.system) / 1e6).toFixed(1)}; resident MiB before ${before.map((mb) => mb.toFixed(0)).join(' and ')}, ` +
      `at most ${peak.map((mb) => mb.toFixed(0)).join(' and ')}`,
  };
}

/**
 * A run with so much output, put into the database by itself: through the front door it would take as long as
 * everything else.
 */
async function runWithOutput(url: string, { platform, teamId }: Stand, bytes: number): Promise<string> {
  const { id } = await platform.sdk.sandboxRuns.create(teamId, { command: ['true'] });
  const sql = postgres(url, { max: 1, onnotice: () => undefined });
  const segments = bytes / CHUNK;
  await sql`
    update work_items set state = 'succeeded', finished_at = now(), epoch = 1, log_offset = ${bytes}, log_bytes = ${bytes},
      log_limit = ${bytes}, log_complete = true, log_day = (now() at time zone 'UTC')::date
    where id = ${id}`;
  const chunk = logLines(CHUNK);
  await sql`
    insert into work_logs (work_id, team_id, day, epoch, "offset", runs, data, at)
    select ${id}, ${teamId}, (now() at time zone 'UTC')::date, 1, n * ${CHUNK}::int, array[1, ${CHUNK}::int], ${chunk}::bytea, now()
    from generate_series(0, ${segments - 1}::int) n`;
  await sql`analyze work_logs`;
  await sql.end();
  return id;
}

async function tailMs({ platform }: Stand, runId: string): Promise<number> {
  const headers = { authorization: `Bearer ${platform.bootstrap.apiKey}`, accept: 'application/x-ndjson' };
  const url = `${platform.url}/sandbox-runs/${runId}/logs?follow=false&tailBytes=${TAIL_BYTES}`;
  const startedAt = performance.now();
  const response = await fetch(url, { headers });
  const lines = (await response.text()).trim().split('\n');
  const took = performance.now() - startedAt;
  const length = lines.reduce(
    (sum, line) => sum + String((JSON.parse(line) as { text?: string }).text).length,
    0,
  );
  if (response.status !== 200 || length !== TAIL_BYTES)
    throw new Error(`a tail answered ${response.status} and ${length} characters instead of ${TAIL_BYTES}`);
  return took;
}

async function tails(stand: Stand, url: string): Promise<readonly [number, number]> {
  const small = await runWithOutput(url, stand, 10 * MEBIBYTE);
  const large = await runWithOutput(url, stand, 1024 * MEBIBYTE);
  const took: { small: number[]; large: number[] } = { small: [], large: [] };
  // They are read in turns, so that what else the machine does hits both alike; the first ones warm up.
  for (let read = -20; read < TAIL_READS; read += 1) {
    const [s, l] = [await tailMs(stand, small), await tailMs(stand, large)];
    if (read < 0) continue;
    took.small.push(s);
    took.large.push(l);
  }
  return [median(took.small), median(took.large)];
}

const MASK_MS = 2_000;
const SECRETS = 20;

/** MB/s of one thread that does `work` with the same chunk over and over. */
function rateOf(chunk: Buffer, work: (chunk: Buffer) => unknown): number {
  let bytes = 0;
  const startedAt = performance.now();
  while (performance.now() - startedAt < MASK_MS) {
    work(chunk);
    bytes += chunk.length;
  }
  return bytes / 1e6 / ((performance.now() - startedAt) / 1000);
}

/**
 * Masking and cutting of lines as the daemon does it, beside the SHA-256 that it computes of the same bytes
 * anyway.
 */
function masking(): Figure {
  const secrets = Array.from({ length: SECRETS }, () => randomBytes(24).toString('base64'));
  const piece = logLines(65_536);
  const hidden = Buffer.concat([piece, Buffer.from(`token=${secrets[3] ?? ''}\n`)]);
  const stream = limitLines(createMasker(secrets).stream());
  if (stream.push(hidden).includes(secrets[3] ?? '')) throw new Error('the masker let a secret through');
  return figure({
    name: `masking and cutting lines, ${SECRETS} secrets, one thread of the daemon`,
    value: rateOf(piece, (chunk) => stream.push(chunk)),
    unit: 'MB/s',
    reference: 'SHA-256 of the same',
    referenceValue: rateOf(piece, (chunk) => createHash('sha256').update(chunk).digest()),
    target: '≥ 100 MB/s',
    pass: (value) => value >= 100,
  });
}

export async function run(): Promise<Figure[]> {
  const chunk = logLines(CHUNK);
  await using first = await freshDatabase();
  const bare = await bareInserts(first.url, chunk);
  await using second = await freshDatabase();
  await using stand = await start(second.url);
  await pass(stand, chunk, WARM_BYTES);
  const passed = await pass(stand, chunk, PASSED_BYTES);
  console.error(`logs: ${passed.notes}`);
  const [small, large] = await tails(stand, second.url);
  return [
    masking(),
    figure({
      name: `log lines through gateway and server, ${STREAMS} runs`,
      value: passed.perSecond,
      unit: 'MB/s',
      reference: 'the same bytes by bare inserts',
      referenceValue: bare,
      target: '≥ 0.5 ×',
      pass: (_, ratio) => ratio >= 0.5,
    }),
    figure({
      name: `growth of memory while ${PASSED_BYTES / MEBIBYTE} MiB pass, gateway or server`,
      value: passed.grownMb,
      unit: 'MB',
      reference: 'what passed',
      referenceValue: PASSED_BYTES / 1e6,
      target: '≤ 100 MB',
      pass: (value) => value <= 100,
    }),
    figure({
      name: 'last 64 KiB of a log of 1 GB, p50',
      value: large,
      unit: 'ms',
      reference: 'of a log of 10 MB',
      referenceValue: small,
      target: '≤ 1.5 ×',
      pass: (_, ratio) => ratio <= 1.5,
    }),
  ];
}
