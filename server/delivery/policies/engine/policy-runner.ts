/**
 * Judges the policies of gates in one thread. Gates take turns, in the order in which they come. What a gate
 * may take is time of a processor, of which a busy machine takes none away; by a clock there is only a bound
 * on its answer, behind which it is not refused but may be asked again. A gate that takes too much ends the
 * thread and is answered; a new thread starts at once, and those that wait run there with all of their time.
 * Owns the thread and the turns: at most one gate is with the thread, and each gate is answered exactly once.
 */
import { apiError } from '@svc/proto/http/errors.ts';
import { printInput, type PolicyInput } from './input.ts';
import { startThread, type FromThread, type Gate, type Thread } from './thread.ts';
import type { Judged, PolicyAtGate, Verdict } from './verdict.ts';

/** Time of a processor of all policies together that are judged in one allowance. */
export const GATE_MS = 250;
/** Gates that wait for the thread. */
const WAITING_MAX = 32;
/**
 * Time from the question to the answer, by the clock: less than a transaction may do nothing for, which is 10
 * s.
 */
export const WITHIN_MS = 8_000;
/** A thread that had less than its time is looked at again after what it lacks, and not sooner than this. */
const LOOK_MS_MIN = 10;
/**
 * This part of the time that passes is assumed where the system does not say how much of a processor a thread
 * has had.
 */
const ASSUMED = 0.25;

export interface RunnerLimits {
  readonly gateMs: number;
  readonly waitingMax: number;
  /** Default 8 s. */
  readonly withinMs?: number;
}

interface Begun {
  readonly gate: Gate;
  /** Judgements so far, in the order of the gate's policies. */
  readonly judged: Judged[];
  /** 0 for a gate that the thread was not given. */
  beganMs: number;
}

/** Time of the thread that is left, for one gate or for several that share it. */
export interface Allowance {
  leftMs: number;
}

export interface Judging {
  /** Default: one of its own. */
  readonly allowance?: Allowance;
  /** Default: that of the runner. */
  readonly withinMs?: number;
}

interface Turn extends Begun {
  readonly allowance: Allowance;
  readonly withinMs: number;
  readonly answer: (verdicts: readonly Verdict[]) => void;
  readonly refuse: (error: Error) => void;
  /** The thread had used so much when the gate began. */
  processorMs?: number | undefined;
  look?: NodeJS.Timeout;
  over?: NodeJS.Timeout;
}

/** It is said of the policies that were not judged. */
type Missing = Required<Pick<Verdict, 'reason' | 'detail'>>;
const CLOSED: Missing = { reason: 'thread', detail: 'the runner is closed' };

const LIMITS: RunnerLimits = { gateMs: GATE_MS, waitingMax: WAITING_MAX };

/** Starts its thread with the first gate that has policies, and keeps it. */
export class PolicyRunner {
  readonly #limits: RunnerLimits;
  readonly #waiting: Turn[] = [];
  #current: Turn | undefined;
  #thread: Thread | undefined;
  #isReady = false;
  #isClosed = false;

  constructor(limits: RunnerLimits = LIMITS) {
    this.#limits = limits;
  }

  allowance(): Allowance {
    return { leftMs: this.#limits.gateMs };
  }

  /**
   * It gives one verdict for each policy, in their order. Throws `unavailable` (503) if too many gates wait,
   * or there is no answer in time although the policies did not take theirs.
   */
  async judge(
    policies: readonly PolicyAtGate[],
    input: PolicyInput,
    { allowance = this.allowance(), withinMs = this.#limits.withinMs ?? WITHIN_MS }: Judging = {},
  ): Promise<readonly Verdict[]> {
    if (policies.length === 0) return [];
    const { length } = this.#waiting;
    if (length >= this.#limits.waitingMax) throw refusal(`${length} gates wait, which is the limit`);
    const printed = printInput(input);
    const turn = { gate: { input: '', policies }, judged: [], beganMs: 0 };
    if ('problem' in printed) return verdictsOf(turn, { reason: 'input', detail: printed.problem });
    if (allowance.leftMs <= 0) return verdictsOf(turn, this.#late());
    if (this.#isClosed) return verdictsOf(turn, CLOSED);
    return await new Promise((answer, refuse) => {
      const own: Turn = {
        ...turn,
        gate: { input: printed.text, policies },
        allowance,
        withinMs,
        answer,
        refuse,
      };
      this.#limitAnswer(own);
      this.#waiting.push(own);
      this.#next();
    });
  }

  /** Ends the thread. Gates that have no answer get the error `thread`, now and later. */
  close(): void {
    this.#isClosed = true;
    this.#thread?.end();
    if (this.#current !== undefined) this.#finish(this.#current, CLOSED);
    for (const turn of this.#waiting.splice(0)) this.#finish(turn, CLOSED);
  }

  #start(): void {
    this.#isReady = false;
    this.#thread = startThread({
      heard: (message) => this.#hear(message),
      ended: (why) => this.#replace(why),
    });
  }

  #next(): void {
    if (this.#current !== undefined || this.#waiting.length === 0) return;
    if (this.#thread === undefined) this.#start();
    if (!this.#isReady) return;
    const turn = this.#waiting.shift() as Turn;
    this.#current = turn;
    turn.beganMs = performance.now();
    turn.processorMs = this.#thread?.processorMs();
    this.#thread?.judge(turn.gate);
    this.#lookAfter(turn, turn.allowance.leftMs);
  }

  /** What arrived while the event loop was busy is heard before the gate is given up. */
  #lookAfter(turn: Turn, ms: number): void {
    turn.look = setTimeout(() => setImmediate(() => this.#look(turn)), ms);
  }

  #look(turn: Turn): void {
    if (turn !== this.#current) return;
    const leftMs = turn.allowance.leftMs - this.#usedMs(turn);
    if (leftMs > 0) this.#lookAfter(turn, Math.max(leftMs, LOOK_MS_MIN));
    else this.#giveUp(turn);
  }

  /** It is the time of a processor that the gate has taken. */
  #usedMs({ beganMs, processorMs }: Turn): number {
    const now = this.#thread?.processorMs();
    if (now === undefined || processorMs === undefined) return ASSUMED * (performance.now() - beganMs);
    return now - processorMs;
  }

  #limitAnswer(turn: Turn): void {
    turn.over = setTimeout(() => setImmediate(() => this.#expire(turn)), turn.withinMs);
  }

  /** The gate has no answer in time, though its policies may be well. */
  #expire(turn: Turn): void {
    const at = this.#waiting.indexOf(turn);
    // A thread that starts is waited for: it begins with the first gate of a server, and says so when it
    // cannot.
    if (at >= 0 && !this.#isReady) return this.#limitAnswer(turn);
    if (at >= 0) this.#waiting.splice(at, 1);
    else if (turn !== this.#current) return;
    clearTimeout(turn.look);
    turn.refuse(
      refusal(
        `there was no answer within ${turn.withinMs} ms, because the machine or others keep them from it`,
      ),
    );
    if (turn !== this.#current) return;
    this.#current = undefined;
    this.#thread?.end();
    this.#start();
  }

  #hear(message: FromThread): void {
    const turn = this.#current;
    if (message.kind === 'ready') this.#isReady = true;
    else if (turn !== undefined && message.kind === 'input')
      this.#finish(turn, { reason: 'input', detail: message.detail });
    else if (turn !== undefined && message.kind === 'judged') {
      turn.judged.push(message.judged);
      if (turn.judged.length === turn.gate.policies.length) this.#finish(turn);
    }
    this.#next();
  }

  #giveUp(turn: Turn): void {
    const usedMs = this.#usedMs(turn);
    this.#thread?.end();
    this.#start();
    this.#finish(turn, this.#late(), usedMs);
  }

  #late(): Missing {
    return { reason: 'time', detail: `the policies took more than ${this.#limits.gateMs} ms of a processor` };
  }

  /** The thread ended by itself. One that could not even start is not started again until somebody asks. */
  #replace(why: Missing): void {
    const wasReady = this.#isReady;
    this.#thread = undefined;
    this.#isReady = false;
    if (this.#current !== undefined) this.#finish(this.#current, why);
    if (wasReady) this.#start();
    else for (const turn of this.#waiting.splice(0)) this.#finish(turn, why);
  }

  #finish(turn: Turn, missing?: Missing, usedMs = this.#usedMs(turn)): void {
    clearTimeout(turn.look);
    clearTimeout(turn.over);
    if (turn === this.#current) this.#current = undefined;
    if (turn.beganMs > 0) turn.allowance.leftMs -= usedMs;
    turn.answer(verdictsOf(turn, missing));
  }
}

/** The time of a gate that its verdicts do not account for was spent on the first policy that has none. */
function verdictsOf({ gate, judged, beganMs }: Begun, missing?: Missing): readonly Verdict[] {
  const usedMs = beganMs === 0 ? 0 : performance.now() - beganMs;
  const restMs = judged.reduce((rest, { ms }) => rest - ms, usedMs);
  return gate.policies.map(({ policyId, revision, document: { mode } }, index) => {
    const ms = index === judged.length ? Math.max(0, restMs) : 0;
    const said = judged[index] ?? { outcome: 'error' as const, failed: [], ...missing, ms };
    return { policyId, revision, mode, ...said };
  });
}

const refusal = (why: string): Error =>
  apiError('unavailable', `policies cannot be judged now: ${why}; try again`, { retryAfterMs: 1_000 });
