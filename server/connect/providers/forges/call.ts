/**
 * Calls go to the API of a repository's host with the connection's token, through the fetch that reaches
 * public addresses alone.
 */
import { JobFailed } from '../../../kit/jobs/index.ts';
import { SafeFetchError, type SafeFetch, type SafeRequest } from '../../../base/safe-fetch.ts';
import type { Secrets } from '../../../base/secrets.ts';
import { at, clip, listOf, text } from '../read.ts';
import type { ForgeId } from '../words.ts';
import { apiUrlOf, forgeOf, openToken, repositoryBase, type HostedRepository } from './forge.ts';

export type ForgeProblem =
  | 'unsupported_host'
  | 'unauthorised'
  | 'forbidden'
  | 'not_found'
  | 'refused'
  | 'rate_limited'
  | 'provider_unavailable'
  | 'answer_invalid';

/** Problems after which the same request may succeed later. */
const PASSING: ReadonlySet<ForgeProblem> = new Set(['rate_limited', 'provider_unavailable']);

/** A request to a repository's host failed. The message may be shown to the team; it holds no token. */
export class ForgeError extends JobFailed {
  readonly problem: ForgeProblem;
  /** HTTP status; absent when there was no answer. */
  readonly status: number | undefined;
  constructor(problem: ForgeProblem, message: string, more: { status?: number; retryInMs?: number } = {}) {
    super(message, { isFinal: !PASSING.has(problem), retryInMs: more.retryInMs });
    this.name = 'ForgeError';
    this.problem = problem;
    this.status = more.status;
  }
}

export interface ForgeRequest {
  readonly method?: SafeRequest['method'];
  /** Path below the base address, beginning with a slash, encoded. */
  readonly path: string;
  readonly query?: Readonly<Record<string, string | number | undefined>>;
  readonly json?: object;
  /** Default: `application/json`. */
  readonly accept?: string;
  /** Limit of the answer's body. Default: 1 MiB. */
  readonly bytesMax?: number;
}

export interface ForgeAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly body: Uint8Array;
  /** Throws a ForgeError when it is none. */
  json(): unknown;
}

export interface ForgeApi {
  readonly forge: ForgeId;
  /** Base address of the API, without a slash at its end. */
  readonly url: string;
  /** The connection's repository: `owner/name`. */
  readonly repositoryPath: string;
  /** The repository below the API's base address, encoded. */
  readonly repositoryBase: string;
  readonly hasToken: boolean;
  /** Answers 2xx; everything else is thrown as a ForgeError. */
  call(request: ForgeRequest): Promise<ForgeAnswer>;
}

export interface ForgeDeps {
  readonly fetch: SafeFetch;
  readonly secrets: Pick<Secrets, 'open'>;
}

/** Throws a ForgeError `unsupported_host` when nobody knows what the host is. */
export function forgeApi(
  { fetch, secrets }: ForgeDeps,
  connection: HostedRepository,
  signal?: AbortSignal,
): ForgeApi {
  const forge = forgeOf(connection);
  if (forge === undefined)
    throw new ForgeError(
      'unsupported_host',
      `what ${connection.repositoryHost} is was not said; set a token and name its kind`,
    );
  const base = apiUrlOf(connection, forge);
  const token = openToken(secrets, connection);
  return {
    forge,
    url: base,
    repositoryPath: connection.repositoryPath,
    repositoryBase: repositoryBase(forge, connection.repositoryPath),
    hasToken: token !== undefined,
    call: async ({ method = 'GET', path, query = {}, json, accept = 'application/json', bytesMax }) => {
      const parameters = Object.entries(query).flatMap(([name, value]) =>
        value === undefined ? [] : [[name, String(value)] as [string, string]],
      );
      const search = parameters.length === 0 ? '' : `?${new URLSearchParams(parameters).toString()}`;
      const answer = await send(
        { fetch, forge, token },
        {
          method,
          url: `${base}${path}${search}`,
          headers: {
            accept,
            'user-agent': 'svc-connect/1',
            ...(json === undefined ? {} : { 'content-type': 'application/json' }),
            ...(token === undefined ? {} : credential(forge, token)),
            ...(forge === 'github' ? { 'x-github-api-version': '2022-11-28' } : {}),
          },
          ...(json === undefined ? {} : { body: JSON.stringify(json) }),
          ...(bytesMax === undefined ? {} : { bytesMax }),
          ...(signal === undefined ? {} : { signal }),
        },
      );
      return { ...answer, json: () => parse(answer.body, `${method} ${path}`) };
    },
  };
}

/**
 * Azure takes personal access tokens as the password of nobody, and Bitbucket app passwords as
 * `user:password`.
 */
function credential(forge: ForgeId, token: string): Record<string, string> {
  const basic = (text: string) => ({ authorization: `Basic ${Buffer.from(text).toString('base64')}` });
  if (forge === 'gitlab') return { 'private-token': token };
  if (forge === 'azure') return basic(`:${token}`);
  if (forge === 'bitbucket' && token.includes(':')) return basic(token);
  return { authorization: `Bearer ${token}` };
}

interface Answered {
  readonly status: number;
  readonly headers: ForgeAnswer['headers'];
  readonly body: Uint8Array;
}

interface Host {
  readonly fetch: SafeFetch;
  readonly forge: ForgeId;
  readonly token: string | undefined;
}

async function send({ fetch, forge, token }: Host, request: SafeRequest): Promise<Answered> {
  const what = `${request.method} ${request.url.replace(/\?.*/, '')}`;
  let answer;
  try {
    answer = await fetch(request);
  } catch (error) {
    if (!(error instanceof SafeFetchError)) throw error;
    const problem = { blocked: 'unsupported_host', too_large: 'answer_invalid' } as const;
    throw new ForgeError(
      error.problem === 'blocked' || error.problem === 'too_large'
        ? problem[error.problem]
        : 'provider_unavailable',
      `${what}: ${error.message}`,
    );
  }
  const { status } = answer;
  // Azure shows its page for signing in to whoever has no good token.
  if (forge === 'azure' && (status === 203 || status === 302))
    throw new ForgeError('unauthorised', `${what} was answered with the page for signing in`, { status });
  if (status >= 200 && status < 300) return answer;
  throw refusal(what, answer, token);
}

/**
 * GitHub answers 403 with headers at its limit, and 403 with a message alone at its secondary limit, which
 * asks to wait for a minute. All others answer 429.
 */
function refusal(what: string, { status, headers, body }: Answered, token: string | undefined): ForgeError {
  // A host that repeats what it was sent would have the token shown to people.
  const message = messageOf(body)?.replaceAll(token ?? NONE, '…');
  const isSecondary = status === 403 && /secondary rate limit|abuse detection/i.test(message ?? '');
  const retryInMs = waitOf(headers) ?? (isSecondary ? SECONDARY_MS : undefined);
  const limited = status === 429 || (status === 403 && retryInMs !== undefined);
  const moved =
    status >= 300 && status < 400 ? ', and redirects are not followed: was the repository moved?' : '';
  return new ForgeError(
    limited ? 'rate_limited' : problemOf(status),
    `${what} was answered with ${status}${message === undefined ? '' : `: ${message}`}${moved}`,
    {
      status,
      ...(retryInMs === undefined ? {} : { retryInMs }),
    },
  );
}

const SECONDARY_MS = 60_000;

/** A character that cannot be in a message. */
const NONE = '\0';

const PROBLEMS: Readonly<Record<number, ForgeProblem>> = {
  401: 'unauthorised',
  403: 'forbidden',
  404: 'not_found',
  408: 'provider_unavailable',
};

function problemOf(status: number): ForgeProblem {
  return PROBLEMS[status] ?? (status >= 500 ? 'provider_unavailable' : 'refused');
}

/** Longest wait, whatever the host asks for. */
const WAIT_MAX_MS = 3_600_000;

/**
 * Reads seconds from a number or a date; without either it is the time at which a limit that is used up
 * begins anew.
 */
function waitOf(headers: ForgeAnswer['headers']): number | undefined {
  const after = headers['retry-after'];
  if (typeof after === 'string') {
    const ms = /^\d{1,9}$/.test(after) ? Number(after) * 1_000 : Date.parse(after) - Date.now();
    if (!Number.isNaN(ms)) return bounded(ms);
  }
  const left = headers['x-ratelimit-remaining'] ?? headers['ratelimit-remaining'];
  const reset = Number(headers['x-ratelimit-reset'] ?? headers['ratelimit-reset']);
  return left === '0' && reset > 0 ? bounded(reset * 1_000 - Date.now()) : undefined;
}

const bounded = (ms: number): number => Math.min(Math.max(0, ms), WAIT_MAX_MS);

/** Characters; it is shown to people. */
const MESSAGE_MAX = 300;

/** The host's own message: `{message, errors}`, `{error}` or `{error: {message}}`. */
function messageOf(body: Uint8Array): string | undefined {
  let answer: unknown;
  try {
    answer = JSON.parse(Buffer.from(body).toString());
  } catch {
    return undefined; // A page for people.
  }
  const message = at(answer, 'message') ?? at(answer, 'error', 'message') ?? at(answer, 'error');
  const errors = listOf(at(answer, 'errors')).map((error) => at(error, 'message') ?? error);
  const parts = [message, ...errors].flatMap(
    (part) => text(typeof part === 'object' ? JSON.stringify(part) : part) ?? [],
  );
  return parts.length === 0 ? undefined : clip(parts.join(', '), MESSAGE_MAX);
}

function parse(body: Uint8Array, what: string): unknown {
  try {
    return JSON.parse(Buffer.from(body).toString());
  } catch {
    throw new ForgeError('answer_invalid', `${what} was answered with what is no JSON`);
  }
}
