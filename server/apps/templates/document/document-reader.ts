/**
 * Reads files of repositories away from the event loop, one after the other. A file that takes too long or
 * too much ends its thread, and the next one gets a new one. Owns the thread.
 */
import { createThread } from '../../../base/thread.ts';
import type { ReadDocument, SourceFile } from './read-document.ts';

export interface DocumentReader {
  read(file: SourceFile): Promise<ReadDocument>;
  stop(): Promise<void>;
}

export interface DocumentLimits {
  /**
   * The time of one file, the start of the thread included. The worst file takes three seconds of a
   * processor; the default of 15,000 is for machines that are busy.
   */
  readonly fileMs?: number;
  /** The default is 128. */
  readonly memoryMb?: number;
}

export function createDocumentReader({
  fileMs = 15_000,
  memoryMb = 128,
}: DocumentLimits = {}): DocumentReader {
  const entry = new URL('./read-document.worker.ts', import.meta.url);
  const thread = createThread<SourceFile, ReadDocument>({ entry, answerMs: fileMs, memoryMb });
  let last: Promise<unknown> = Promise.resolve();
  return {
    read: async (file) => {
      const read = last.then(async () => await thread.ask(file));
      last = read;
      const answer = await read;
      return 'unanswered' in answer
        ? { problem: `${file.path} was not read: reading ${answer.unanswered}` }
        : answer;
    },
    stop: async () => await thread.stop(),
  };
}
