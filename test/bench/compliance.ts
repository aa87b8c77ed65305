/**
 * This benchmark measures a compliance package over a ledger of 100,000 entries beside the export of the same
 * ledger, in turn: entries a second, and what the server's memory grows by. The first one comes to a server
 * that has done nothing before.
 */
import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import postgres from 'postgres';
import { entryHash, NO_HASH } from '../../server/kit/ledger/entry.ts';
import { startPlatform, type Platform } from '../e2e/platform.ts';
import { freshDatabase } from './database.ts';
import { figure, median, type Figure } from './figure.ts';
import { watchResident } from './resident.ts';

const ENTRIES = 100_000;
const AT_ONCE = 1_000;
const ROUNDS = 3;
const LOOK_EVERY_MS = 20;
const GROWTH_MIB_MAX = 128;
/** More than its last event has. */
const END_CHARS = 2_000;
const HOUR_MS = 60 * 60_000;

interface Chain {
  readonly chain: string;
  readonly fromMs: number;
}

/** The rows are written as if each had been an act, so that the hashes are right. */
async function fillLedger(sql: postgres.Sql, { chain, fromMs }: Chain): Promise<void> {
  const [head] = await sql<Array<{ seq: number; hash: string }>>`
    select seq, hash from audit_heads where chain = ${chain}`;
  let { seq, hash } = head ?? { seq: 0, hash: NO_HASH };
  for (let done = 0; done < ENTRIES; done += AT_ONCE) {
    const rows = Array.from({ length: AT_ONCE }, (_, n) => {
      const target = `bld_${String(done + n).padStart(26, '0')}`;
      const details = { buildId: target, environmentId: 'env_bench', branch: 'main', commit: 'c'.repeat(40) };
      const actor = { kind: 'api_key', id: 'key_bench', display: 'anna (ci)' } as const;
      const at = fromMs + done + n;
      const content = { action: 'build.submitted', actor, at, details, requestId: `req_${target}`, target };
      const previousHash = hash;
      seq += 1;
      hash = entryHash({ chain, seq, previousHash }, content);
      const { action, requestId } = content;
      return {
        chain,
        seq,
        at,
        actor_kind: actor.kind,
        actor_id: actor.id,
        actor_display: actor.display,
        action,
        target,
        details,
        request_id: requestId,
        previous_hash: previousHash,
        hash,
      };
    });
    await sql`insert into audit_entries ${sql(rows)}`;
  }
  await sql`
    insert into audit_heads (chain, seq, hash) values (${chain}, ${seq}, ${hash})
    on conflict (chain) do update set seq = excluded.seq, hash = excluded.hash`;
  await sql`vacuum analyze audit_entries`;
}

/** Milliseconds until the package is there. */
async function assembled(
  { sdk }: Platform,
  teamId: string,
  period: readonly [string, string],
): Promise<number> {
  const began = performance.now();
  const { id } = await sdk.compliance.assemble(teamId, ...period);
  for (;;) {
    const { state, reason } = await sdk.compliance.get(teamId, id);
    if (state === 'assembled') return performance.now() - began;
    if (state !== 'assembling') throw new Error(`the package is ${state}: ${reason ?? ''}`);
    await sleep(LOOK_EVERY_MS);
  }
}

async function exported({ url, bootstrap }: Platform, teamId: string): Promise<number> {
  const began = performance.now();
  const headers = { authorization: `Bearer ${bootstrap.apiKey}` };
  const response = await fetch(`${url}/teams/${teamId}/audit/export`, { headers });
  let end = '';
  for await (const piece of response.body ?? [])
    end = (end + Buffer.from(piece).toString('latin1')).slice(-END_CHARS);
  if (!end.includes('"checkpoint"')) throw new Error(`the export ends without a checkpoint: ${end}`);
  return performance.now() - began;
}

export async function run(): Promise<Figure[]> {
  await using database = await freshDatabase();
  const platform = await startPlatform({ DATABASE_URL: database.url, LIMIT_REQUESTS_PER_MINUTE: '10000000' });
  const sql = postgres(database.url, { max: 1, onnotice: () => undefined });
  try {
    const teamId = await platform.customerTeam('bench');
    const fromMs = Date.now() - HOUR_MS;
    await fillLedger(sql, { chain: teamId, fromMs });
    const samples = { ours: [] as number[], theirs: [] as number[] };
    const memory: Array<{ readonly before: number; readonly peak: number }> = [];
    for (let round = 0; round < ROUNDS; round += 1) {
      const { before, stop } = watchResident(platform.server);
      const times = [fromMs - HOUR_MS, Date.now() + HOUR_MS].map((ms) => new Date(ms).toISOString());
      samples.ours.push(ENTRIES / (await assembled(platform, teamId, times as [string, string])));
      memory.push({ before, peak: stop() });
      samples.theirs.push(ENTRIES / (await exported(platform, teamId)));
    }
    const grown = memory.toSorted((a, b) => b.peak - b.before - (a.peak - a.before))[0]!;
    return [
      figure({
        name: `a package of ${ENTRIES.toLocaleString('en')} entries of the ledger`,
        value: 1_000 * median(samples.ours),
        unit: 'entries/s',
        reference: 'audit export of the same',
        referenceValue: 1_000 * median(samples.theirs),
        target: '≥ 0.5 ×',
        pass: (_, ratio) => ratio >= 0.5,
      }),
      figure({
        name: `memory of the server meanwhile, the worst of ${ROUNDS}`,
        value: grown.peak,
        unit: 'MiB',
        reference: 'before',
        referenceValue: grown.before,
        target: `+ ≤ ${GROWTH_MIB_MAX} MiB`,
        pass: (value) => value - grown.before <= GROWTH_MIB_MAX,
      }),
    ];
  } finally {
    await sql.end();
    await platform.stop();
  }
}
