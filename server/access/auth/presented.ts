/**
 * What a call presents to prove who it is: one bearer credential, or the session cookie of a browser. Two at
 * once are refused instead of chosen from: whoever put the second one there may not be the one who put the
 * first.
 */
import type { CallContext } from '@svc/proto/http/call.ts';
import { apiError } from '@svc/proto/http/errors.ts';
import { SESSION_COOKIE } from '../accounts/index.ts';
import { ID_TOKEN_BYTES_MAX } from './credential-cache.ts';

const CREDENTIAL_CHARS_MAX = 4_096;
const BEARER_CHARS = 'bearer '.length;

export interface Presented {
  readonly credential: string;
  readonly from: 'bearer' | 'cookie';
}

/**
 * Undefined when nothing is presented. Throws for two kinds, for another scheme, for an empty one; two
 * Authorization lines do not get past the door.
 */
export function presented(call: CallContext): Presented | undefined {
  const bearer = bearerOf(call);
  const cookie = cookieOf(call.header('cookie'));
  if (bearer !== undefined && cookie !== undefined) {
    throw apiError(
      'credentials_invalid',
      'both an Authorization header and a session cookie were sent; send one of them',
    );
  }
  if (bearer !== undefined) return { credential: bearer, from: 'bearer' };
  return cookie === undefined ? undefined : { credential: cookie, from: 'cookie' };
}

function bearerOf(call: CallContext): string | undefined {
  const value = call.header('authorization');
  if (value === undefined) return undefined;
  const match = /^bearer ([\x21-\x7e]+)$/i.exec(value);
  const charsMax = call.rpc.idTokens === true ? ID_TOKEN_BYTES_MAX + BEARER_CHARS : CREDENTIAL_CHARS_MAX;
  if (match?.[1] === undefined || value.length > charsMax) {
    throw apiError(
      'credentials_invalid',
      'Authorization header is not of the form "Bearer <API key or session token>"',
    );
  }
  return match[1];
}

function cookieOf(header: string | undefined): string | undefined {
  if (header === undefined || !header.includes(SESSION_COOKIE)) return undefined;
  const values = header
    .split(';')
    .map((part) => part.trim())
    .filter((part) => part.startsWith(`${SESSION_COOKIE}=`))
    .map((part) => part.slice(SESSION_COOKIE.length + 1));
  if (values.length > 1) throw apiError('credentials_invalid', 'several session cookies were sent; send one');
  return values[0];
}

/** A cookie comes along with requests that another site made the browser send; a bearer header does not. */
export function refuseForgery(call: CallContext, isOwnOrigin: (origin: string) => boolean): void {
  const reads = call.rpc.routes[0]?.verb === 'GET';
  if (reads && call.protocol === 'rest') return;
  const site = call.header('sec-fetch-site');
  if (site !== 'same-origin' && site !== 'none') {
    throw refused(`Sec-Fetch-Site is ${site ?? 'absent'}, expected same-origin`);
  }
  const origin = call.header('origin');
  const own = call.header('host');
  if (origin !== undefined && !isOwnOrigin(origin) && !(own !== undefined && hostOf(origin) === own)) {
    throw refused(`Origin is ${origin.slice(0, 200)}, which is not an address of this server`);
  }
  if (call.protocol === 'connect' && call.header('connect-protocol-version') === undefined) {
    throw refused('Connect-Protocol-Version is absent');
  }
}

function hostOf(origin: string): string | undefined {
  return URL.canParse(origin) ? new URL(origin).host : undefined;
}

function refused(why: string): Error {
  return apiError(
    'csrf_refused',
    `request with a session cookie refused: ${why}; send the token as "Authorization: Bearer" instead`,
  );
}
