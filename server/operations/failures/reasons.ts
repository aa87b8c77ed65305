/** Finds the reason of a failure away from the event loop, one after the other. Owns the thread. */
import type { FailureSignature, FailureText } from '@svc/sdk/failure-signature';
import { createThread } from '../../base/thread.ts';
import { JobFailed } from '../../kit/jobs/index.ts';

/** An output takes some 20 ms; the rest is for the start of the thread on a busy machine. */
const ANSWER_MS = 15_000;
const MEMORY_MB = 128;

export interface Reasons {
  /** Throws `JobFailed` where the thread does not answer. */
  of(text: FailureText): Promise<FailureSignature | undefined>;
  stop(): Promise<void>;
}

export function createReasons(): Reasons {
  const entry = new URL('./reason.worker.ts', import.meta.url);
  const thread = createThread<FailureText, { readonly found: FailureSignature | undefined }>({
    entry,
    answerMs: ANSWER_MS,
    memoryMb: MEMORY_MB,
  });
  let last: Promise<unknown> = Promise.resolve();
  return {
    of: async (text) => {
      const asked = last.then(async () => await thread.ask(text));
      // One that fails must not fail those behind it.
      last = asked.catch(() => undefined);
      const answer = await asked;
      if ('unanswered' in answer) throw new JobFailed(`the reason was not found: ${answer.unanswered}`);
      return answer.found;
    },
    stop: async () => await thread.stop(),
  };
}
