/**
 * A simulation of 1,000 gates over HTTP, beside the bare plans on values that were made before; and how late
 * the server's event loop is meanwhile.
 */
import { parse, plan } from '@bufbuild/cel';
import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { storePackageSet } from '../../server/delivery/artifacts/sbom/store.ts';
import { language } from '../../server/delivery/policies/engine/language.ts';
import { bindingsOf } from '../../server/delivery/policies/engine/values.ts';
import { keepGate } from '../../server/delivery/policies/gate-log.ts';
import { openDatabase, type Database } from '../../server/base/db/index.ts';
import { newId } from '../../server/base/ids.ts';
import { startPlatform, type Platform } from '../e2e/platform.ts';
import { freshDatabase } from './database.ts';
import { figure, median, type Figure } from './figure.ts';
import { artifactOf, inputOf, packagesOf, PACKAGES, RULES } from './policy-data.ts';

const GATES = 1_000;
/** Number of gates that see the same packages. */
const GATES_OF_SET = 50;
const ROUNDS = 3;
const SECONDS_MAX = 10;
const LAG_MS_MAX = 20;
const PROBE = new URL('reference/loop-lag.mjs', import.meta.url).pathname;

async function recordGates({ sql }: Database, teamId: string): Promise<void> {
  const { artifacts: _artifacts, ...input } = inputOf();
  let set = 0;
  for (let n = 0; n < GATES; n += 1) {
    if (n % GATES_OF_SET === 0) {
      const packages = packagesOf(n).map((each) => ({
        ...each,
        nameKey: each.name,
        sourceKey: null,
        purl: `pkg:npm/${each.name}@${each.version}`,
      }));
      set = (await storePackageSet(sql, teamId, packages)).setId;
    }
    const at = new Date();
    const artifact = { ...artifactOf(), id: `art_${n}`, packages: set };
    await keepGate(sql, {
      gateId: newId('pgt', at.getTime()),
      at,
      passage: { action: 'deploy', teamId, subject: `bld_${n}` },
      input: { ...input, artifacts: [artifact] },
      verdicts: [],
      outcome: 'allow',
      denied: [],
      overrideReason: null,
    });
  }
}

/** Returns the milliseconds that one simulation took. */
async function simulated({ sdk }: Platform, teamId: string, policyId: string): Promise<number> {
  const began = performance.now();
  const { replayed, unchanged, truncated } = await sdk.policies.simulate(teamId, policyId, GATES);
  const ms = performance.now() - began;
  if (replayed !== GATES || unchanged !== GATES || truncated)
    throw new Error(`${replayed} gates were replayed, ${unchanged} as before, expected ${GATES}`);
  return ms;
}

function bare(): number {
  const plans = RULES.map((require) => plan(language, parse(require)));
  const bindings = bindingsOf(inputOf());
  const began = performance.now();
  for (let n = 0; n < GATES; n += 1)
    if (!plans.every((holds) => holds(bindings) === true)) throw new Error('a rule does not hold');
  return performance.now() - began;
}

interface Lag {
  readonly p99: number;
  readonly max: number;
}

/** Measures the lag in the time since it was asked before. */
function lagOf({ server }: Platform): () => Promise<Lag> {
  let round = 0;
  return async () => {
    round += 1;
    server.child.kill('SIGUSR2');
    const [, p99, max] = await server.says(
      new RegExp(`loop lag ${round}: p99 ([\\d.]+) ms, max ([\\d.]+) ms`),
    );
    return { p99: Number(p99), max: Number(max) };
  };
}

export async function run(): Promise<Figure[]> {
  await using database = await freshDatabase();
  const platform = await startPlatform({
    DATABASE_URL: database.url,
    LIMIT_REQUESTS_PER_MINUTE: '10000000',
    NODE_OPTIONS: `--import ${PROBE}`,
  });
  const db = openDatabase({ url: database.url, max: 2 });
  try {
    const teamId = await platform.customerTeam('bench');
    const { id } = await platform.sdk.policies.create(teamId, {
      name: 'bench',
      document: {
        on: ['deploy'],
        rules: RULES.map((require, n) => ({ id: `rule-${n}`, message: 'not so', require })),
      },
    });
    await recordGates(db, teamId);
    const lag = lagOf(platform);
    const samples = { ours: [] as number[], theirs: [] as number[] };
    const lags = { ours: [] as Lag[], theirs: [] as Lag[] };
    for (let round = 0; round < ROUNDS; round += 1) {
      samples.theirs.push(bare());
      await lag();
      await sleep(median(samples.ours) || 1_000);
      lags.theirs.push(await lag());
      samples.ours.push(await simulated(platform, teamId, id));
      lags.ours.push(await lag());
    }
    const late = (all: readonly Lag[]): number => median(all.map(({ p99 }) => p99));
    const max = median(lags.ours.map((each) => each.max));
    return [
      figure({
        name: `a simulation of ${GATES.toLocaleString('en')} gates, ${RULES.length} rules over ${PACKAGES} packages each`,
        value: median(samples.ours) / 1_000,
        unit: 's',
        reference: 'the bare plans',
        referenceValue: median(samples.theirs) / 1_000,
        target: `≤ ${SECONDS_MAX} s`,
        pass: (value) => value <= SECONDS_MAX,
      }),
      figure({
        name: `lag of the server's event loop meanwhile, p99 (max ${max.toFixed(0)} ms)`,
        value: late(lags.ours),
        unit: 'ms',
        reference: 'with nothing to do',
        referenceValue: late(lags.theirs),
        target: `≤ ${LAG_MS_MAX} ms`,
        pass: (value) => value <= LAG_MS_MAX,
      }),
    ];
  } finally {
    await db.close();
    await platform.stop();
  }
}
