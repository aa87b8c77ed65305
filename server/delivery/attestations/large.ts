/**
 * Bundles that are too large to be read on the event loop: a thread opens them, which takes up to a quarter
 * of a second, and what it finds is kept by the SHA-256 of the bundle. Owns the thread. Whoever verifies
 * bundles prepares them first, with the keys that they are to be verified with.
 */
import { hash } from 'node:crypto';
import type { JsonObject } from '@bufbuild/protobuf';
import { apiError } from '@svc/proto/http/errors.ts';
import { createThread } from '../../base/thread.ts';
import {
  isLarge,
  type Candidate,
  type LargeAnswer,
  type LargeBundle,
  type LargeQuestion,
} from './open-large.ts';
import type { TrustRoot } from './trust-root.ts';
import { createKept } from './kept.ts';

const ANSWER_MS = 5_000;
const MEMORY_MB = 192;
/** Bundles that wait or are read. */
const WAITING_MAX = 16;
const KEPT_MAX = 1_000;

export interface Candidates {
  readonly service: readonly Candidate[];
  readonly trusted: readonly Candidate[];
  readonly root?: TrustRoot | undefined;
}

/** It tells of a bundle that was read. */
export interface KnownLarge {
  readonly large: LargeBundle;
  /** Hint of the key that signed it, as far as it was tried. */
  readonly signer: string | undefined;
  /** Hints of the keys that did not. */
  readonly tried: ReadonlySet<string>;
}

const thread = createThread<LargeQuestion, LargeAnswer>({
  entry: new URL('./large.worker.ts', import.meta.url),
  answerMs: ANSWER_MS,
  memoryMb: MEMORY_MB,
});
let waiting = 0;
let last: Promise<unknown> = Promise.resolve();

type LargeFinding =
  | KnownLarge
  | Extract<LargeAnswer, { readonly problem: string } | { readonly isOrdinary: true }>;

const kept = createKept<LargeFinding>(KEPT_MAX);

const names = new WeakMap<Uint8Array, string>();

/** SHA-256 of the bundle as it is stored. It is asked for several times within a call. */
export function nameOf(bundle: Uint8Array): string {
  const name = names.get(bundle) ?? hash('sha256', bundle, 'base64');
  names.set(bundle, name);
  return name;
}

/**
 * Returns what was found out about a large bundle, or undefined where it is read in place. Throws an Error
 * that says what is wrong.
 */
export function knownLarge(bundle: Uint8Array, name: string): KnownLarge | undefined {
  if (!isLarge(bundle)) return undefined;
  const found = kept.get(name);
  if (found === undefined) throw new Error('it could not be read in time');
  if ('problem' in found) throw new Error(found.problem);
  return 'isOrdinary' in found ? undefined : found;
}

/**
 * Finds out about a large bundle. Throws `unavailable` while too many wait. What is no bundle is left to
 * whoever reads it.
 */
export async function prepareBundle(bundle: Uint8Array, candidates: Candidates): Promise<void> {
  if (isLarge(bundle)) await prepare(bundle, candidates);
}

/**
 * Answers a bundle that somebody brings as it is read and stored, packed only where it must be. It is
 * prepared.
 */
export async function takeBundle(brought: Uint8Array, candidates: Candidates): Promise<Uint8Array> {
  if (!isLarge(brought)) return brought;
  const unpacked = await prepare(brought, candidates);
  if (unpacked === undefined) return brought;
  await prepareBundle(unpacked, candidates);
  return unpacked;
}

/**
 * It is the bundle as JSON, without a mark of the order of bytes before it. It is undefined where the bundle
 * is no JSON any more, which its verification says.
 */
export async function bundleJson(bundle: Uint8Array): Promise<JsonObject | undefined> {
  if (isLarge(bundle)) {
    const answer = await ask({ bundle });
    return 'json' in answer ? (answer.json as JsonObject) : undefined;
  }
  try {
    return JSON.parse(new TextDecoder().decode(bundle)) as JsonObject;
  } catch {
    return undefined;
  }
}

/** Answers what was packed without need, which is not prepared. */
async function prepare(bundle: Uint8Array, candidates: Candidates): Promise<Uint8Array | undefined> {
  const name = nameOf(bundle);
  const verify = untried(name, candidates);
  if (verify === undefined) return undefined;
  const answer = await ask({ bundle, verify });
  if ('unanswered' in answer || 'json' in answer) return undefined;
  if ('unpacked' in answer) return answer.unpacked;
  if (!('large' in answer)) {
    kept.keep(name, answer);
    return undefined;
  }
  const { large, signer, said } = answer;
  const before = kept.get(name);
  const tried = new Set(before !== undefined && 'tried' in before ? before.tried : []);
  for (const { hint } of verify.keys) tried.add(hint);
  kept.keep(name, { large, signer, tried });
  if (said !== undefined) candidates.root?.keep(name, said);
  return undefined;
}

/** What is to be found out about it. Undefined: nothing that is not known. */
function untried(
  name: string,
  { service, trusted, root }: Candidates,
): NonNullable<LargeQuestion['verify']> | undefined {
  const all = [...service, ...trusted].map(({ hint, publicKey }) => ({ hint, publicKey }));
  const found = kept.get(name);
  if (found === undefined) return { keys: all, root: root?.text };
  if (!('large' in found) || found.signer !== undefined) return undefined;
  const { isKeyless, hint: named } = found.large.envelope;
  if (isKeyless)
    return root === undefined || root.known(name) !== undefined ? undefined : { keys: [], root: root.text };
  const keys = all.filter(({ hint }) => !found.tried.has(hint) && (named === '' || named === hint));
  return keys.length === 0 ? undefined : { keys, root: undefined };
}

async function ask(question: LargeQuestion): Promise<Awaited<ReturnType<typeof thread.ask>>> {
  if (waiting >= WAITING_MAX)
    throw apiError('unavailable', `${waiting} large statements wait to be read; try again`, {
      retryAfterMs: 1_000,
    });
  waiting += 1;
  const read = last.then(async () => await thread.ask(question)).finally(() => (waiting -= 1));
  last = read;
  return await read;
}

export const stopReading = async (): Promise<void> => await thread.stop();
