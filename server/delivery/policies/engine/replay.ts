/** Judges recorded inputs by one document, in a thread of its own, so that no gate waits for a simulation. */
import { apiError } from '@svc/proto/http/errors.ts';
import type { PolicyDocument } from './document.ts';
import type { PolicyInput } from './input.ts';
import { PolicyRunner } from './policy-runner.ts';
import type { Verdict } from './verdict.ts';

/** Each has a thread of up to 64 MB and a processor for its time. */
const REPLAYS_MAX = 2;
const REPLAY_MS = 10_000;

export interface Replayed {
  /** Verdicts on the inputs from the first on. */
  readonly verdicts: readonly Verdict[];
  /** It is true when time was up before all inputs were judged. */
  readonly isCut: boolean;
}

export type Replay = (
  document: PolicyDocument,
  inputs: Iterable<PolicyInput> | AsyncIterable<PolicyInput>,
) => Promise<Replayed>;

/** Makes the replays of one server. Throws `unavailable` (503) while as many as may run are running. */
export function createReplay({ replayMs = REPLAY_MS, replaysMax = REPLAYS_MAX } = {}): Replay {
  let running = 0;
  return async (document, inputs) => {
    if (running >= replaysMax)
      throw apiError('unavailable', `${running} simulations run, which is the limit; try again`, {
        retryAfterMs: 1_000,
      });
    running += 1;
    try {
      return await replay(document, inputs, replayMs);
    } finally {
      running -= 1;
    }
  };
}

/**
 * One input at a time is with the thread, so that the event loop has at most one to print before it is free
 * again.
 */
async function replay(
  document: PolicyDocument,
  inputs: Iterable<PolicyInput> | AsyncIterable<PolicyInput>,
  replayMs: number,
): Promise<Replayed> {
  const runner = new PolicyRunner();
  const policies = [{ policyId: '', revision: 0, document }];
  const verdicts: Verdict[] = [];
  let isOver = false;
  const over = setTimeout(() => {
    isOver = true;
    runner.close();
  }, replayMs);
  try {
    for await (const input of inputs) {
      const [verdict] = await runner.judge(policies, input);
      // What was being judged when time was up has no verdict of its own.
      if (isOver || verdict === undefined) return { verdicts, isCut: true };
      verdicts.push(verdict);
    }
    return { verdicts, isCut: false };
  } finally {
    clearTimeout(over);
    runner.close();
  }
}
