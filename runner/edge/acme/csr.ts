/**
 * Makes the request for a certificate of one name (PKCS #10, RFC 2986): it has no subject, but an extension.
 */
import { createPublicKey, sign, type KeyObject } from 'node:crypto';
import { der, oid, sequence, TAG } from './der.ts';

const EXTENSION_REQUEST = oid('1.2.840.113549.1.9.14');
const SUBJECT_ALT_NAME = oid('2.5.29.17');
const ECDSA_WITH_SHA256 = oid('1.2.840.10045.4.3.2');
/** A name of the DNS among the kinds of names. */
const DNS_NAME = 0x82;
const ATTRIBUTES = 0xa0;
const VERSION = Buffer.from([TAG.integer, 1, 0]);

export function certificateRequest(key: KeyObject, name: string): Buffer {
  const names = sequence(der(DNS_NAME, Buffer.from(name, 'ascii')));
  const extension = sequence(SUBJECT_ALT_NAME, der(TAG.octets, names));
  const attribute = sequence(EXTENSION_REQUEST, der(TAG.set, sequence(extension)));
  const publicKey = createPublicKey(key).export({ format: 'der', type: 'spki' });
  const info = sequence(VERSION, sequence(), publicKey, der(ATTRIBUTES, attribute));
  // No bit of the last byte is unused.
  const signature = der(TAG.bits, Buffer.from([0]), sign('sha256', info, key));
  return sequence(info, sequence(ECDSA_WITH_SHA256), signature);
}
