/**
 * This story tests the promise of dispatch under fire: 2,000 runs on two servers, two gateways, one RabbitMQ
 * and a PostgreSQL in two, while everything is killed in turn. Then come servers that are wrong on purpose,
 * all but the one of today, which faults.test.ts plays. `npm run faults` runs more seeds.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { others } from '../nightly.ts';
import { has } from '../setup/needs.ts';
import { describeViolations } from './checker.ts';
import { catchMutant, LIMIT_MS, SEED } from './mutant-story.ts';
import { MUTANT_NAMES, MUTANTS } from './mutants.ts';
import { runScenario } from './scenario.ts';
import { greatScenario } from './scenarios.ts';
import { summarise } from './summary.ts';
import { prepareSurroundings, type SharedSurroundings } from './surroundings.ts';

const here = (await has('replication')) && (await has('rabbitmq')) && (await has('pgbouncer'));

const RUNS = 2_000;

describe.skipIf(!here)('great faults', () => {
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

  for (const name of others(MUTANT_NAMES))
    it(
      `catches a server that is wrong: ${MUTANTS[name].what}`,
      async () => await catchMutant(name, shared),
      LIMIT_MS,
    );
});
