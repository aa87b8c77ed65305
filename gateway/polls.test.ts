import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { generateSigningKey } from '@svc/proto/signature/keys.ts';
import { apiError } from '@svc/proto/http/errors.ts';
import { WorkKind } from '@svc/proto/gen/svc/dispatch/v1/dispatch_pb.ts';
import { createMetrics } from './metrics.ts';
import { POOL_TIMES, type PoolTimes } from './pool.ts';
import { Polls } from './polls.ts';
import { FakeBroker, type FakeQueue } from './testing/fake-queue.ts';
import { FakeDispatch, type FakeRunner } from './testing/fake-dispatch.ts';
import { ShiftedClock } from './testing/shifted-clock.ts';
import { waitFor } from '../test/setup/wait-for.ts';
import { revokedError } from './verification.ts';
import type { PollAsk } from './waiter.ts';
import { TIMED } from '../test/setup/timed.ts';

let clock: ShiftedClock;
let broker: FakeBroker;
let dispatch: FakeDispatch;
let started: Polls[];
let pollCount: number;
let side: Side;

interface Side {
  readonly polls: Polls;
  readonly queue: FakeQueue;
}

function gateway(times: Partial<PoolTimes> = {}): Side {
  const queue = broker.connect();
  const polls = new Polls({
    dispatch: dispatch.client,
    queue,
    clock,
    after: clock.after,
    random: () => 0,
    metrics: createMetrics(),
    log: pino({ level: 'silent' }),
    times: { ...POOL_TIMES, ...times },
  });
  // As a gateway does.
  queue.onUp(() => polls.rearmPools());
  started.push(polls);
  return { polls, queue };
}

function runner(id: string, teamId = 'team_a'): FakeRunner {
  return dispatch.addRunner(generateSigningKey(), id, teamId);
}

/** A caller who can leave. */
function leaver() {
  const call: PollAsk['call'] & { leave(): void } = {
    aborted: false,
    onAborted: undefined,
    leave: () => {
      Object.assign(call, { aborted: true });
      call.onAborted?.handleAborted();
    },
  };
  return call;
}

/** Starts a poll; the answer is the id of the offered run, 'empty', or the error code. */
function poll(
  { polls }: Side,
  { runnerId, teamId }: FakeRunner,
  ask: Partial<PollAsk> & { holdMs?: number } = {},
): Promise<string> {
  const answer = polls.poll({
    caller: { runnerId, teamId, bootId: '' },
    kind: 'run',
    pollId: `poll ${++pollCount}`,
    slots: 1,
    offersMax: 1,
    notReady: [],
    untilMs: clock.monotonicMs() + (ask.holdMs ?? 30_000),
    call: { aborted: false, onAborted: undefined },
    ...ask,
  });
  return answer.then(
    (offers) => offers.map(({ work }) => work.value?.id).join(' ') || 'empty',
    (error: { code?: string }) => error.code ?? String(error),
  );
}

/** Asks for polls, the first of each and those that were told of something. */
const asks = () => dispatch.count('poll') + dispatch.count('pollAgain');
const parked = ({ polls }: Side, count: number) =>
  waitFor(
    () => ({ size: polls.size, begun: asks() }),
    () => polls.size === count && asks() >= count,
  );
/** Waits for a figure to be that. */
const until = (figure: () => number, wanted: number) => waitFor(figure, () => figure() === wanted);
const consumed = (count = 1) => until(() => broker.consumers(), count);
/** Hints arrive, and the pool has asked for what was there before them. */
const live = async () => {
  await consumed();
  await dispatch.called('pollAgain', 1);
};
const asked = (count: number) => waitFor(asks, () => asks() >= count);

/** Work that a hint announces only later. */
function submit(workId: string): void {
  dispatch.addItem(workId);
  broker.hint(workId);
}

describe('Polls', () => {
  beforeEach(() => {
    clock = new ShiftedClock();
    broker = new FakeBroker();
    dispatch = new FakeDispatch();
    started = [];
    pollCount = 0;
    side = gateway();
  });
  afterEach(async () => {
    await Promise.all(started.map((polls) => polls.stop(0)));
    expect(broker.subscriptions).toEqual([]);
  });

  it('answers at once with what the server claims as the poll begins', async () => {
    dispatch.addItem('run_1');
    expect(await poll(side, runner('rnr_1'))).toBe('run_1');
    expect(dispatch.count('pollAgain')).toBe(0);
  });

  it('has a held poll ask again when something is hinted, and answers it', async () => {
    const answer = poll(side, runner('rnr_1'));
    await consumed();
    submit('run_1');
    expect(await answer).toBe('run_1');
    expect(side.polls.size).toBe(0);
  });

  it('keeps runs and builds of one team apart', async () => {
    const one = runner('rnr_1');
    const [run, build] = [poll(side, one), poll(side, one, { kind: 'build' })];
    await until(() => broker.subscriptions.length, 2);
    dispatch.addItem('bld_1', 'team_a', WorkKind.BUILD);
    broker.hint('bld_1', 'team_a', 'build');
    expect(await build).toBe('bld_1');
    submit('run_1');
    expect(await run).toBe('run_1');
  });

  it('serves the poll that waits longest', async () => {
    const [first, second] = [runner('rnr_1'), runner('rnr_2')];
    const older = poll(side, first);
    await parked(side, 1);
    const younger = poll(side, second);
    await parked(side, 2);
    await consumed();
    submit('run_1');
    expect(await older).toBe('run_1');
    submit('run_2');
    expect(await younger).toBe('run_2');
  });

  describe('of which each may bring several runs', () => {
    const many = { slots: 4, offersMax: 4 };

    it('brings what is there, no more than there are slots, in one answer', async () => {
      for (const n of [1, 2, 3, 4, 5]) dispatch.addItem(`run_${n}`);
      expect(await poll(side, runner('rnr_1'), many)).toBe('run_1 run_2 run_3 run_4');
      expect(await poll(side, runner('rnr_1'), { ...many, slots: 2 })).toBe('run_5');
    });

    it('finds the same ones again under the same id', async () => {
      const one = runner('rnr_1');
      for (const n of [1, 2, 3]) dispatch.addItem(`run_${n}`);
      const same = { ...many, pollId: 'the same' };
      expect(await poll(side, one, same)).toBe('run_1 run_2 run_3');
      dispatch.addItem('run_4');
      expect(await poll(side, one, same)).toBe('run_1 run_2 run_3 run_4');
    });

    it('takes one where others wait, and leaves the rest to them', async () => {
      const answers = [1, 2, 3].map((n) => poll(side, runner(`rnr_${n}`), { ...many, holdMs: 60_000 }));
      await live();
      for (const n of [1, 2, 3]) dispatch.addItem(`run_${n}`);
      broker.hint('run_1');
      expect(await Promise.race(answers)).toBe('run_1');
      broker.pass({ workId: 'run_2', poolId: 'team_a', kind: 'run', count: 2 });
      expect((await Promise.all(answers)).toSorted()).toEqual(['run_1', 'run_2', 'run_3']);
    });

    it('brings what it has when the others cannot be asked for', async () => {
      for (const n of [1, 2, 3]) dispatch.addItem(`run_${n}`);
      dispatch.after = () => {
        if (dispatch.count('poll') === 3) throw apiError('unavailable', 'the answer got lost');
      };
      const one = runner('rnr_1');
      const same = { ...many, pollId: 'the same' };
      expect(await poll(side, one, same)).not.toContain('empty');
      dispatch.after = () => undefined;
      expect((await poll(side, one, same)).split(' ').toSorted()).toEqual(['run_1', 'run_2', 'run_3']);
    });
  });

  it('gives one item to one of two gateways that race for it; the loser keeps waiting', async () => {
    const [a, b] = [side, gateway()];
    const answers = [poll(a, runner('rnr_1')), poll(b, runner('rnr_2'))];
    await consumed(2);
    submit('run_1');
    expect(await Promise.race(answers)).toBe('run_1');
    expect(a.polls.size + b.polls.size).toBe(1);
    submit('run_2');
    expect((await Promise.all(answers)).toSorted()).toEqual(['run_1', 'run_2']);
  });

  it('takes what is there, whatever was hinted: stale hints hide nothing', async () => {
    const answer = poll(side, runner('rnr_1'));
    await consumed();
    dispatch.addItem('run_fresh');
    broker.hint('run_long_gone');
    expect(await answer).toBe('run_fresh');
  });

  it('asks for as many polls as items are hinted at once', async () => {
    const answers = [1, 2, 3, 4].map((n) => poll(side, runner(`rnr_${n}`), { holdMs: 60_000 }));
    await live();
    const before = dispatch.count('pollAgain');
    for (const workId of ['run_1', 'run_2', 'run_3']) dispatch.addItem(workId);
    broker.pass({ workId: 'run_1', poolId: 'team_a', kind: 'run', count: 3 });
    await until(() => side.polls.size, 1);
    expect(dispatch.count('pollAgain') - before).toBe(3);
    submit('run_4');
    expect((await Promise.all(answers)).toSorted()).toEqual(['run_1', 'run_2', 'run_3', 'run_4']);
  });

  it('asks again for a poll that the server was asked for when the hint came', async () => {
    const held = poll(side, runner('rnr_1'), { holdMs: 60_000 });
    await live();
    dispatch.after = (method) => {
      if (method === 'poll') submit('run_1');
    };
    const goOn = dispatch.hold('poll');
    dispatch.unfit.add('rnr_1');
    const answer = poll(side, runner('rnr_2'));
    await dispatch.called('poll', 2);
    // Its statement runs before the item is there, its answer comes after the hint.
    goOn();
    expect(await answer).toBe('run_1');
    dispatch.after = () => undefined;
    dispatch.unfit.clear();
    submit('run_2');
    expect(await held).toBe('run_2');
  });

  it('asks once for a hint of an item that another gateway was faster to get', async () => {
    void poll(side, runner('rnr_1'));
    await live();
    for (let n = 2; n <= 5; n += 1) void poll(side, runner(`rnr_${n}`));
    await parked(side, 5);
    const before = asks();
    broker.hint('run_gone');
    await asked(before + 1);
    await new Promise((resolve) => setImmediate(resolve)); // the answer
    submit('run_1');
    await until(() => side.polls.size, 4);
    expect(asks()).toBe(before + 2);
  });

  it('has as many polls ask as items were hinted, at once', async () => {
    const answers = [1, 2, 3].map((n) => poll(side, runner(`rnr_${n}`)));
    await parked(side, 3);
    await live();
    const before = asks();
    const goOn = dispatch.hold('pollAgain');
    for (const n of [1, 2, 3]) submit(`run_${n}`);
    await asked(before + 3);
    goOn();
    expect((await Promise.all(answers)).toSorted()).toEqual(['run_1', 'run_2', 'run_3']);
  });

  it('gives up on a hint when sixteen runners cannot have what waits, and asks others the next time', async () => {
    const answers = Array.from({ length: 20 }, (_, n) => poll(side, runner(`rnr_${n}`)));
    await parked(side, 20);
    await live();
    for (let n = 0; n < 19; n += 1) dispatch.unfit.add(`rnr_${n}`);
    const before = asks();
    submit('run_1');
    await asked(before + 16);
    broker.hint('run_1');
    expect(await Promise.race(answers)).toBe('run_1');
  });

  it('stops consuming a while after the last poll and forgets the pool', async () => {
    const answer = poll(side, runner('rnr_1'));
    await consumed();
    clock.advance(60_000);
    expect(await answer).toBe('empty');
    expect(side.polls.poolCount).toBe(1);
    clock.advance(POOL_TIMES.lingerMs + 100);
    await consumed(0);
    clock.advance(2_000);
    await until(() => side.polls.poolCount, 0);
  });

  it('asks by itself while the broker is down', async () => {
    side.queue.setUp(false);
    const answer = poll(side, runner('rnr_1'));
    await parked(side, 1);
    submit('run_1');
    clock.advance(2_600);
    expect(await answer).toBe('run_1');
  });

  it('changes to asking by itself when the broker goes down under held polls', async () => {
    const answer = poll(side, runner('rnr_1'));
    await consumed();
    side.queue.setUp(false);
    dispatch.addItem('run_1');
    clock.advance(2_600);
    expect(await answer).toBe('run_1');
  });

  it('asks by itself while its subscription is not live, and at once when it is', async () => {
    side.queue.refusing = true;
    const answer = poll(side, runner('rnr_1'));
    await consumed();
    dispatch.addItem('run_1');
    clock.advance(2_600);
    expect(await answer).toBe('run_1');
    const next = poll(side, runner('rnr_2'));
    await asked(3);
    await new Promise((resolve) => setImmediate(resolve));
    dispatch.addItem('run_2');
    side.queue.setRefusing(false);
    expect(await next).toBe('run_2');
  });

  it('finds work whose hint was lost while the broker is up', async () => {
    const answer = poll(side, runner('rnr_1'));
    await consumed();
    dispatch.addItem('run_1');
    clock.advance(POOL_TIMES.safetyMs + 100);
    expect(await answer).toBe('run_1');
  });

  it('serves all polls of a pool with one fall-back ask after the other', async () => {
    side.queue.setUp(false);
    const answers: string[] = [];
    for (const n of [1, 2, 3]) void poll(side, runner(`rnr_${n}`)).then((answer) => answers.push(answer));
    await parked(side, 3);
    await consumed();
    for (const n of [1, 2]) {
      dispatch.addItem(`run_${n}`);
      clock.advance(2_600);
      await until(() => answers.length, n);
    }
    expect(answers).toEqual(['run_1', 'run_2']);
    await dispatch.called('pollAgain', 3);
    expect(side.polls.size).toBe(1);
  });

  it('ends the held polls of a revoked runner within 100 ms and leaves the others', TIMED, async () => {
    const [bad, good] = [runner('rnr_1'), runner('rnr_2')];
    const ended = [poll(side, bad), poll(side, bad, { kind: 'build' })];
    void poll(side, good);
    await parked(side, 3);
    const startedMs = performance.now();
    side.polls.endRunner('rnr_1', revokedError());
    expect(await Promise.all(ended)).toEqual(['runner_revoked', 'runner_revoked']);
    expect(performance.now() - startedMs).toBeLessThan(100);
    expect(side.polls.size).toBe(1);
  });

  it('ends a poll that is revoked while the server is being asked', async () => {
    const goOn = dispatch.hold('poll');
    const answer = poll(side, runner('rnr_1'));
    await asked(1);
    side.polls.endRunner('rnr_1', revokedError());
    expect(await answer).toBe('runner_revoked');
    goOn();
    expect(side.polls.size).toBe(0);
  });

  it('asks again when the runner changes: paused ends the waiting, resumed begins it', async () => {
    const one = runner('rnr_1');
    const answer = poll(side, one);
    await consumed();
    one.mayReceive = false;
    side.polls.reconsider('rnr_1');
    await asked(2);
    submit('run_1');
    one.mayReceive = true;
    side.polls.reconsider('rnr_1');
    expect(await answer).toBe('run_1');
  });

  it('asks once more when the runner changes while the server is being asked', async () => {
    const one = runner('rnr_1');
    one.mayReceive = false;
    const goOn = dispatch.hold('poll');
    const answer = poll(side, one);
    await asked(1);
    side.polls.reconsider('rnr_1');
    dispatch.before = () => {
      one.mayReceive = true;
      dispatch.addItem('run_1');
      dispatch.before = () => undefined;
    };
    goOn();
    expect(await answer).toBe('run_1');
    expect(asks()).toBe(2);
  });

  it('holds the empty answer of a refused runner, unless the server or the runner says at once', async () => {
    const one = runner('rnr_1');
    one.mayReceive = false;
    const held = poll(side, one);
    await parked(side, 1);
    one.hold = false;
    expect(await poll(side, one)).toBe('empty');
    one.hold = true;
    expect(await poll(side, one, { holdMs: 0 })).toBe('empty');
    expect(await poll(side, one, { slots: 0, holdMs: 0 })).toBe('empty');
    clock.advance(31_000);
    expect(await held).toBe('empty');
    expect(broker.subscriptions).toEqual([]);
  });

  it('never takes work for a poll without slots or that is not ready', async () => {
    const one = runner('rnr_1');
    dispatch.addItem('run_1');
    const answers = [poll(side, one, { slots: 0 }), poll(side, one, { notReady: ['disk is full'] })];
    await parked(side, 2);
    clock.advance(31_000);
    expect(await Promise.all(answers)).toEqual(['empty', 'empty']);
    expect(dispatch.count('pollAgain')).toBe(0);
  });

  it('leaves the offer with its poll id when the client is gone mid-ask; the repetition gets it', async () => {
    const one = runner('rnr_1');
    const call = leaver();
    const goOn = dispatch.hold('pollAgain');
    const lost = poll(side, one, { pollId: 'same', call });
    await consumed();
    submit('run_1');
    await dispatch.called('pollAgain', 1);
    call.leave();
    expect(await lost).toBe('empty');
    dispatch.before = () => undefined;
    goOn();
    await dispatch.granted();
    expect(await poll(side, one, { pollId: 'same' })).toBe('run_1');
  });

  it('gives two parallel calls of one poll id one offer', async () => {
    const one = runner('rnr_1');
    const older = poll(side, one, { pollId: 'same' });
    await consumed();
    const newer = poll(side, one, { pollId: 'same' });
    expect(await older).toBe('empty');
    for (const workId of ['run_1', 'run_2']) submit(workId);
    expect(await newer).toBe('run_1');
    expect(dispatch.items.filter(({ grantedTo }) => grantedTo !== undefined)).toHaveLength(1);
  });

  it('hands the offer of an overtaken call to the call that waits under its poll id', async () => {
    const one = runner('rnr_1');
    const older = poll(side, one, { pollId: 'same' });
    await consumed();
    const goOn = dispatch.hold('pollAgain');
    broker.hint('run_1');
    await dispatch.called('pollAgain', 1);
    const newer = poll(side, one, { pollId: 'same' });
    expect(await older).toBe('empty');
    await asked(2);
    dispatch.addItem('run_1');
    goOn();
    expect(await newer).toBe('run_1');
  });

  it('tries the next poll when the server refuses the first for good', async () => {
    const refused = poll(side, runner('rnr_1'));
    await parked(side, 1);
    const served = poll(side, runner('rnr_2'));
    await parked(side, 2);
    await consumed();
    dispatch.before = (method) => {
      if (method !== 'pollAgain') return;
      dispatch.before = () => undefined;
      throw apiError('boot_superseded', 'a newer process of this runner took over');
    };
    submit('run_1');
    expect(await refused).toBe('boot_superseded');
    expect(await served).toBe('run_1');
  });

  it('fetches the offer of an ask whose answer was lost, while the poll is still held', async () => {
    const answer = poll(side, runner('rnr_1'));
    await consumed();
    dispatch.after = (method) => {
      if (method !== 'pollAgain') return;
      dispatch.after = () => undefined;
      throw apiError('unavailable', 'the connection broke');
    };
    submit('run_1');
    await dispatch.called('pollAgain', 1);
    expect(dispatch.items[0]?.grantedTo).toBe('rnr_1 poll 1');
    expect(await answer).toBe('run_1');
  });

  it('keeps holding when the server is away for a while, and looks for what it missed when it is back', async () => {
    const [first, second] = [runner('rnr_1'), runner('rnr_2')];
    const hit = poll(side, first);
    await parked(side, 1);
    const other = poll(side, second);
    await parked(side, 2);
    let away = true;
    dispatch.before = () => {
      if (away) throw apiError('unavailable', 'the server is gone');
    };
    submit('run_1');
    await asked(4);
    away = false;
    clock.advance(2_600);
    const served = await Promise.race([hit, other]);
    expect(served).toBe('run_1');
    expect(side.polls.size).toBe(1);
    submit('run_2');
    expect(new Set(await Promise.all([hit, other]))).toEqual(new Set(['run_1', 'run_2']));
  });

  it('tries another poll when the runner of the first may not take the item', async () => {
    const answers = ['rnr_1', 'rnr_2', 'rnr_3'].map((id) => poll(side, runner(id)));
    await parked(side, 3);
    await consumed();
    dispatch.unfit.add('rnr_1').add('rnr_2');
    submit('run_1');
    expect(await Promise.race(answers)).toBe('run_1');
    expect(dispatch.items[0]?.grantedTo).toBe('rnr_3 poll 3');
    expect(side.polls.size).toBe(2);
  });

  it('passes on why a poll could not begin', async () => {
    dispatch.before = () => {
      throw apiError('unavailable', 'no server answers');
    };
    expect(await poll(side, runner('rnr_1'))).toBe('unavailable');
    expect(side.polls.size).toBe(0);
  });

  it('answers when its time is up', TIMED, async () => {
    const startedMs = performance.now();
    expect(await poll(side, runner('rnr_1'), { holdMs: 300 })).toBe('empty');
    const tookMs = performance.now() - startedMs;
    expect(tookMs).toBeGreaterThan(295);
    expect(tookMs).toBeLessThan(500);
  });

  it('waits a moment for what is under way when its time is up, and no longer', async () => {
    const one = runner('rnr_1');
    const goOn = dispatch.hold('pollAgain');
    const won = poll(side, one, { holdMs: 200 });
    await consumed();
    submit('run_1');
    await dispatch.called('pollAgain', 1);
    clock.advance(300);
    goOn();
    expect(await won).toBe('run_1');
    const given = poll(side, one, { holdMs: 200 });
    await parked(side, 1);
    broker.hint('run_2');
    await dispatch.called('pollAgain', 2);
    clock.advance(1_000);
    expect(await given).toBe('empty');
    goOn();
  });

  it('holds at most 16 polls of one runner: the oldest gives way', async () => {
    const one = runner('rnr_1');
    const answers = [];
    for (let n = 0; n < 1_000; n += 1) {
      answers.push(poll(side, one));
      await until(asks, n + 1);
    }
    expect(side.polls.size).toBe(16);
    await side.polls.stop(100);
    expect(new Set(await Promise.all(answers))).toEqual(new Set(['empty']));
  });

  it('refuses one poll more than 16 that are all being asked for', async () => {
    const one = runner('rnr_1');
    const goOn = dispatch.hold('poll');
    const answers = Array.from({ length: 16 }, () => poll(side, one));
    expect(() => poll(side, one)).toThrow('runner has 16 polls under way, limit 16');
    goOn();
    await side.polls.stop(1_000);
    await Promise.all(answers);
  });

  it('answers every held poll when it stops, waits for what is under way, and holds nothing new', async () => {
    const [one, two] = [runner('rnr_1'), runner('rnr_2')];
    const claiming = poll(side, one);
    await parked(side, 1);
    const idle = poll(side, two);
    await parked(side, 2);
    await consumed();
    const goOn = dispatch.hold('pollAgain');
    submit('run_1');
    await dispatch.called('pollAgain', 1);
    const stopped = side.polls.stop(5_000);
    expect(await idle).toBe('empty');
    expect(await poll(side, two)).toBe('empty');
    goOn();
    expect(await claiming).toBe('run_1');
    await stopped;
    expect(broker.subscriptions).toEqual([]);
  });

  it('asks again for everything held after it was away from the broker', async () => {
    const runners = Array.from({ length: 40 }, (_, n) => runner(`rnr_${n}`));
    for (const each of runners) void poll(side, each);
    await parked(side, 40);
    runners[0]!.mayReceive = false;
    side.polls.reconsiderAll();
    await asked(80);
    expect(side.polls.size).toBe(40);
  });
});
