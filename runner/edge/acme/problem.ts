/** Turns what went wrong with an authority into one sentence that says what to do about it. */
import type { HttpReply } from '../../control-plane/http-client.ts';

/** A problem document (RFC 7807) of an authority; `type` is without the prefix of ACME. */
export interface ProblemDocument {
  type: string;
  detail: string;
}

/** An authority refused, or what it said makes no sense. */
export class AcmeError extends Error {
  override readonly name = 'AcmeError';
  readonly document: ProblemDocument;
  /** The authority asked to be left alone for so long. */
  readonly retryAfterMs: number | undefined;

  constructor(document: ProblemDocument, retryAfterMs?: number) {
    super(`${document.type}: ${document.detail}`);
    this.document = document;
    this.retryAfterMs = retryAfterMs;
  }
}

/** A name could not be proved, before an authority was asked to look. */
export class ProofError extends Error {
  override readonly name = 'ProofError';
  readonly detail: string;

  /** @param problem One sentence for people. */
  constructor(problem: string, detail: string) {
    super(problem);
    this.detail = detail;
  }
}

const PREFIX = 'urn:ietf:params:acme:error:';
const DETAIL_CHARS_MAX = 500;

export function problemIn(value: unknown, fallback: string): ProblemDocument {
  const { type, detail, subproblems } = (value ?? {}) as Record<string, unknown>;
  const [first] = Array.isArray(subproblems) ? (subproblems as unknown[]) : [];
  // The outer one of several says no more than that there are some.
  if (first !== undefined && type === `${PREFIX}compound`) return problemIn(first, fallback);
  return {
    type: typeof type === 'string' ? type.replace(PREFIX, '') : fallback,
    detail: cleaned(typeof detail === 'string' ? detail : fallback),
  };
}

export function problemOfReply(reply: HttpReply, nowMs: number): AcmeError {
  let body: unknown;
  try {
    body = JSON.parse(reply.body.toString());
  } catch {
    body = undefined; // A proxy's page.
  }
  const fallback = reply.status === 429 ? 'rateLimited' : `status ${reply.status}`;
  return new AcmeError(problemIn(body, fallback), retryAfterMs(reply, nowMs));
}

/** Reads the header, which is a number of seconds or a date. */
export function retryAfterMs(reply: Pick<HttpReply, 'headers'>, nowMs: number): number | undefined {
  const text = reply.headers['retry-after'];
  if (text === undefined) return undefined;
  const ms = /^\d{1,9}$/.test(text) ? Number(text) * 1_000 : Date.parse(text) - nowMs;
  return Number.isFinite(ms) ? Math.max(0, ms) : undefined;
}

type Sentence = (name: string) => string;

const SENTENCES: Readonly<Record<string, Sentence>> = {
  dns: (name) => `the authority cannot resolve ${name}: check its DNS records and their DNSSEC`,
  connection: (name) =>
    `the authority cannot reach ${name} on port 80: open that port to the internet and lead it to this machine`,
  unauthorized: (name) =>
    `another server answers the authority for ${name}: point all of its A and AAAA records to this machine`,
  incorrectResponse: (name) =>
    `another server answers the authority for ${name}: point all of its A and AAAA records to this machine`,
  tls: (name) => `${name} redirects the authority to a server whose TLS does not work`,
  caa: (name) =>
    `a CAA record forbids this authority to issue for ${name}: allow it there or remove the record`,
  rejectedIdentifier: (name) => `the authority does not issue for ${name}: choose another name`,
  unsupportedIdentifier: (name) => `the authority does not issue for ${name}: choose another name`,
  rateLimited: () =>
    'the authority has a limit of certificates that is reached: the next try comes by itself',
  externalAccountRequired: () =>
    'the authority wants an account of its own: name its key with --acme-eab-file',
  userActionRequired: () => 'the authority wants its terms to be agreed to again: see the detail',
  badCSR: (name) => `the authority refuses the request for ${name}: see the detail`,
  invalidContact: () => 'the authority refuses the contact: give an address of mail with --acme-contact',
  unsupportedContact: () => 'the authority refuses the contact: give an address of mail with --acme-contact',
  serverInternal: () => 'the authority has a fault of its own: the next try comes by itself',
  badCertificate: (name) =>
    `the authority sent a certificate that does not fit ${name}: the next try comes by itself`,
};

const otherRecord: Sentence = (name) =>
  `the authority does not find the record that proves ${name}: see that all servers of its zone have the same records, and that no CNAME leads _acme-challenge elsewhere`;

const OF_DNS: Readonly<Record<string, Sentence>> = {
  unauthorized: otherRecord,
  incorrectResponse: otherRecord,
};

export interface Explained {
  /** One sentence for people. */
  problem: string;
  /** Text of the authority or the system. */
  detail: string;
}

export function explained(error: unknown, name: string, by: 'http-01' | 'dns-01' = 'http-01'): Explained {
  if (error instanceof ProofError) return { problem: error.message, detail: cleaned(error.detail) };
  if (error instanceof AcmeError) {
    const { type, detail } = error.document;
    const sentences = by === 'dns-01' ? { ...SENTENCES, ...OF_DNS } : SENTENCES;
    const sentence = sentences[type]?.(name) ?? `the authority refuses ${name} (${cleaned(type)})`;
    return { problem: sentence, detail };
  }
  const detail = cleaned(error instanceof Error ? error.message : String(error));
  if (error instanceof Error && error.name === 'TransportError')
    return {
      problem: 'the authority cannot be reached from this machine: the next try comes by itself',
      detail,
    };
  return { problem: `no certificate could be made for ${name}: see the detail`, detail };
}

/** Texts of others are shown in terminals. */
export function cleaned(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}]+/gu, ' ').slice(0, DETAIL_CHARS_MAX);
}
