/**
 * Verifies what the service sends to webhook endpoints, by the Standard Webhooks rules: HMAC-SHA-256 over
 * `id.timestamp.body`. It uses Web Crypto alone, whose `verify` compares in constant time.
 */
import { isRecord } from './core/errors.ts';
import { systemRuntime } from './core/runtime.ts';
import type { WebhookEvent } from './webhook-event.ts';

/** Most time between sending and now, in either direction, as clocks differ. */
const TOLERANCE_MS = 300_000;
/** The service sends two at most, while a secret is being replaced; more are not worth the work. */
const SIGNATURES_MAX = 10;
const PREFIX = 'whsec_';

type HmacKey = Awaited<ReturnType<typeof crypto.subtle.importKey>>;

/**
 * Cause of a refusal.
 *
 * - `header_missing`: It is no webhook of the service, or something on its way took a header away.
 * - `timestamp_out_of_range`: It was sent too long ago, or the clocks differ: it may be a repetition of old.
 * - `signature_invalid`: Another secret signed it, or the body is not the one that was signed.
 * - `body_invalid`: It is signed, and holds no event.
 */
export type WebhookErrorCode =
  | 'header_missing'
  | 'timestamp_out_of_range'
  | 'signature_invalid'
  | 'body_invalid';

/** The request is not to be trusted: answer it with 400 and do nothing. */
export class SvcWebhookError extends Error {
  readonly code: WebhookErrorCode;

  constructor(code: WebhookErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'SvcWebhookError';
    this.code = code;
  }
}

/** Headers of the request: those of `Request`, of Node's `IncomingMessage`, or any record of them. */
export type WebhookHeaders =
  | { get(name: string): string | null }
  | Readonly<Record<string, string | readonly string[] | undefined>>;

/**
 * Returns the event, if it was signed with the secret (`whsec_…`) of the endpoint and sent within five
 * minutes of now; throws `SvcWebhookError` if not. The body is the raw text or bytes as they came: JSON that
 * was parsed and written again has another signature. While a secret is being replaced the old and the new
 * one both verify.
 *
 * @example Take a webhook
 * const event = await verifyWebhook(await request.text(), request.headers, secret);
 */
export async function verifyWebhook(
  body: string | Uint8Array | ArrayBuffer,
  headers: WebhookHeaders,
  secret: string,
): Promise<WebhookEvent> {
  const bytes = bytesOf(body);
  const key = await keyOf(secret);
  const id = headerOf(headers, 'webhook-id');
  const timestamp = headerOf(headers, 'webhook-timestamp');
  const signatures = headerOf(headers, 'webhook-signature');
  checkTime(timestamp);
  const signed = joined(new TextEncoder().encode(`${id}.${timestamp}.`), bytes);
  if (await isSigned(key, signed, signatures)) return eventOf(id, bytes);
  throw new SvcWebhookError(
    'signature_invalid',
    'no v1 signature of webhook-signature is one of this secret and this body; the body must be the raw one',
  );
}

function bytesOf(body: unknown): Uint8Array {
  if (typeof body === 'string') return new TextEncoder().encode(body);
  if (body instanceof Uint8Array) return body;
  if (body instanceof ArrayBuffer) return new Uint8Array(body);
  const what = body === null ? 'null' : typeof body;
  throw new TypeError(`the body of the webhook is ${what}, expected the raw text or bytes as they came`);
}

/** The message never shows the secret. */
async function keyOf(secret: unknown): Promise<HmacKey> {
  const encoded = typeof secret === 'string' && secret.startsWith(PREFIX) ? secret.slice(PREFIX.length) : '';
  const bytes = decoded(encoded);
  if (bytes === undefined || bytes.length === 0)
    throw new TypeError(
      `the secret of the webhook is not one of the service, expected ${PREFIX}… with base64`,
    );
  return await crypto.subtle.importKey('raw', bytes, { name: 'HMAC', hash: 'SHA-256' }, false, ['verify']);
}

/** Returns nothing for what is no base64. */
function decoded(base64: string): Uint8Array<ArrayBuffer> | undefined {
  try {
    return Uint8Array.from(atob(base64), (char) => char.charCodeAt(0));
  } catch {
    return undefined;
  }
}

function headerOf(headers: WebhookHeaders, name: string): string {
  const value = isGetter(headers) ? headers.get(name) : recordValue(headers, name);
  if (typeof value === 'string' && value !== '') return value;
  throw new SvcWebhookError('header_missing', `the request has no header ${name}`);
}

function isGetter(headers: WebhookHeaders): headers is { get(name: string): string | null } {
  return 'get' in headers && typeof headers.get === 'function';
}

/**
 * Names have any case in a record; of several values none is the one, so that they are joined as on the wire.
 */
function recordValue(
  headers: Readonly<Record<string, string | readonly string[] | undefined>>,
  name: string,
): string {
  const found = Object.entries(headers).filter(([key]) => key.toLowerCase() === name);
  return found.flatMap(([, value]) => value ?? []).join(', ');
}

function checkTime(timestamp: string): void {
  const sentMs = /^\d{1,12}$/.test(timestamp) ? Number(timestamp) * 1_000 : Number.NaN;
  const awayMs = Math.abs(systemRuntime.now() - sentMs);
  if (awayMs <= TOLERANCE_MS) return;
  const off = Number.isNaN(awayMs) ? 'not a time in seconds' : `${Math.round(awayMs)} ms from now`;
  throw new SvcWebhookError(
    'timestamp_out_of_range',
    `webhook-timestamp is ${JSON.stringify(timestamp)}, ${off}, expected at most ${TOLERANCE_MS} ms from now`,
  );
}

function joined(head: Uint8Array, rest: Uint8Array): Uint8Array<ArrayBuffer> {
  const all = new Uint8Array(head.length + rest.length);
  all.set(head);
  all.set(rest, head.length);
  return all;
}

async function isSigned(key: HmacKey, signed: Uint8Array<ArrayBuffer>, signatures: string): Promise<boolean> {
  for (const one of signatures.split(' ').slice(0, SIGNATURES_MAX)) {
    const signature = one.startsWith('v1,') ? decoded(one.slice('v1,'.length)) : undefined;
    if (signature !== undefined && (await crypto.subtle.verify('HMAC', key, signature, signed))) return true;
  }
  return false;
}

function eventOf(id: string, bytes: Uint8Array): WebhookEvent {
  let body: unknown;
  try {
    body = JSON.parse(new TextDecoder().decode(bytes));
  } catch (cause) {
    throw new SvcWebhookError('body_invalid', 'the body of the webhook is no JSON', { cause });
  }
  const { type, timestamp, data } = isRecord(body) ? body : {};
  if (typeof type !== 'string' || typeof timestamp !== 'string' || !isRecord(data))
    throw new SvcWebhookError('body_invalid', 'the body of the webhook has no type, timestamp and data');
  return { id, type, timestamp, data: data as WebhookEvent['data'] };
}
