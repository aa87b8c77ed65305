/**
 * Builds against a model of them: random sequences of what people, runners and time do, on the SQL and on
 * plain data, which must agree on every answer and on where each build stands after it. A failure prints the
 * seed and the shortest sequence that shows it. SVC_MODEL_RUNS sets how many.
 */
import { BuildsService, DeployDecision } from '@svc/proto/gen/svc/builds/v1/builds_pb.ts';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { has } from '../../../test/setup/needs.ts';
import { revokeRunner } from '../work/revoke.ts';
import { sweep } from '../work/sweeper.ts';
import { NO_VIOLATIONS, violations } from '../../../test/setup/work/invariants.ts';
import { createBuildWorld, type BuildWorld } from '../../../test/setup/builds/build-world.ts';

const RUNS = Number(process.env['SVC_MODEL_RUNS'] ?? 30);
const ATTEMPTS_MAX = 3;
const HOUR = 3_600_000;
const PUBLISHING = 3;
const DEPLOYING = 4;
const { method } = BuildsService;

interface Item {
  id: string;
  state: 'queued' | 'offered' | 'running' | 'ended';
  deployOnly: boolean;
  runner: number;
  epoch: number;
  attempt: number;
  phase: number;
  expired: boolean;
  cancelAsked: boolean;
}

interface Build {
  readonly id: string;
  readonly environment: number;
  state: 'open' | 'awaiting_approval' | 'succeeded' | 'failed' | 'cancelled';
  approval: 'none' | 'required' | 'approved' | 'rejected';
  needsDecision: boolean;
  /** Runner that its deploy came up on, or may have. */
  deployedOn?: number;
  item: Item;
}

interface Model {
  readonly builds: Build[];
  readonly revoked: Set<number>;
}

interface Real {
  readonly world: BuildWorld;
  readonly environments: readonly string[];
  readonly runners: readonly string[];
}

type Command = fc.AsyncCommand<Model, Real>;

/** The build that a number means, so that most commands meet one. */
const pick = ({ builds }: Model, which: number): Build | undefined =>
  builds[which % Math.max(1, builds.length)];
/** Mostly the runner that holds the item, or nearly every word would come from the wrong one. */
const speaker = ({ runner }: Item, n: number): number => (n > 2 ? Math.max(0, runner) : n);

const isOver = ({ state }: Build): boolean =>
  state === 'succeeded' || state === 'failed' || state === 'cancelled';
const isHeld = ({ state }: Item): boolean => state === 'offered' || state === 'running';
const holder = ({ builds }: Model, environment: number): Build | undefined =>
  builds.find((build) => build.environment === environment && !isOver(build));
const newItem = (id: string, deployOnly: boolean): Item => ({
  id,
  state: 'queued',
  deployOnly,
  runner: -1,
  epoch: 0,
  attempt: 0,
  phase: 0,
  expired: false,
  cancelAsked: false,
});

/** Tells whether its environment's last deploy leaves it to this runner. */
const mayHave = ({ builds, revoked }: Model, { environment, item }: Build, runner: number): boolean => {
  const last = builds.findLast((each) => each.environment === environment && each.deployedOn !== undefined);
  return (
    !item.deployOnly || last === undefined || last.deployedOn === runner || revoked.has(last.deployedOn!)
  );
};

function end(build: Build, state: 'succeeded' | 'failed' | 'cancelled', isLost = false): void {
  const { phase, runner } = build.item;
  if (phase >= DEPLOYING && (isLost || state === 'succeeded')) build.deployedOn = runner;
  build.item.state = 'ended';
  build.state = state === 'succeeded' && build.approval === 'required' ? 'awaiting_approval' : state;
}

function loseHolder(build: Build): void {
  const { item } = build;
  item.expired = false;
  if (item.cancelAsked) return end(build, 'cancelled', true);
  if (item.phase >= PUBLISHING) {
    end(build, 'failed', true);
    build.needsDecision = true;
    return;
  }
  if (item.attempt >= ATTEMPTS_MAX || item.epoch >= 20) return end(build, 'failed');
  Object.assign(item, { state: 'queued', phase: 0 });
}

async function agree({ builds }: Model, { world }: Real): Promise<void> {
  const ids = builds.map(({ id }) => id);
  const rows = await world.db.sql<
    Array<{ id: string; state: string; approval: string; decision: boolean; phase: number; attempt: number }>
  >`
    select b.id, b.state, b.approval, b.needs_decision as decision, w.phase, w.attempt
    from builds b left join work_items w on w.id = b.work_id where b.id = any(${ids}::text[])`;
  const real = ids.map((id) => rows.find((row) => row.id === id));
  expect(real).toEqual(
    builds.map(({ id, state, approval, needsDecision: decision, item: { phase, attempt } }) => ({
      id,
      state,
      approval,
      decision,
      phase,
      attempt,
    })),
  );
}

const command = (name: string, run: (model: Model, real: Real) => Promise<void>): Command => ({
  check: () => true,
  run: async (model, real) => {
    await run(model, real);
    await agree(model, real);
  },
  toString: () => name,
});

const code = async (work: Promise<unknown>): Promise<string | undefined> =>
  await work.then(
    () => undefined,
    (error: { code?: string }) => error.code ?? String(error),
  );

const submit = (environment: number): Command =>
  command(`submit(${environment})`, async ({ builds }, { world, environments }) => {
    if (builds.length >= 6) return;
    const id = await world.submitBuild(environments[environment]!);
    // The second environment's deploys must be approved.
    const approval = environment === 1 ? 'required' : 'none';
    builds.push({ id, environment, state: 'open', approval, needsDecision: false, item: newItem(id, false) });
  });

const poll = (runner: number): Command =>
  command(`poll(${runner})`, async (model, { world, runners }) => {
    const got = await world.pollBuild(runners[runner]!);
    if (model.revoked.has(runner)) return expect(got).toBeUndefined();
    const due = [0, 1]
      .map((environment) => holder(model, environment))
      .filter(
        (build) => build?.state === 'open' && build.item.state === 'queued' && mayHave(model, build, runner),
      );
    if (got === undefined) return expect(due).toEqual([]);
    const build = due.find((each) => each?.item.id === got.workId);
    expect(build, `${got.workId} was granted out of its turn, or to the wrong runner`).toBeDefined();
    const { item } = build!;
    Object.assign(item, { state: 'offered', runner, epoch: item.epoch + 1, phase: 0, expired: false });
    expect(got).toMatchObject({ epoch: item.epoch, attempt: item.attempt + 1 });
  });

const beat = (which: number, by: number, off: number, phase: number): Command =>
  command(`beat(${which}, ${by}, ${off}, ${phase})`, async (model, { world, runners }) => {
    const item = pick(model, which)?.item;
    if (item === undefined) return;
    const runner = speaker(item, by);
    const word = await world.beatBuild(runners[runner]!, { id: item.id, epoch: item.epoch + off, phase });
    const isOurs =
      isHeld(item) && item.runner === runner && off === 0 && !item.expired && !model.revoked.has(runner);
    if (!isOurs) return expect(word).toBe('superseded');
    if (item.cancelAsked) return expect(word).toBe('cancelled');
    expect(word).toBe('ok');
    if (item.state === 'offered') item.attempt += 1;
    Object.assign(item, { state: 'running', phase: Math.max(item.phase, phase) });
  });

const report = (which: number, by: number, off: number, exitCode: number): Command =>
  command(`report(${which}, ${by}, ${off}, ${exitCode})`, async (model, { world, runners }) => {
    const build = pick(model, which);
    if (build === undefined) return;
    const { item } = build;
    const runner = speaker(item, by);
    const reportId = `report-${runner}-${item.epoch + off}-${exitCode}`;
    const refused = await code(
      world.reportBuild(runners[runner]!, { id: item.id, epoch: item.epoch + off, exitCode, reportId }),
    );
    if (!(isHeld(item) && item.runner === runner && off === 0)) {
      // The very report that ended it is answered again.
      if (refused !== undefined) expect(refused).toBe('stale_epoch');
      return;
    }
    expect(refused).toBeUndefined();
    if (item.state === 'offered') item.attempt += 1;
    end(build, exitCode === 0 ? 'succeeded' : 'failed');
  });

const cancel = (which: number): Command =>
  command(`cancel(${which})`, async (model, { world, environments }) => {
    const build = pick(model, which);
    if (build === undefined) return;
    await world.call(method.cancel, { environmentId: environments[build.environment]!, buildId: build.id });
    if (isOver(build)) return;
    if (build.state === 'awaiting_approval') build.state = 'cancelled';
    else if (build.item.state === 'queued') end(build, 'cancelled');
    else build.item.cancelAsked = true;
  });

const decide = (which: number, decision: DeployDecision): Command =>
  command(`decide(${which}, ${decision})`, async (model, { world, environments }) => {
    const build = pick(model, which);
    if (build === undefined) return;
    const environmentId = environments[build.environment]!;
    const refused = await code(
      world.call(method.deployApproval, { environmentId, buildId: build.id, decision }),
    );
    if (build.state !== 'awaiting_approval') return expect(refused).toBe('build_not_waiting');
    expect(refused).toBeUndefined();
    if (decision === DeployDecision.REJECT) {
      Object.assign(build, { state: 'cancelled', approval: 'rejected' });
      return;
    }
    const row = await world.row(build.id);
    Object.assign(build, {
      state: 'open',
      approval: 'approved',
      item: newItem(String(row['work_id']), true),
    });
  });

const unlock = (environment: number, force: boolean): Command =>
  command(`unlock(${environment}, ${force})`, async (model, { world, environments }) => {
    const build = holder(model, environment);
    const request = { environmentId: environments[environment]!, force };
    if (build === undefined)
      return expect(await world.call(method.unlock, request)).not.toHaveProperty('buildId');
    const { item } = build;
    const isLost = (item.state === 'queued' && item.attempt > 0) || (isHeld(item) && item.expired);
    const refused = await code(world.call(method.unlock, request));
    if (!force && !isLost) return expect(refused).toBe('environment_locked');
    expect(refused).toBeUndefined();
    if (build.state === 'awaiting_approval') build.state = 'cancelled';
    else if (item.state === 'queued') end(build, 'cancelled');
    else item.cancelAsked = true;
  });

const expire = (which: number): Command =>
  command(`expire(${which})`, async (model, { world }) => {
    const item = pick(model, which)?.item;
    if (item === undefined) return;
    await world.expire(item.id);
    if (isHeld(item)) item.expired = true;
  });

const sweepAll = (): Command =>
  command('sweep', async ({ builds }, { world }) => {
    await Promise.all([sweep(world.db.sql, world.settings), sweep(world.db.sql, world.settings)]);
    // The wait before the next grant is a matter of time, not of state.
    await world.db.sql`update work_items set run_after = now() where state = 'queued'`;
    for (const build of builds) if (isHeld(build.item) && build.item.expired) loseHolder(build);
  });

const revoke = (runner: number): Command =>
  command(`revoke(${runner})`, async ({ builds, revoked }, { world, runners }) => {
    await revokeRunner(world.db.sql, world.settings, { teamId: world.teamId, runnerId: runners[runner]! });
    revoked.add(runner);
    for (const build of builds) if (isHeld(build.item) && build.item.runner === runner) loseHolder(build);
  });

const anyRunner = fc.nat({ max: 2 });
const anySpeaker = fc.nat({ max: 9 });
const anyBuild = fc.nat({ max: 5 });
const anyEnvironment = fc.nat({ max: 1 });
const anyOffset = fc.constantFrom(0, 0, 0, 0, 0, -1, 1);
const anyPhase = fc.nat({ max: 4 });
const commands = [
  anyEnvironment.map(submit),
  anyRunner.map(poll),
  anyRunner.map(poll),
  fc.tuple(anyBuild, anySpeaker, anyOffset, anyPhase).map((args) => beat(...args)),
  fc.tuple(anyBuild, anySpeaker, anyOffset, anyPhase).map((args) => beat(...args)),
  fc.tuple(anyBuild, anySpeaker, anyOffset, fc.nat({ max: 1 })).map((args) => report(...args)),
  anyBuild.map(cancel),
  fc
    .tuple(anyBuild, fc.constantFrom(DeployDecision.APPROVE, DeployDecision.REJECT))
    .map((args) => decide(...args)),
  fc.tuple(anyEnvironment, fc.boolean()).map((args) => unlock(...args)),
  anyBuild.map(expire),
  fc.constant(sweepAll()),
  // Rare, or every run ends with nobody left.
  fc.constantFrom(0, 1, 2, 3, 4, 5, 6, 7, 8).map((n) => (n === 8 ? revoke(2) : sweepAll())),
];

describe.skipIf(!(await has('postgres')))('builds', () => {
  let world: BuildWorld;
  beforeAll(async () => {
    // Time passes by command alone, however busy the machine is.
    world = await createBuildWorld({ graceMs: 1, offerMs: HOUR, leaseMs: HOUR });
  });
  afterAll(async () => await world?.drop());

  it('agree with their model on every answer and every state', { timeout: 600_000 }, async () => {
    const deploy = { kind: 'container', app: 'web', containerPort: 8080, hostPort: 0 };
    const property = fc.asyncProperty(
      fc.commands(commands, { maxCommands: 60, size: 'max' }),
      async (sequence) => {
        // Without this, what an earlier sequence left would be granted to this one.
        await world.db.sql`delete from builds`;
        const environments = [
          await world.environment(),
          await world.environment({ deploy, deployApproval: true }),
        ];
        const runners = [
          await world.runner(world.teamId),
          await world.runner(world.teamId),
          await world.runner(world.teamId),
        ];
        const setup = {
          model: { builds: [], revoked: new Set<number>() },
          real: { world, environments, runners },
        };
        await fc.asyncModelRun(() => setup, sequence);
        expect(await violations(world.db.sql)).toEqual(NO_VIOLATIONS);
      },
    );
    const details = await fc.check(property, { numRuns: RUNS });
    console.log(`model of builds: ${details.numRuns} runs, seed ${details.seed}`);
    if (details.failed)
      throw new Error(await fc.asyncDefaultReportMessage(details), { cause: details.errorInstance });
  });
});
