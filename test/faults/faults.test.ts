/**
 * Short schedules of faults on two servers, two gateways, one RabbitMQ and a PostgreSQL in two, and the proof
 * that the judge can see: of the servers that are wrong on purpose the one of today. great.test.ts has the
 * great schedule and all others, and `npm run faults` more seeds.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ofToday } from '../nightly.ts';
import { has } from '../setup/needs.ts';
import { describeViolations } from './checker.ts';
import { catchMutant, LIMIT_MS, SEED } from './mutant-story.ts';
import { MUTANT_NAMES, MUTANTS } from './mutants.ts';
import type { Rig } from './rig.ts';
import { playOn, runScenario, startRigFor } from './scenario.ts';
import { shortScenario, soundScenario } from './scenarios.ts';
import { summarise } from './summary.ts';
import { prepareSurroundings, type SharedSurroundings } from './surroundings.ts';
import { isClean } from './tally.ts';

const here = (await has('replication')) && (await has('rabbitmq')) && (await has('pgbouncer'));

describe.skipIf(!here)('faults', () => {
  let shared: SharedSurroundings;

  beforeAll(async () => {
    shared = await prepareSurroundings((line) => console.log(line), { size: 'pair' });
  }, 120_000);
  afterAll(async () => {
    await shared.stop();
  });

  // Kinds of faults that the great schedule does not have; `npm run faults -- --schedules N` runs any number
  // of all of them, as here several on one rig.
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

  const name = ofToday(MUTANT_NAMES);
  it(
    `catches a server that is wrong, today: ${MUTANTS[name].what}`,
    async () => await catchMutant(name, shared),
    LIMIT_MS,
  );
});
