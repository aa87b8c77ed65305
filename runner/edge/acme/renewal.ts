/**
 * Says when a certificate is renewed: in the window that its authority suggests (RFC 9773), else after two
 * thirds of its life. The moment is drawn by the certificate itself, so that it stays the same over restarts
 * and differs between certificates that were issued together.
 */
import { createHash, type X509Certificate } from 'node:crypto';
import { jsonOf, type Acme } from './client.ts';
import { nodesIn, oid, TAG, type Node } from './der.ts';
import { problemOfReply, retryAfterMs } from './problem.ts';

const AUTHORITY_KEY_IDENTIFIER = oid('2.5.29.35');
/** The key identifier among what the extension may hold. */
const KEY_ID = 0x80;
/** Share of a life after which it is renewed, and by how much of the life that differs either way. */
const [DUE_AT, SPREAD] = [2 / 3, 0.05];
export const ASK_AGAIN_MS_MIN = 6 * 3_600_000;
const ASK_AGAIN_MS_MAX = 7 * 24 * 3_600_000;

export interface Window {
  startMs: number;
  endMs: number;
}

export interface Suggestion extends Window {
  /** Wall clock; before it the authority does not want to be asked again. */
  askAgainAtMs: number;
}

interface Life {
  serial: string;
  notBeforeMs: number;
  notAfterMs: number;
}

export function renewAtMs({ serial, notBeforeMs, notAfterMs }: Life, window?: Window): number {
  const drawn = drawnFrom(serial);
  if (window !== undefined) return Math.floor(window.startMs + drawn * (window.endMs - window.startMs));
  const lifeMs = notAfterMs - notBeforeMs;
  return Math.floor(notBeforeMs + lifeMs * (DUE_AT + (drawn * 2 - 1) * SPREAD));
}

/** Returns a number from 0 up to 1. */
function drawnFrom(text: string): number {
  return createHash('sha256').update(text).digest().readUInt32BE() / 2 ** 32;
}

/** Returns the name of a certificate towards its authority, if the certificate says who signed it. */
export function renewalId(certificate: X509Certificate): string | undefined {
  const [signed] = nodesIn(nodesIn(certificate.raw)[0]?.content ?? Buffer.alloc(0));
  const fields = nodesIn(signed?.content ?? Buffer.alloc(0));
  const serial = fields.find(({ tag }) => tag === TAG.integer);
  const keyId = keyIdIn(fields);
  return serial === undefined || keyId === undefined ? undefined : idOf(keyId, serial.content);
}

/** Both are the bytes of their DER values; a serial keeps its leading zero. */
export function idOf(keyId: Buffer, serial: Buffer): string {
  return `${keyId.toString('base64url')}.${serial.toString('base64url')}`;
}

function keyIdIn(fields: readonly Node[]): Buffer | undefined {
  const [list] = nodesIn(fields.find(({ tag }) => tag === TAG.extensions)?.content ?? Buffer.alloc(0));
  for (const extension of nodesIn(list?.content ?? Buffer.alloc(0))) {
    const [id, ...rest] = nodesIn(extension.content);
    const value = rest.at(-1);
    if (id === undefined || value?.tag !== TAG.octets) continue;
    if (!AUTHORITY_KEY_IDENTIFIER.subarray(2).equals(id.content)) continue;
    const [parts] = nodesIn(value.content);
    return nodesIn(parts?.content ?? Buffer.alloc(0)).find(({ tag }) => tag === KEY_ID)?.content;
  }
  return undefined;
}

/** Asks the authority; undefined where it suggests nothing. */
export async function suggestionFor(
  acme: Acme,
  certificate: X509Certificate,
  nowMs: number,
): Promise<Suggestion | undefined> {
  const { renewalInfo } = await acme.directory();
  const id = renewalId(certificate);
  if (renewalInfo === undefined || id === undefined) return undefined;
  const reply = await acme.get(`${renewalInfo.replace(/\/$/, '')}/${id}`);
  if (reply.status !== 200) throw problemOfReply(reply, nowMs);
  const { start, end } = (jsonOf(reply)['suggestedWindow'] ?? {}) as Record<string, string>;
  const [startMs, endMs] = [Date.parse(start ?? ''), Date.parse(end ?? '')];
  if (!(startMs < endMs)) return undefined;
  const waitMs = Math.min(Math.max(retryAfterMs(reply, nowMs) ?? 0, ASK_AGAIN_MS_MIN), ASK_AGAIN_MS_MAX);
  return { startMs, endMs, askAgainAtMs: nowMs + waitMs };
}
