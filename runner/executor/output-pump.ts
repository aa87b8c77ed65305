/**
 * This file moves a task's two pipes to the consumer.
 *
 * There is one reader for each pipe and one delivery at a time: the consumer never sees two open calls, and
 * while it is busy nothing is read, so the pipe fills up and the kernel stops the task. At most one pipe
 * buffer and one chunk of each stream are held in memory. After the cap the pipes are still read, and the
 * data discarded, so that the task can run on.
 *
 */
import type { Readable } from 'node:stream';
import type { OnOutput, OutputStream } from './executor.ts';
import { createOutputCap } from './output-cap.ts';

export interface PumpOptions {
  stdout: Readable;
  stderr: Readable;
  outputBytes: number;
  onOutput: OnOutput;
  /** Runs when the consumer failed: output after this is lost, so the run must not go on. */
  onSinkError: (error: Error) => void;
}

export function pumpOutput(options: PumpOptions) {
  const cap = createOutputCap(options.outputBytes);
  let delivery: Promise<void> = Promise.resolve();
  let broken = false;

  const deliver = (stream: OutputStream, piece: Uint8Array): Promise<void> => {
    delivery = delivery.then(async () => {
      if (broken) return;
      try {
        await options.onOutput(stream, piece);
      } catch (error) {
        broken = true;
        options.onSinkError(error instanceof Error ? error : new Error(String(error)));
      }
    });
    return delivery;
  };

  const read = async (stream: OutputStream, source: Readable): Promise<void> => {
    try {
      for await (const chunk of source as AsyncIterable<Buffer>) {
        for (const piece of cap.take(chunk)) await deliver(stream, piece);
      }
    } catch {
      // The pipe was closed because the process is gone, whose end is reported elsewhere.
    }
  };

  const drained = Promise.all([read('stdout', options.stdout), read('stderr', options.stderr)]).then(
    () => undefined,
  );
  let release: () => void = () => undefined;
  const stopped = new Promise<void>((resolve) => (release = resolve));
  return {
    /** Both pipes have ended and everything was delivered (or the pump was stopped). Never rejects. */
    drained: Promise.race([drained, stopped]),
    /** Stops delivering; what is still in the pipes is lost. */
    stop() {
      broken = true;
      options.stdout.destroy();
      options.stderr.destroy();
      release();
    },
  };
}

export type OutputPump = ReturnType<typeof pumpOutput>;
