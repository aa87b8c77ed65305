/**
 * Tells early that a command's platform feature is off, instead of letting the server refuse it. The server's
 * own gate is what counts, so this one only ever saves a refusal: whatever goes wrong here, the command
 * proceeds.
 *
 * The command is refused on proof alone, which is an answer 200 of `GET /platform-features/resolved` that is
 * right as a whole, and
 * - holds an object with `enabled: false` for the feature, as staff are shown it; or
 * - does not hold the feature, and the feature is public: everybody is shown every public feature that is
 *   enabled. An internal one that is absent proves nothing, because nobody but staff is ever shown it.
 */
import { SvcApiError, type Client } from '@svc/sdk';
import { commandLine, type Spec } from './command.ts';
import type { Connection } from './connection.ts';
import { CliError, messageOf } from './errors.ts';
import {
  cacheFeatures,
  isFresh,
  readCachedFeatures,
  readFeatures,
  type CachedFeatures,
  type Features,
  type FeatureState,
} from './feature-cache.ts';
import type { Io } from './io.ts';
import { neutraliseLine } from './text.ts';

/** Longer than this the answer is not worth the wait. */
export const RESOLVER_LIMIT_MS = 400;

const RESOLVED = { method: 'GET', path: '/platform-features/resolved', returns: 'features' } as const;

export interface GateOptions {
  readonly io: Io;
  readonly connection: Connection;
  /** Must not retry: the limit is for everything. */
  readonly client: Client;
  readonly signal: AbortSignal;
  /** Say on standard error why the check could not be made. */
  readonly verbose: boolean;
}

export async function checkFeature(spec: Spec, options: GateOptions): Promise<void> {
  const { feature } = spec;
  if (feature === undefined) return;
  const gated = { ...spec, feature };
  const features = await resolve(gated, options);
  if (features === undefined || !isOff(gated, features)) return;
  const state = stateOf(feature, features);
  const command = commandLine(spec).replace(/^svc /, '');
  throw new CliError(
    'feature_disabled',
    `"${command}" is unavailable because the platform feature "${feature}" is disabled on this environment`,
    { hints: typeof state === 'object' ? [staffHint(feature, state)] : [] },
  );
}

/** The feature of a command, and who is shown it. */
type Gated = Pick<Spec, 'visibility'> & { readonly feature: string };

const stateOf = (feature: string, features: Features): Features[string] | undefined =>
  Object.hasOwn(features, feature) ? features[feature] : undefined;

function isOff({ feature, visibility }: Gated, features: Features): boolean {
  const state = stateOf(feature, features);
  return state === undefined ? visibility === 'public' : state !== true && !state.enabled;
}

function staffHint(feature: string, { reason = 'disabled', blockedBy = [] }: FeatureState): string {
  const by = blockedBy.length === 0 ? '' : ` by ${blockedBy.join(', ')}`;
  return `reason: ${reason}${by}; see "svc features get ${feature}"`;
}

/**
 * Undefined when nothing is known for certain. A remembered answer only ever lets a command proceed: that a
 * feature is off is asked again, because it may be back, and the refusal would be wrong.
 */
async function resolve(gated: Gated, options: GateOptions): Promise<Features | undefined> {
  const { io, connection, signal, verbose } = options;
  const known = await readCachedFeatures(io, connection);
  if (known !== undefined && isFresh(known, io.now()) && !isOff(gated, known.features)) return known.features;
  try {
    const answer = await ask(options, known);
    await cacheFeatures(io, connection, answer);
    return answer.features;
  } catch (error) {
    signal.throwIfAborted();
    // Unreachable, slow, not there, not allowed, not JSON: the server decides. What was known refuses
    // nothing.
    if (verbose)
      await io.stderr.write(
        `svc: note: the platform feature "${gated.feature}" could not be checked, the server decides: ${neutraliseLine(messageOf(error))}\n`,
      );
    return undefined;
  }
}

async function ask(
  { io, client, signal }: GateOptions,
  known: CachedFeatures | undefined,
): Promise<CachedFeatures> {
  const etag = known?.etag;
  try {
    const headers = etag === undefined ? {} : { 'if-none-match': etag };
    const options = { timeoutMs: RESOLVER_LIMIT_MS, maxRetries: 0, signal, headers };
    const { data, response } = await client.call<unknown>(RESOLVED, {}, options).withResponse();
    const features = readFeatures(data);
    if (features === undefined || response.status !== 200)
      throw new Error(`the resolver answered ${response.status} with something else than a map of features`);
    const tag = response.headers.get('etag');
    return { features, atMs: io.now(), ...(tag === null ? {} : { etag: tag }) };
  } catch (error) {
    if (known === undefined || !(error instanceof SvcApiError) || error.status !== 304) throw error;
    return { ...known, atMs: io.now() };
  }
}
