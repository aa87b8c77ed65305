/**
 * The state machine is held against a model of it: random sequences of calls run on the SQL and on twenty
 * lines of plain data, which must agree on every answer and on the state after it. A failure prints the seed
 * and the shortest sequence that shows it. SVC_MODEL_RUNS sets how many.
 */
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { has } from '../../../test/setup/needs.ts';
import { cancel } from './cancel.ts';
import { revokeRunner } from './revoke.ts';
import { isFinal, TRANSITIONS, type WorkState } from './words.ts';
import { sweep } from './sweeper.ts';
import { NO_VIOLATIONS, violations } from '../../../test/setup/work/invariants.ts';
import { createWorld, type World } from '../../../test/setup/work/world.ts';

const HOUR = 3_600_000;
const RUNS = Number(process.env['SVC_MODEL_RUNS'] ?? 40);
const MAX_ATTEMPTS = 3;

interface Item {
  state: WorkState;
  epoch: number;
  attempt: number;
  /** Index of the runner and key of the poll of the last grant. */
  runner: number;
  poll: number;
  expired: boolean;
  cancelAsked: boolean;
  report: { readonly epoch: number; readonly key: string } | undefined;
}

interface Model {
  readonly items: Item[];
  readonly revoked: Set<number>;
}

interface Real {
  readonly world: World;
  readonly team: string;
  readonly runners: string[];
  readonly ids: string[];
}

type Command = fc.AsyncCommand<Model, Real>;

const isHeld = (item: Item): boolean => item.state === 'offered' || item.state === 'running';

function move(item: Item, to: WorkState): void {
  if (item.state !== to && !TRANSITIONS[item.state].includes(to))
    throw new Error(`the model moved from ${item.state} to ${to}`);
  item.state = to;
}

function loseHolder(item: Item): void {
  if (item.cancelAsked) move(item, 'cancelled');
  else move(item, item.attempt >= MAX_ATTEMPTS || item.epoch >= 20 ? 'dead' : 'queued');
  item.expired = false;
}

/** The row must be what the model says, after every command. */
async function agree(model: Model, { world, ids }: Real): Promise<void> {
  const rows = await world.db.sql<Array<{ id: string; state: WorkState; epoch: number; attempt: number }>>`
    select id, state, epoch, attempt from work_items where id = any(${ids}::text[])`;
  const byId = new Map(rows.map((row) => [row.id, row]));
  const real = ids
    .map((id) => byId.get(id))
    .map((row) => ({ state: row?.state, epoch: row?.epoch, attempt: row?.attempt }));
  expect(real).toEqual(model.items.map(({ state, epoch, attempt }) => ({ state, epoch, attempt })));
}

const command = (name: string, run: (model: Model, real: Real) => Promise<void>): Command => ({
  check: () => true,
  run: async (model, real) => {
    await run(model, real);
    await agree(model, real);
  },
  toString: () => name,
});

const submitCommand = (): Command =>
  command('submit', async (model, { world, team, ids }) => {
    if (ids.length >= 4) return;
    const id = await world.submit(team);
    await world.db.sql`update work_items set max_attempts = ${MAX_ATTEMPTS} where id = ${id}`;
    ids.push(id);
    model.items.push({
      state: 'queued',
      epoch: 0,
      attempt: 0,
      runner: -1,
      poll: -1,
      expired: false,
      cancelAsked: false,
      report: undefined,
    });
  });

const pollCommand = (runner: number, poll: number): Command =>
  command(`poll(${runner}, ${poll})`, async (model, { world, runners, ids }) => {
    const got = await world
      .poll(runners[runner]!, `poll-${poll}`)
      .catch((error: { code?: string }) => error.code);
    if (model.revoked.has(runner)) return expect(got).toBeUndefined();
    const standing = model.items.findIndex(
      (item) => isHeld(item) && item.runner === runner && item.poll === poll,
    );
    const held = model.items[standing];
    if (held !== undefined) {
      const isOffered = held.state === 'offered' && !held.expired;
      return expect(got).toEqual(
        isOffered ? expect.objectContaining({ workId: ids[standing], epoch: held.epoch }) : undefined,
      );
    }
    // Ids of one millisecond have no order: any queued item may come first.
    const taken = typeof got === 'object' ? ids.indexOf(got.workId) : -1;
    const item = model.items[taken];
    if (item === undefined) return expect(model.items.filter((each) => each.state === 'queued')).toEqual([]);
    move(item, 'offered');
    item.epoch += 1;
    Object.assign(item, { runner, poll, expired: false });
    expect(got).toMatchObject({ epoch: item.epoch, attempt: item.attempt + 1 });
  });

const beatCommand = (runner: number, which: number, off: number): Command =>
  command(`beat(${runner}, ${which}, ${off})`, async (model, { world, runners, ids }) => {
    const item = model.items[which];
    if (item === undefined) return;
    const word = await world.beat(runners[runner]!, { id: ids[which]!, epoch: item.epoch + off });
    const isOurs =
      isHeld(item) && item.runner === runner && off === 0 && !item.expired && !model.revoked.has(runner);
    if (!isOurs) return expect(word).toBe('superseded');
    if (item.cancelAsked) return expect(word).toBe('cancelled');
    expect(word).toBe('ok');
    if (item.state === 'offered') item.attempt += 1;
    move(item, 'running');
  });

const reportCommand = (runner: number, which: number, off: number, exitCode: number): Command =>
  command(`report(${runner}, ${which}, ${off}, ${exitCode})`, async (model, { world, runners, ids }) => {
    const item = model.items[which];
    if (item === undefined) return;
    const epoch = item.epoch + off;
    const key = `report-of-${runner}`;
    const got = await world
      .report(runners[runner]!, { id: ids[which]!, epoch, reportId: key, exitCode })
      .catch((error: { code?: string }) => error.code);
    if (isHeld(item) && item.runner === runner && off === 0) {
      expect(got).toEqual({ repeated: false });
      if (item.state === 'offered') item.attempt += 1;
      item.report = { epoch, key: `${key} ${exitCode}` };
      return move(item, exitCode === 0 ? 'succeeded' : 'failed');
    }
    const isSame =
      item.report !== undefined && item.report.epoch === epoch && item.report.key === `${key} ${exitCode}`;
    expect(got).toEqual(isSame ? { repeated: true } : 'stale_epoch');
  });

const cancelCommand = (which: number): Command =>
  command(`cancel(${which})`, async (model, { world, team, ids }) => {
    const item = model.items[which];
    if (item === undefined) return;
    const got = await cancel(world.db.sql, [team], ids[which]!);
    const notifyRunner = isHeld(item) && !item.cancelAsked;
    if (!isFinal(item.state)) item.cancelAsked = true;
    if (item.state === 'queued') move(item, 'cancelled');
    expect(got).toMatchObject({ state: item.state, notifyRunner });
  });

const expireCommand = (which: number): Command =>
  command(`expire(${which})`, async (model, { world, ids }) => {
    const item = model.items[which];
    if (item === undefined) return;
    await world.expire(ids[which]!);
    if (isHeld(item)) item.expired = true;
  });

const sweepCommand = (): Command =>
  command('sweep', async (model, { world, ids }) => {
    await Promise.all([sweep(world.db.sql, world.settings), sweep(world.db.sql, world.settings)]);
    // The wait before the next grant is a matter of time, not of state.
    await world.db.sql`update work_items set run_after = now() where id = any(${ids}::text[])`;
    for (const item of model.items) if (isHeld(item) && item.expired) loseHolder(item);
  });

const revokeCommand = (runner: number): Command =>
  command(`revoke(${runner})`, async (model, { world, team, runners }) => {
    await revokeRunner(world.db.sql, world.settings, { teamId: team, runnerId: runners[runner]! });
    model.revoked.add(runner);
    for (const item of model.items) if (isHeld(item) && item.runner === runner) loseHolder(item);
  });

const anyRunner = fc.nat({ max: 2 });
const anyItem = fc.nat({ max: 3 });
const anyOffset = fc.constantFrom(0, 0, 0, 0, -1, 1);
const commands = [
  fc.constant(submitCommand()),
  fc.tuple(anyRunner, fc.nat({ max: 2 })).map(([runner, poll]) => pollCommand(runner, poll)),
  fc.tuple(anyRunner, anyItem, anyOffset).map(([runner, which, off]) => beatCommand(runner, which, off)),
  fc
    .tuple(anyRunner, anyItem, anyOffset, fc.nat({ max: 1 }))
    .map(([runner, which, off, code]) => reportCommand(runner, which, off, code)),
  anyItem.map(cancelCommand),
  anyItem.map(expireCommand),
  fc.constant(sweepCommand()),
  // Rare, or every run ends with nobody left.
  fc.constantFrom(0, 1, 2, 3, 4, 5, 6, 7, 8).map((n) => (n === 8 ? revokeCommand(2) : submitCommand())),
];

describe.skipIf(!(await has('postgres')))('the state machine', () => {
  let world: World;
  beforeAll(async () => {
    // Time passes by command alone, however busy the machine is.
    world = await createWorld({ graceMs: 1, offerMs: HOUR, leaseMs: HOUR });
  });
  afterAll(async () => await world.drop());

  it('agrees with its model on every answer and every state', { timeout: 600_000 }, async () => {
    const property = fc.asyncProperty(
      fc.commands(commands, { maxCommands: 40, size: 'max' }),
      async (sequence) => {
        const setup = async (): Promise<{ model: Model; real: Real }> => {
          const team = await world.team();
          const runners = [await world.runner(team), await world.runner(team), await world.runner(team)];
          return { model: { items: [], revoked: new Set() }, real: { world, team, runners, ids: [] } };
        };
        const made = await setup();
        await fc.asyncModelRun(() => made, sequence);
      },
    );
    const details = await fc.check(property, { numRuns: RUNS });
    console.log(`model: ${details.numRuns} runs, seed ${details.seed}`);
    if (details.failed)
      throw new Error(await fc.asyncDefaultReportMessage(details), { cause: details.errorInstance });
    expect(await violations(world.db.sql)).toEqual(NO_VIOLATIONS);
  });
});
