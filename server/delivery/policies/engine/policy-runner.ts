/**
 * Judges the policies of gates in one thread. Gates take turns, in the order in which they come; the time of a gate begins when the thread begins with
 * it. A gate that takes too long ends the thread and is answered; a new thread starts at once, and those that wait run there with all of their time.
 * Owns the thread and the turns: at most one gate is with the thread, and each gate is answered exactly once.
 */
import { apiError } from '@svc/proto/http/errors.ts';
import { printInput } from './input.ts';
import type { PolicyInput } from './input.ts';
import { startThread } from './thread.ts';
import type { FromThread, Gate, Thread } from './thread.ts';
import type { Judged, PolicyAtGate, Verdict } from './verdict.ts';

/** Of all policies together that are judged in one allowance. */
export const GATE_MS = 250;
/** Gates that wait for the thread; behind as many endless ones, the last is answered after some 16 s. */
const WAITING_MAX = 32;

export interface RunnerLimits {
  readonly gateMs: number;
  readonly waitingMax: number;
}

interface Begun {
  readonly gate: Gate;
  /** In the order of the gate's policies. */
  readonly judged: Judged[];
  /** 0 for a gate that the thread was not given. */
  beganMs: number;
}

/** Time of the thread that is left, for one gate or for several that share it. */
export interface Allowance {
  leftMs: number;
}

interface Turn extends Begun {
  readonly allowance: Allowance;
  readonly answer: (verdicts: readonly Verdict[]) => void;
  late?: NodeJS.Timeout;
}

/** What is said of the policies that were not judged. */
type Missing = Required<Pick<Verdict, 'reason' | 'detail'>>;
const CLOSED: Missing = { reason: 'thread', detail: 'the runner is closed' };

/** Starts its thread with the first gate that has policies, and keeps it. */
export class PolicyRunner {
  readonly #limits: RunnerLimits;
  readonly #waiting: Turn[] = [];
  #current: Turn | undefined;
  #thread: Thread | undefined;
  #isReady = false;
  #isClosed = false;

  constructor(limits: RunnerLimits = { gateMs: GATE_MS, waitingMax: WAITING_MAX }) {
    this.#limits = limits;
  }

  allowance(): Allowance {
    return { leftMs: this.#limits.gateMs };
  }

  /** One verdict for each policy, in their order. Throws `unavailable` (503) if too many gates wait. */
  async judge(
    policies: readonly PolicyAtGate[],
    input: PolicyInput,
    allowance: Allowance = this.allowance(),
  ): Promise<readonly Verdict[]> {
    if (policies.length === 0) return [];
    const { length } = this.#waiting;
    if (length >= this.#limits.waitingMax)
      throw apiError(
        'unavailable',
        `policies cannot be judged now: ${length} gates wait, which is the limit; try again`,
        { retryAfterMs: 1_000 },
      );
    const printed = printInput(input);
    const turn = { gate: { input: '', policies }, judged: [], beganMs: 0 };
    if ('problem' in printed) return verdictsOf(turn, { reason: 'input', detail: printed.problem });
    if (allowance.leftMs <= 0) return verdictsOf(turn, this.#late());
    if (this.#isClosed) return verdictsOf(turn, CLOSED);
    return await new Promise((answer) => {
      this.#waiting.push({ ...turn, gate: { input: printed.text, policies }, allowance, answer });
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
    this.#thread?.judge(turn.gate);
    // What arrived while the event loop was busy is heard before the gate is given up.
    turn.late = setTimeout(() => setImmediate(() => this.#giveUp(turn)), turn.allowance.leftMs);
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
    if (turn !== this.#current) return;
    this.#thread?.end();
    this.#start();
    this.#finish(turn, this.#late());
  }

  #late(): Missing {
    return { reason: 'time', detail: `the policies took more than ${this.#limits.gateMs} ms` };
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

  #finish(turn: Turn, missing?: Missing): void {
    clearTimeout(turn.late);
    if (turn === this.#current) this.#current = undefined;
    if (turn.beganMs > 0) turn.allowance.leftMs -= performance.now() - turn.beganMs;
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
