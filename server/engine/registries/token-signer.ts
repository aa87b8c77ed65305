/**
 * Signs the tokens that the service's local registry believes (JWT, ES256). Keys come from the installation's
 * key, so that all of its servers sign with the same and nothing has to be kept. The registry is given the
 * root's certificate; each token brings the certificate of the key that signed it along (`x5c`), which every
 * version of the registry takes.
 */
import {
  createECDH,
  createHash,
  createPrivateKey,
  createPublicKey,
  sign,
  X509Certificate,
  type KeyObject,
} from 'node:crypto';
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Secrets } from '../../base/secrets.ts';

const ROOT = 'svc registry root';
const SIGNER = 'svc registry tokens';
/** It lies in a folder of its own, so that the registry can be given the folder and nothing else of ours. */
export const rootCertificateFile = (dataDir: string): string => join(dataDir, 'registry', 'tokens.crt');

export interface TokenSigner {
  /** PEM: the registry's `rootcertbundle`. */
  readonly rootCertificate: string;
  sign(claims: Readonly<Record<string, unknown>>): string;
}

export function createTokenSigner(secrets: Pick<Secrets, 'mac'>): TokenSigner {
  const [root, signer] = [keyOf(secrets, 'root'), keyOf(secrets, 'signer')];
  const certificate = createCertificate(SIGNER, signer, root);
  const encode = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');
  const head = encode({ typ: 'JWT', alg: 'ES256', x5c: [certificate.toString('base64')] });
  return {
    rootCertificate: toPem(createCertificate(ROOT, root, root)),
    sign(claims) {
      const text = `${head}.${encode(claims)}`;
      const signature = sign('sha256', Buffer.from(text), { key: signer, dsaEncoding: 'ieee-p1363' });
      return `${text}.${signature.toString('base64url')}`;
    },
  };
}

/**
 * Writes the certificate for the registry, `DATA_DIR/registry/tokens.crt`. One of the same key stays, because
 * the registry may have read it.
 */
export function keepRootCertificate({ rootCertificate }: TokenSigner, dataDir: string): void {
  const path = rootCertificateFile(dataDir);
  const keyIn = (pem: string): string =>
    new X509Certificate(pem).publicKey.export({ type: 'spki', format: 'pem' }).toString();
  try {
    if (keyIn(readFileSync(path, 'utf8')) === keyIn(rootCertificate)) return;
  } catch {
    // There is no file, or no certificate in it, and it is written anew.
  }
  mkdirSync(dirname(path), { recursive: true, mode: 0o711 });
  writeFileSync(`${path}.${process.pid}`, rootCertificate, { mode: 0o644 });
  renameSync(`${path}.${process.pid}`, path);
}

/** All but one of 2^32 numbers of 256 bits are keys of P-256. */
function keyOf(secrets: Pick<Secrets, 'mac'>, name: string): KeyObject {
  for (let at = 0; ; at += 1) {
    const d = Buffer.from(secrets.mac('registry.tokens', `${name} ${at}`));
    const ecdh = createECDH('prime256v1');
    try {
      ecdh.setPrivateKey(d);
    } catch {
      continue;
    }
    const point = ecdh.getPublicKey();
    // Uncompressed: 4, then both numbers.
    const part = (from: number): string => point.subarray(from, from + 32).toString('base64url');
    const key = { kty: 'EC', crv: 'P-256', x: part(1), y: part(33), d: d.toString('base64url') };
    return createPrivateKey({ format: 'jwk', key });
  }
}

// X.509 certificates, as few of them as a registry needs to trust our tokens: a root, and one signed by it,
// both of P-256 keys (RFC 5280).

const [BOOLEAN, INTEGER, BITS, OCTETS, OID, UTF8, UTC_TIME, SEQUENCE, SET] = [
  0x01, 0x02, 0x03, 0x04, 0x06, 0x0c, 0x17, 0x30, 0x31,
];
/** DER tags of a certificate's own fields, which are specific to their context. */
const [VERSION, EXTENSIONS] = [0xa0, 0xa3];
const COMMON_NAME = '550403';
const ECDSA_SHA256 = '2a8648ce3d040302';
const BASIC_CONSTRAINTS = '551d13';
const KEY_USAGE = '551d0f';
/** The keys live as long as the installation's own key does. */
const VALIDITY = ['200101000000Z', '491231235959Z'];

/** Makes the certificate of a key in DER, signed with the root, which alone may sign others. */
function createCertificate(subject: string, key: KeyObject, root: KeyObject): Buffer {
  const spki = createPublicKey(key).export({ type: 'spki', format: 'der' });
  const algorithm = der(SEQUENCE, oid(ECDSA_SHA256));
  // Positive, and the same for the same key.
  const serial = createHash('sha256').update(spki).digest().subarray(0, 8);
  serial[0] = ((serial[0] ?? 0) & 0x3f) | 0x40;
  const body = der(
    SEQUENCE,
    der(VERSION, der(INTEGER, Buffer.from([2]))),
    der(INTEGER, serial),
    algorithm,
    nameOf(ROOT),
    der(SEQUENCE, ...VALIDITY.map((time) => der(UTC_TIME, Buffer.from(time)))),
    nameOf(subject),
    spki,
    der(EXTENSIONS, der(SEQUENCE, ...extensionsOf(key === root))),
  );
  return der(SEQUENCE, body, algorithm, bits(sign('sha256', body, root)));
}

function toPem(certificate: Buffer): string {
  const lines = certificate.toString('base64').match(/.{1,64}/g) ?? [];
  return ['-----BEGIN CERTIFICATE-----', ...lines, '-----END CERTIFICATE-----', ''].join('\n');
}

function extensionsOf(authority: boolean): Buffer[] {
  const critical = der(BOOLEAN, Buffer.from([0xff]));
  const extension = (id: string, value: Buffer): Buffer =>
    der(SEQUENCE, oid(id), critical, der(OCTETS, value));
  // digitalSignature is bit 0, keyCertSign bit 5.
  const usage = authority ? [2, 0x04] : [7, 0x80];
  return [
    extension(BASIC_CONSTRAINTS, der(SEQUENCE, ...(authority ? [critical] : []))),
    extension(KEY_USAGE, der(BITS, Buffer.from(usage))),
  ];
}

function nameOf(text: string): Buffer {
  return der(SEQUENCE, der(SET, der(SEQUENCE, oid(COMMON_NAME), der(UTF8, Buffer.from(text)))));
}

function oid(hex: string): Buffer {
  return der(OID, Buffer.from(hex, 'hex'));
}

function bits(content: Buffer): Buffer {
  return der(BITS, Buffer.concat([Buffer.from([0]), content]));
}

function der(tag: number, ...parts: readonly Buffer[]): Buffer {
  const content = Buffer.concat(parts);
  const { length } = content;
  const size =
    length < 0x80 ? [length] : length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.from([tag, ...size]), content]);
}
