/**
 * Features of the companion service, as it answered last. Read when somebody looks, at most every 10 s, and
 * never longer than 2 s: the page beside it must not wait for a service that is away. A failed try keeps the
 * last good answer and says that it did. Owner of the last answer is this closure.
 */
import type { DescEnum, MessageInitShape } from '@bufbuild/protobuf';
import { unlessAborted } from '@svc/proto/http/abort.ts';
import { enumNames } from '@svc/proto/http/enum-names.ts';
import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import {
  FeatureReasonSchema,
  LifecycleSchema,
  VisibilitySchema,
  type CompanionFeaturesSchema,
  type ResolvedFeatureSchema,
} from '@svc/proto/gen/svc/platformfeatures/v1/platformfeatures_pb.ts';
import type { Clock } from '../base/clock.ts';
import { sharedCall } from '../base/shared-call.ts';
import { isObject } from './is-object.ts';

const ANSWER_WITHIN_MS = 2_000;
const ANSWER_BYTES_MAX = 262_144;
/** A failed try counts too: a service that is away costs one page in ten seconds its two seconds. */
const FRESH_FOR_MS = 10_000;
const FEATURES_MAX = 1_000;
/** Anything that reads like a feature key; `__proto__` does not. */
const KEY = /^[A-Za-z0-9][\w.:-]{0,199}$/;

type Features = Record<string, MessageInitShape<typeof ResolvedFeatureSchema>>;
type Answer = MessageInitShape<typeof CompanionFeaturesSchema>;

/** Never rejects. */
export type ReadCompanion = () => Promise<Answer>;

export interface CompanionDeps {
  /** Base URL; undefined: this installation knows no companion. */
  readonly url: string | undefined;
  readonly clock: Clock;
  readonly answerWithinMs?: number;
}

export function createCompanion(deps: CompanionDeps): ReadCompanion {
  const { url, clock, answerWithinMs = ANSWER_WITHIN_MS } = deps;
  if (url === undefined) return async () => ({ configured: false, degraded: false });
  const address = `${url.replace(/\/+$/, '')}/platform-features/resolved`;
  let last: { readonly features: Features; readonly asOf: Date } | undefined;
  let problem: string | undefined;
  let triedAtMs = Number.NEGATIVE_INFINITY;

  // Everybody who looks meanwhile waits for the same try.
  const attempt = sharedCall(async (): Promise<void> => {
    try {
      const features = await fetchFeatures(address, answerWithinMs);
      last = { features, asOf: clock.now() };
      problem = undefined;
    } catch (error) {
      problem = sentence(error, answerWithinMs);
    }
    triedAtMs = clock.monotonicMs();
  });

  return async () => {
    if (clock.monotonicMs() - triedAtMs >= FRESH_FOR_MS) await attempt();
    return {
      configured: true,
      degraded: problem !== undefined,
      ...(problem === undefined ? {} : { problem }),
      ...(last === undefined ? {} : { asOf: timestampFromDate(last.asOf), features: last.features }),
    };
  };
}

/**
 * This error says in words for staff what is wrong with the answer; anything else that is thrown is the
 * network's.
 */
class OddAnswer extends Error {}

function sentence(error: unknown, withinMs: number): string {
  if (error instanceof OddAnswer) return error.message;
  if (error instanceof Error && error.name === 'TimeoutError')
    return `it did not answer within ${withinMs} ms`;
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  const { code } = cause as { code?: unknown };
  return `it cannot be reached${typeof code === 'string' ? ` (${code})` : ''}`;
}

async function fetchFeatures(address: string, withinMs: number): Promise<Features> {
  const signal = AbortSignal.timeout(withinMs);
  // Raced as well as aborted: a name look-up, for one, does not end when it is told to.
  return await unlessAborted(readAnswer(address, signal), signal);
}

async function readAnswer(address: string, signal: AbortSignal): Promise<Features> {
  const response = await fetch(address, {
    signal,
    redirect: 'manual',
    headers: { accept: 'application/json' },
  });
  const { status, body } = response;
  if (status !== 200) {
    await body?.cancel();
    throw new OddAnswer(`it answered with status ${status}, expected 200`);
  }
  return parseFeatures(await readText(body));
}

async function readText(body: ReadableStream<Uint8Array> | null): Promise<string> {
  const pieces: Uint8Array[] = [];
  let bytes = 0;
  for await (const piece of body ?? []) {
    bytes += piece.length;
    // Leaving the loop cancels the rest.
    if (bytes > ANSWER_BYTES_MAX) throw new OddAnswer(`it answered with more than ${ANSWER_BYTES_MAX} bytes`);
    pieces.push(piece);
  }
  return Buffer.concat(pieces).toString('utf8');
}

/** This parses both shapes of the resolver: `true` for what is enabled, or an object for each feature. */
export function parseFeatures(text: string): Features {
  let answer: unknown;
  try {
    answer = JSON.parse(text);
  } catch {
    throw new OddAnswer(`it answered with ${text.length} characters that are not JSON`);
  }
  const features = isObject(answer) ? answer['features'] : undefined;
  if (!isObject(features)) throw new OddAnswer('it answered without an object "features"');
  const entries = Object.entries(features);
  if (entries.length > FEATURES_MAX)
    throw new OddAnswer(`it answered with ${entries.length} features, at most ${FEATURES_MAX} are shown`);
  return Object.fromEntries(entries.map(([key, value]) => [checkKey(key), parseFeature(key, value)]));
}

function checkKey(key: string): string {
  if (KEY.test(key)) return key;
  throw new OddAnswer(`it answered with ${JSON.stringify(key.slice(0, 80))}, which is no feature key`);
}

function parseFeature(key: string, value: unknown): Features[string] {
  if (typeof value === 'boolean') return { enabled: value };
  if (!isObject(value) || typeof value['enabled'] !== 'boolean')
    throw new OddAnswer(
      `it answered with neither a boolean nor an object with "enabled" for ${key.slice(0, 80)}`,
    );
  const reason = known(FeatureReasonSchema, value['reason']);
  const lifecycle = known(LifecycleSchema, value['lifecycle']);
  const visibility = known(VisibilitySchema, value['visibility']);
  return {
    enabled: value['enabled'],
    blockedBy: blockersOf(value['blockedBy']),
    ...(reason === undefined ? {} : { reason }),
    ...(lifecycle === undefined ? {} : { lifecycle }),
    ...(visibility === undefined ? {} : { visibility }),
  };
}

/** Words that this version does not know are left out: the other service may be newer. */
function known(words: DescEnum, word: unknown): number | undefined {
  // 0 stands for a word that is not stated.
  return (typeof word === 'string' && enumNames(words).byName.get(word)) || undefined;
}

/** Reads one key or a list of them. */
function blockersOf(value: unknown): string[] {
  const keys = Array.isArray(value) ? value : [value];
  return keys.filter((key): key is string => typeof key === 'string').slice(0, FEATURES_MAX);
}
