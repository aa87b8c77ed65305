/**
 * Reports without a stored key. GitHub gives a job as many id_tokens as it asks for, so every attempt of
 * every call gets a new one: an attempt whose answer was lost costs nothing. GitLab makes one when the job
 * starts; it is exchanged once for a token that serves all calls of this command. Neither is ever printed.
 */
import { Ci, type Client, type Fetch } from '@svc/sdk';
import type { Context } from '../shell/command.ts';
import { clientFor, isExposed } from '../shell/connection.ts';
import { CliError, UsageError } from '../shell/errors.ts';
import type { Io } from '../shell/io.ts';
import { fetchOf } from '../shell/proxied-fetch.ts';
import type { DetectedProvider } from './detect.ts';

/** Variable with the id_token of a GitLab job; its name is chosen in `.gitlab-ci.yml`. */
export const ID_TOKEN = 'SVC_ID_TOKEN';
export const AUDIENCE = 'SVC_OIDC_AUDIENCE';
const REQUEST_URL = 'ACTIONS_ID_TOKEN_REQUEST_URL';
const REQUEST_TOKEN = 'ACTIONS_ID_TOKEN_REQUEST_TOKEN';
const MINT_LIMIT_MS = 10_000;

export interface Reporting {
  readonly provider: DetectedProvider | undefined;
  /**
   * Connection of the repository; it is needed for an exchange alone, and undefined where nothing tells it.
   */
  readonly ciConnectionId: string | undefined;
  /** Ends the exchange of an id_token. */
  readonly signal: AbortSignal;
}

/** The client that reports: with the key that there is, else with what the CI system gives the job. */
export async function reportingClient(
  context: Context,
  { provider, ciConnectionId, signal }: Reporting,
): Promise<Client> {
  const { io } = context;
  const connection = await context.connection();
  if (connection.credential !== undefined) return await context.client();
  const { baseUrl } = connection;
  const { timeoutMs, debug } = context.globals;
  const client = (how: { readonly credential?: string; readonly fetch?: Fetch }): Client =>
    clientFor(io, { baseUrl, credential: how.credential }, { debug, timeoutMs, fetch: how.fetch });
  const idToken = present(io, ID_TOKEN);
  if (idToken !== undefined) {
    if (ciConnectionId === undefined)
      throw new UsageError(`the id_token in ${ID_TOKEN} is exchanged for one connection: give --connection`);
    // The first of several attempts that arrives takes the token: what it answered to a lost connection is
    // gone with it.
    const { token } = await new Ci(client({})).exchangeIdToken(ciConnectionId, idToken, { signal });
    return client({ credential: token });
  }
  const [url, credential] = [present(io, REQUEST_URL), present(io, REQUEST_TOKEN)];
  if (url !== undefined && credential !== undefined) {
    const audience = audienceOf(context, baseUrl);
    const fetch = fetchOf(io, baseUrl);
    const idToken = async (ended: AbortSignal | undefined) =>
      await mint({ url, credential, audience, fetch }, ended);
    return client({ fetch: withIdTokens(fetch, idToken) });
  }
  throw nobody(provider, baseUrl);
}

function present(io: Io, name: string): string | undefined {
  const value = io.env[name]?.trim();
  return value === '' ? undefined : value;
}

/** The server expects its own public address unless it was told otherwise. */
function audienceOf({ io, args }: Context, baseUrl: string): string {
  const given = args['audience'];
  return typeof given === 'string' ? given : (present(io, AUDIENCE) ?? baseUrl);
}

/** Gives each attempt an id_token of its own. */
function withIdTokens(fetch: Fetch, idToken: (ended: AbortSignal | undefined) => Promise<string>): Fetch {
  return async (url, init) => {
    const headers = new Headers(init.headers);
    headers.set('authorization', `Bearer ${await idToken(init.signal ?? undefined)}`);
    return await fetch(url, { ...init, headers });
  };
}

interface Asking {
  readonly url: string;
  readonly credential: string;
  readonly audience: string;
  readonly fetch: Fetch;
}

async function mint(
  { url, credential, audience, fetch }: Asking,
  ended: AbortSignal | undefined,
): Promise<string> {
  if (!URL.canParse(url) || isExposed(url)) throw new Error(`${REQUEST_URL} is no https address`);
  const asked = new URL(url);
  asked.searchParams.set('audience', audience);
  const limit = AbortSignal.timeout(MINT_LIMIT_MS);
  const response = await fetch(asked.href, {
    headers: { authorization: `Bearer ${credential}`, accept: 'application/json' },
    redirect: 'manual',
    signal: ended === undefined ? limit : AbortSignal.any([limit, ended]),
  });
  const body: unknown = response.status === 200 ? await response.json().catch(() => undefined) : undefined;
  const value = typeof body === 'object' && body !== null && 'value' in body ? body.value : undefined;
  if (typeof value === 'string' && /^[\w.-]+$/.test(value)) return value;
  throw new Error(`GitHub was asked for an id_token and gave none (status ${response.status})`);
}

function nobody(provider: DetectedProvider | undefined, baseUrl: string): CliError {
  const byProvider: Partial<Record<DetectedProvider, string>> = {
    github: 'or let the job ask for id_tokens: "permissions: { id-token: write }"',
    gitlab: `or give the job an id_token: "id_tokens: { ${ID_TOKEN}: { aud: ${baseUrl} } }"`,
  };
  const other = provider === undefined ? undefined : byProvider[provider];
  return new CliError('no_credential', 'nothing says who reports', {
    hints: ['set SVC_API_KEY to a key with the scope ci:write', ...(other === undefined ? [] : [other])],
  });
}
