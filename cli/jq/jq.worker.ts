/**
 * Entry of a thread that evaluates one jq expression. It is compiled to WebAssembly with a file system of its
 * own, an environment of its own, and at most 256 MiB of memory.
 */
import { parentPort, workerData } from 'node:worker_threads';
import { loadJq } from 'jq-wasm/inline';

export interface Answer {
  /** One JSON text a line. */
  readonly stdout: string;
  readonly stderr: string;
  readonly exitCode: number;
}

const port = parentPort;
if (port === null) throw new Error('this file is a thread of svc and is not started by hand');

const jq = await loadJq();
port.on('message', (json: string) => {
  // An expression may begin with a dash.
  const answer: Answer = jq.raw(json, String(workerData), ['-c', '--']);
  port.postMessage(answer);
});
port.postMessage('started');
