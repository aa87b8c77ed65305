/**
 * Measures a claim in the service's pool while 2,000 teams wait there, beside one while 10 do. The polls come
 * one at a time, in both pools in turn, and every team keeps something waiting.
 */
import { createWorld, type World } from '../setup/work/world.ts';
import { figure, median, type Figure } from './figure.ts';

const FEW = 10;
const MANY = 2_000;
const CLAIMS = 100;
const ROUNDS = 5;
/** Submissions at once. */
const TOGETHER = 50;

async function poolOf(teams: number): Promise<World> {
  const world = await createWorld();
  const each = Math.ceil((2 * CLAIMS * ROUNDS) / teams) + 1;
  for (let n = 0; n < teams; n += TOGETHER)
    await Promise.all(
      Array.from({ length: Math.min(TOGETHER, teams - n) }, async () => {
        const team = await world.team('service');
        for (let item = 0; item < each; item += 1) await world.submit(team);
      }),
    );
  return world;
}

async function claims(world: World, runner: string): Promise<number> {
  const samples: number[] = [];
  for (let n = 0; n < CLAIMS; n += 1) {
    const startedAt = performance.now();
    if ((await world.poll(runner)) === undefined) throw new Error('a claim found nothing');
    samples.push(performance.now() - startedAt);
  }
  return median(samples);
}

export async function run(): Promise<Figure[]> {
  const worlds = [await poolOf(FEW), await poolOf(MANY)] as const;
  try {
    const sides = await Promise.all(
      worlds.map(async (world) => ({
        world,
        runner: await world.runner(world.poolTeamId),
        samples: [] as number[],
      })),
    );
    // The first ones have plans made and pages read.
    for (const { world, runner } of sides) await claims(world, runner);
    for (let round = 0; round < ROUNDS - 1; round += 1)
      for (const { world, runner, samples } of sides) samples.push(await claims(world, runner));
    const [few, many] = sides.map(({ samples }) => median(samples));
    return [
      figure({
        name: `claim in a pool of ${MANY} waiting teams, p50`,
        value: many!,
        unit: 'ms',
        reference: `of ${FEW}`,
        referenceValue: few!,
        target: '≤ 1.3 ×',
        pass: (_, ratio) => ratio <= 1.3,
      }),
    ];
  } finally {
    for (const world of worlds) await world.drop();
  }
}
