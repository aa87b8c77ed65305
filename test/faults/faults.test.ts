/**
 * The promise of dispatch under fire: 2,000 runs on two servers, two gateways, one RabbitMQ and a PostgreSQL in two, while everything is killed in turn. Then the
 * proof that the judge can see: servers that are wrong on purpose, each of which it must catch. `npm run faults` runs more seeds.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { has } from '../setup/needs.ts';
import { describeViolations } from './checker.ts';
import { damageOf, MUTANT_NAMES, MUTANTS } from './mutants.ts';
import type { Rig } from './rig.ts';
import { playOn, runScenario, startRigFor } from './scenario.ts';
import { greatScenario, mutantScenario, shortScenario, soundScenario } from './scenarios.ts';
import { summarise } from './summary.ts';
import { prepareSurroundings } from './surroundings.ts';
import type { SharedSurroundings } from './surroundings.ts';
import { isClean } from './tally.ts';

const here = (await has('replication')) && (await has('rabbitmq')) && (await has('pgbouncer'));

/** FAULTS_SEED repeats a run that failed. */
const SEED = Number(process.env['FAULTS_SEED'] ?? 20_261_120);
const RUNS = 2_000;
/** So many schedules has a mutant to be caught by. */
const MUTANT_SEEDS = 3;
/** Far beyond what it takes: the machine may be busy with the other tests. */
const LIMIT_MS = 300_000;

describe.skipIf(!here)('faults', () => {
  let shared: SharedSurroundings;

  beforeAll(async () => {
    shared = await prepareSurroundings((line) => console.log(line), { size: 'pair' });
  }, 120_000);
  afterAll(async () => {
    await shared.stop();
  });

  it(
    `${RUNS} runs, everything killed in turn → every run ends with exactly one accepted report, leases never overlap (seed ${SEED})`,
    async () => {
      const verdict = await runScenario(greatScenario(SEED, RUNS), shared);
      console.log(summarise(verdict).join('\n'));
      if (verdict.violations.length > 0) shared.keep();
      expect(
        verdict.violations.length,
        `${describeViolations(verdict.violations)}\njournals and logs: ${shared.folder}`,
      ).toBe(0);
      expect(verdict.crashes, 'programs that ended by themselves').toEqual([]);
      expect(verdict.rest.how).toBe('done');
      const unended = verdict.history.items.filter(
        ({ state }) => state !== 'succeeded' && state !== 'failed',
      );
      expect(unended, 'runs that did not end by a report').toEqual([]);
      expect(verdict.history.items.length).toBeGreaterThan(RUNS * 0.98); // the others were refused on purpose
    },
    LIMIT_MS,
  );

  // Kinds of faults that the great schedule does not have; `npm run faults -- --schedules N` runs any number of all of them, as here several on one rig.
  describe('a few seconds of faults with builds and a second team → every promise is kept', () => {
    let rig: Rig;
    const rows = {
      'database and clocks': ['postgres', 'clock-runner', 'terminate'],
      networks: ['partition', 'answers-lost', 'drain'],
      'a database in two': ['promote-lag', 'demote', 'pooler'],
    } as const;
    beforeAll(async () => {
      rig = await startRigFor(shortScenario(SEED), shared, 'short-rig');
    }, 120_000);
    afterAll(async () => {
      await rig.stop();
    });
    it.each([
      ['database and clocks', SEED],
      ['networks', SEED + 1],
      ['a database in two', SEED + 2],
    ] as const)(
      '%s (seed %i)',
      async (about, seed) => {
        const verdict = await playOn(rig, shortScenario(seed, rows[about]), shared);
        console.log(summarise(verdict).join('\n'));
        if (!isClean(verdict)) shared.keep();
        expect(verdict.violations.length, describeViolations(verdict.violations)).toBe(0);
        expect(verdict.crashes, 'programs that ended by themselves').toEqual([]);
        expect(isClean(verdict), `${verdict.rest.how}, ${verdict.history.items.length} items`).toBe(true);
        expect(verdict.history.items.filter(({ kind }) => kind === 'build').length).toBeGreaterThan(0);
      },
      LIMIT_MS,
    );
  });

  it(
    'connections are full and then cut, again and again → what was acknowledged is there',
    async () => {
      const verdict = await runScenario(soundScenario('shared-connection', SEED), shared);
      console.log(summarise(verdict).join('\n'));
      expect(verdict.violations.length, describeViolations(verdict.violations)).toBe(0);
      expect(verdict.crashes, 'programs that ended by themselves').toEqual([]);
    },
    LIMIT_MS,
  );

  for (const name of MUTANT_NAMES) {
    it(
      `catches a server that is wrong: ${MUTANTS[name].what}`,
      async () => {
        // What goes wrong depends on what meets what: where nothing did, the next seed is played.
        const found: string[] = [];
        for (let seed = SEED; seed < SEED + MUTANT_SEEDS; seed += 1) {
          const verdict = await runScenario(mutantScenario(name, seed), await shared.withMutant(name));
          const damage = damageOf(name, verdict);
          console.log(
            `${summarise(verdict).join('\n')}\n${name}: caught by ${damage.length} violations, the first:\n${describeViolations(damage.slice(0, 1))}`,
          );
          if (damage.length > 0) return;
          found.push(`seed ${seed}:\n${describeViolations(verdict.violations)}`);
        }
        expect.fail(`not caught; all that was found:\n${found.join('\n')}`);
      },
      LIMIT_MS,
    );
  }
});
