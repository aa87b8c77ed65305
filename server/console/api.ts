/** Makes the calls of the console: it is the SDK over the session cookie, which no script can read. */
import { Account, Auth, Client, PlatformFeatures, SvcApiError } from '@svc/sdk';

let onUnauthenticated: () => void = () => undefined;

/** Runs whenever the server no longer takes the cookie, whichever call found out. */
export function whenUnauthenticated(listener: () => void): void {
  onUnauthenticated = listener;
}

export const client = new Client({
  baseUrl: window.location.origin,
  // Kept with each change, so that the history says where it was made.
  defaultHeaders: { 'x-svc-client': 'console' },
  fetch: async (url, init) => {
    const response = await fetch(url, init);
    // At sign-in 401 means a wrong password, not a session that ended.
    if (response.status === 401 && !url.endsWith('/auth/login')) onUnauthenticated();
    return response;
  },
});

// Single resources instead of `createSvcSDK`: what no page uses stays out of the bundle, and what one page
// uses is in that page's.
export const account = new Account(client);
export const auth = new Auth(client);
export const platformFeatures = new PlatformFeatures(client);

/** Not there, or not to be known of. */
function isMissing(error: unknown): boolean {
  return error instanceof SvcApiError && error.status === 404;
}

/** Resolves with `instead` where what is read is not there, or not to be known of. */
export async function ifMissing<T, E>(instead: E, read: () => Promise<T>): Promise<T | E> {
  try {
    return await read();
  } catch (error) {
    if (isMissing(error)) return instead;
    throw error;
  }
}

export function isUnauthenticated(error: unknown): boolean {
  return error instanceof SvcApiError && error.status === 401;
}

/** One sentence for people about anything that a call can throw. */
export function explain(error: unknown): string {
  if (!(error instanceof SvcApiError)) return error instanceof Error ? error.message : String(error);
  switch (error.code) {
    case 'connection_failed':
      return 'The server cannot be reached.';
    case 'timeout':
      return 'The server did not answer in time.';
    case 'rate_limited':
      return `Too many tries. Try again in ${waitOf(error)}.`;
    default: {
      const id = error.status >= 500 && error.requestId !== undefined ? ` (request ${error.requestId})` : '';
      return `${sentence(messageOf(error))}${id}`;
    }
  }
}

/** Returns what the server wrote, without the SDK's words around it. */
function messageOf(error: SvcApiError): string {
  const said = (error.body as { error?: { message?: unknown } } | undefined)?.error?.message;
  return typeof said === 'string' ? said : error.message;
}

/** Messages of the API begin in lower case and end without a full stop; on a page they stand alone. */
export function sentence(text: string): string {
  const trimmed = text.trim();
  return `${trimmed.charAt(0).toUpperCase()}${trimmed.slice(1)}${/[.!?]$/.test(trimmed) ? '' : '.'}`;
}

function waitOf(error: SvcApiError): string {
  const seconds = Number(error.headers.get('retry-after'));
  if (!Number.isFinite(seconds) || seconds <= 0) return 'a minute';
  return seconds < 90 ? `${Math.ceil(seconds)} seconds` : `${Math.ceil(seconds / 60)} minutes`;
}
