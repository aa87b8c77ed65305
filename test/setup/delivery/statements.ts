/** Makes statements of others about artifacts, signed as their scanners sign them. */
import { generateKeyPairSync, sign, type KeyObject } from 'node:crypto';
import { bundleOf, PAYLOAD_TYPE, paeOf } from '../../../server/delivery/attestations/envelope.ts';
import { statementBytes } from '../../../server/delivery/attestations/statement.ts';

/** Makes a key pair of ECDSA over P-256, with its public half as text. */
export function signingPair() {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  return { privateKey, publicKey, pem: String(publicKey.export({ format: 'pem', type: 'spki' })) };
}

/** Returns the bytes of a statement about one artifact. */
export const statementAbout = (digest: string, predicateType: string, predicate: object): Uint8Array =>
  statementBytes({ subjects: [{ name: 'web', digest }], predicateType, predicate: { ...predicate } });

/** Returns the bundle of the payload, with an empty hint. */
export const bundled = (payload: Uint8Array, key: KeyObject): Buffer =>
  bundleOf({ payload, signature: sign('sha256', paeOf(PAYLOAD_TYPE, payload), key), hint: '' });

/** Returns the envelope alone, with members in place of its own. */
export function enveloped(payload: Uint8Array, key: KeyObject, more: object = {}): string {
  const sig = sign('sha256', paeOf(PAYLOAD_TYPE, payload), key).toString('base64');
  const text = Buffer.from(payload).toString('base64');
  return JSON.stringify({ payload: text, payloadType: PAYLOAD_TYPE, signatures: [{ sig }], ...more });
}
