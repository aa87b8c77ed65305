/**
 * Statements that hold the list of packages themselves, of up to 3 MiB with their envelope: parsing one takes a quarter of a second, so that a thread does it, and what it finds is kept by the SHA-256 of the payload. Owns the thread. Whoever
 * verifies bundles prepares them first.
 */
import { createHash } from 'node:crypto';
import { apiError } from '@svc/proto/http/errors.ts';
import { createThread } from '../../base/thread.ts';
import { isLarge, keepLarge, knowsLarge, readEnvelope } from './envelope.ts';
import type { Envelope, LargeRead } from './envelope.ts';

const ANSWER_MS = 5_000;
const MEMORY_MB = 192;
/** Payloads that wait or are read. */
const WAITING_MAX = 16;

const thread = createThread<Uint8Array, LargeRead>({
  entry: new URL('./large.worker.ts', import.meta.url),
  answerMs: ANSWER_MS,
  memoryMb: MEMORY_MB,
});
let waiting = 0;
let last: Promise<unknown> = Promise.resolve();

/** Throws `unavailable` while too many wait. What is no bundle is left to whoever reads it. */
export async function prepareBundle(bundle: Uint8Array): Promise<void> {
  if (!isLarge(bundle)) return;
  const payload = payloadOf(bundle);
  if (payload === undefined || !isLarge(payload)) return;
  const name = createHash('sha256').update(payload).digest('base64');
  if (knowsLarge(name)) return;
  if (waiting >= WAITING_MAX)
    throw apiError('unavailable', `${waiting} large statements wait to be read; try again`, {
      retryAfterMs: 1_000,
    });
  waiting += 1;
  const read = last.then(async () => await thread.ask(payload)).finally(() => (waiting -= 1));
  last = read;
  const answer = await read;
  if (!('unanswered' in answer)) keepLarge(name, answer);
}

function payloadOf(bundle: Uint8Array): Envelope['payload'] | undefined {
  try {
    return readEnvelope(bundle).payload;
  } catch {
    return undefined; // Whoever reads it says why.
  }
}

export const stopReading = async (): Promise<void> => await thread.stop();
