/**
 * Tells early that a command's platform feature is off, instead of letting the server refuse it. The server's own gate is
 * what counts, so this one only ever saves a refusal: whatever goes wrong here, the command proceeds.
 *
 * One rule: the command is refused when `GET /platform-features/resolved` answers an object for the feature whose
 * `enabled` is false. An absent key proves nothing, because callers who are not staff are never shown internal features,
 * on or off; nor does a plain `true`, and a disabled public feature is left to the server's 403.
 */
import type { Client } from '@svc/sdk';
import { commandLine, type Spec } from './command.ts';
import { CliError } from './errors.ts';
import { isRecord } from './paths.ts';

/** Longer than this the answer is not worth the wait. */
export const RESOLVER_LIMIT_MS = 400;

/** `client` must not retry: the limit is for everything. */
export async function checkFeature(spec: Spec, client: Client, signal: AbortSignal): Promise<void> {
  const { feature } = spec;
  if (feature === undefined) return;
  if (!(await isKnownDisabled(feature, client, signal))) return;
  const command = commandLine(spec).replace(/^svc /, '');
  throw new CliError(
    'feature_disabled',
    `"${command}" is unavailable: the platform feature "${feature}" is disabled on this environment`,
  );
}

async function isKnownDisabled(feature: string, client: Client, signal: AbortSignal): Promise<boolean> {
  try {
    const features = await client.call<unknown>(
      { method: 'GET', path: '/platform-features/resolved', returns: 'features' },
      {},
      { timeoutMs: RESOLVER_LIMIT_MS, maxRetries: 0, signal },
    );
    const state = isRecord(features) ? features[feature] : undefined;
    return isRecord(state) && state['enabled'] === false;
  } catch {
    // Unreachable, slow, not there, not allowed, not JSON: the server decides.
    return false;
  }
}
