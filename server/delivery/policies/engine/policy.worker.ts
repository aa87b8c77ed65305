/**
 * Entry of a thread that judges the policies of one gate at a time. Each verdict is sent when it is known, so
 * that those before an endless one count.
 */
import { parentPort } from 'node:worker_threads';
import { createJudge } from './judgement.ts';
import { ownThread } from './thread-time.ts';
import type { FromThread, Gate } from './thread.ts';
import { bindingsOf } from './values.ts';

const port = parentPort;
if (port === null) throw new Error('this file is a judging thread of the server and is not started by hand');

// A loop makes thousands of errors, of which nobody sees the stack.
Error.stackTraceLimit = 0;

const judge = createJudge();
const send = (message: FromThread): void => port.postMessage(message);

port.on('message', ({ input, policies }: Gate) => {
  let bindings;
  try {
    bindings = bindingsOf(JSON.parse(input));
  } catch (error) {
    send({ kind: 'input', detail: error instanceof Error ? error.message.slice(0, 300) : 'unknown' });
    return;
  }
  for (const policy of policies) send({ kind: 'judged', judged: judge.judge(policy, bindings) });
});
send({ kind: 'ready', thread: ownThread() });
