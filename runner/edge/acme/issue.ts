/**
 * An order of a certificate for one name goes through these (RFC 8555, 7.4):
 *
 *   newOrder → authorisations → (challenge → poll)… → finalize → poll → download
 *
 * An authorisation that is valid already needs no challenge. All waiting together has one limit.
 */
import { generateKeyPairSync } from 'node:crypto';
import { monotonicMs, pause } from '../../platform/clock.ts';
import type { HttpReply } from '../../control-plane/http-client.ts';
import { jsonOf, type Acme } from './client.ts';
import { certificateRequest } from './csr.ts';
import { isHttps } from './directory-url.ts';
import { AcmeError, problemIn, retryAfterMs } from './problem.ts';

/** An authority looks from several places; Let's Encrypt gives up after less than a minute. */
const WAIT_MS_MAX = 120_000;
const POLL_MS_FIRST = 50;
const POLL_MS_MAX = 5_000;

/** Proves to the authority that this machine answers for a name, in a way that has a type of challenge. */
export interface Solver {
  readonly type: 'http-01' | 'dns-01';
  /** Shows the answer to the authority; the function that comes back takes it away again. */
  show(challenge: { name: string; token: string; keyAuthorization: string }): Promise<() => Promise<void>>;
}

export interface IssueOptions {
  acme: Acme;
  solver: Solver;
  name: string;
  /** The certificate that this one takes the place of (RFC 9773); the order is then not counted. */
  replaces?: string;
  nowMs: () => number;
  signal: AbortSignal;
}

export interface Issued {
  /** PEM of the key, made here. */
  key: string;
  /** PEM of the certificate, and of those between it and the authority's root. */
  chain: string;
}

interface Challenge {
  type?: string;
  url?: string;
  token?: string;
}

const TOKEN = /^[A-Za-z0-9_-]{20,128}$/;

export async function issue(options: IssueOptions): Promise<Issued> {
  const { acme, name } = options;
  const waiting = startWaiting(options);
  const order = await newOrder(options);
  const { authorizations } = order.body;
  for (const url of Array.isArray(authorizations) ? (authorizations as unknown[]) : [])
    await authorise(requireUrl(url), options, waiting);
  const ready = await waiting.until(order.url, ({ status }) => status !== 'pending');
  requireStatus(ready, ['ready', 'processing', 'valid'], 'order');
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const csr = certificateRequest(privateKey, name).toString('base64url');
  await acme.post(requireUrl(ready['finalize']), { csr });
  const done = await waiting.until(order.url, ({ status }) => status !== 'ready' && status !== 'processing');
  requireStatus(done, ['valid'], 'order');
  const chain = await acme.post(requireUrl(done['certificate']));
  return {
    key: privateKey.export({ format: 'pem', type: 'pkcs8' }).toString(),
    chain: chain.body.toString('latin1'),
  };
}

async function newOrder({ acme, name, replaces }: IssueOptions) {
  const { newOrder: url } = await acme.directory();
  const identifiers = [{ type: 'dns', value: name }];
  let reply: HttpReply;
  try {
    reply = await acme.post(url, { identifiers, ...(replaces === undefined ? {} : { replaces }) });
  } catch (error) {
    // The authority forgot the certificate, or it was replaced before: the order itself is fine.
    const retry = replaces !== undefined && error instanceof AcmeError && !LASTING.has(error.document.type);
    if (!retry) throw error;
    reply = await acme.post(url, { identifiers });
  }
  return { url: requireUrl(reply.headers.location), body: jsonOf(reply) };
}

/** An order without `replaces` would be refused for the same reason. */
const LASTING: ReadonlySet<string> = new Set(['rateLimited', 'rejectedIdentifier', 'caa', 'serverInternal']);

async function authorise(url: string, { acme, solver, name }: IssueOptions, waiting: Waiting): Promise<void> {
  const authorisation = jsonOf(await acme.post(url));
  if (authorisation['status'] === 'valid') return;
  const challenges = (authorisation['challenges'] ?? []) as Challenge[];
  const challenge = challenges.find(({ type }) => type === solver.type);
  const { token } = challenge ?? {};
  if (token === undefined || !TOKEN.test(token))
    throw new AcmeError({ type: 'malformed', detail: `the authority offers no challenge ${solver.type}` });
  const hide = await solver.show({ name, token, keyAuthorization: acme.keyAuthorization(token) });
  try {
    await acme.post(requireUrl(challenge?.url), {});
    const ended = await waiting.until(url, ({ status }) => status !== 'pending');
    if (ended['status'] !== 'valid') throw failureOf(ended, solver.type);
  } finally {
    await hide();
  }
}

/** The reason stands in the challenge that failed. */
function failureOf(authorisation: Record<string, unknown>, type: string): AcmeError {
  const challenges = (authorisation['challenges'] ?? []) as Array<Challenge & { error?: unknown }>;
  const failed = challenges.find((challenge) => challenge.type === type && challenge.error !== undefined);
  return new AcmeError(problemIn(failed?.error, `the authorisation is ${String(authorisation['status'])}`));
}

function requireStatus(body: Record<string, unknown>, allowed: readonly string[], what: string): void {
  const status = String(body['status']);
  if (!allowed.includes(status)) throw new AcmeError(problemIn(body['error'], `the ${what} is ${status}`));
}

function requireUrl(value: unknown): string {
  if (isHttps(value)) return value;
  throw new AcmeError({ type: 'malformed', detail: 'the authority left out an address, or it is not https' });
}

interface Waiting {
  until(url: string, holds: (body: Record<string, unknown>) => boolean): Promise<Record<string, unknown>>;
}

function startWaiting({ acme, nowMs, signal }: IssueOptions): Waiting {
  const endMs = monotonicMs() + WAIT_MS_MAX;
  return {
    async until(url, holds) {
      for (let pauseMs = POLL_MS_FIRST; ; pauseMs = Math.min(pauseMs * 2, POLL_MS_MAX)) {
        const reply = await acme.post(url);
        const body = jsonOf(reply);
        if (holds(body)) return body;
        const askedMs = retryAfterMs(reply, nowMs()) ?? pauseMs;
        if (monotonicMs() + askedMs > endMs || signal.aborted)
          throw new AcmeError({
            type: 'serverInternal',
            detail: `the authority did not decide within ${WAIT_MS_MAX / 1_000} s`,
          });
        await pause(askedMs, signal);
      }
    },
  };
}
