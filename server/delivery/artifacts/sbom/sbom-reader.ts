/**
 * Reads SBOM documents away from the event loop, in the order in which they come. Owns the thread, and which
 * documents wait for it.
 */
import { apiError } from '@svc/proto/http/errors.ts';
import { unlessAborted } from '@svc/proto/http/abort.ts';
import { createThread } from '../../../base/thread.ts';
import type { Sbom, SbomProblem } from './read-sbom.ts';

export interface SbomReaderLimits {
  /** The time of one document, the start of the thread included. The default is 5,000. */
  readonly documentMs?: number;
  /** Default 256: the largest document that is read takes most of it. */
  readonly memoryMb?: number;
  /** Documents that wait or are read, of 8 MiB each. Default 16. */
  readonly documentsMax?: number;
}

export interface SbomReader {
  /** Throws `unavailable` when too many documents wait, and the reason of the signal once it is aborted. */
  read(bytes: Uint8Array, signal?: AbortSignal): Promise<Sbom | SbomProblem>;
  stop(): Promise<void>;
}

export function createSbomReader(limits: SbomReaderLimits = {}): SbomReader {
  const { documentMs = 5_000, memoryMb = 256, documentsMax = 16 } = limits;
  const entry = new URL('./read-sbom.worker.ts', import.meta.url);
  const thread = createThread<Uint8Array, Sbom | SbomProblem>({ entry, answerMs: documentMs, memoryMb });
  let isStopped = false;
  let documents = 0;
  let last: Promise<unknown> = Promise.resolve();

  const readNow = async (bytes: Uint8Array, signal?: AbortSignal): Promise<Sbom | SbomProblem> => {
    signal?.throwIfAborted();
    const answer = isStopped ? undefined : await thread.ask(bytes);
    if (answer !== undefined && !('unanswered' in answer)) return answer;
    // Nothing is wrong with the document.
    if (answer === undefined || isStopped) throw unavailable('the server stops');
    return { problem: `not read: reading ${answer.unanswered}` };
  };
  return {
    read: async (bytes, signal) => {
      signal?.throwIfAborted();
      if (documents >= documentsMax)
        throw unavailable(`${documents} SBOM documents wait to be read, at most ${documentsMax} may`);
      documents += 1;
      const read = last.then(async () => await readNow(bytes, signal)).finally(() => (documents -= 1));
      last = read.catch(() => undefined);
      return signal === undefined ? await read : await unlessAborted(read, signal);
    },
    stop: async () => {
      isStopped = true;
      await thread.stop();
    },
  };
}

function unavailable(why: string): Error {
  return apiError('unavailable', `${why}; try again`, { retryAfterMs: 1_000 });
}
