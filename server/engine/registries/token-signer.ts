/**
 * Signs the tokens that the service's local registry believes (JWT, ES256). Keys come from the installation's
 * key, so that all of its servers sign with the same and nothing has to be kept. The registry is given the
 * root's certificate; each token brings the certificate of the key that signed it along (`x5c`), which every
 * version of the registry takes.
 */
import { createECDH, createPrivateKey, createPublicKey, sign, X509Certificate } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Secrets } from '../../base/secrets.ts';
import { createCertificate, toPem } from './certificate.ts';

const ROOT = 'svc registry root';
const SIGNER = 'svc registry tokens';
/** In a folder of its own, so that the registry can be given the folder and nothing else of ours. */
export const rootCertificateFile = (dataDir: string): string => join(dataDir, 'registry', 'tokens.crt');

export interface TokenSigner {
  /** PEM: the registry's `rootcertbundle`. */
  readonly rootCertificate: string;
  sign(claims: Readonly<Record<string, unknown>>): string;
}

export function createTokenSigner(secrets: Pick<Secrets, 'mac'>): TokenSigner {
  const [root, signer] = [keyOf(secrets, 'root'), keyOf(secrets, 'signer')];
  const rootCertificate = createCertificate({
    subject: ROOT,
    issuer: ROOT,
    publicKey: createPublicKey(root),
    signedWith: root,
    authority: true,
  });
  const certificate = createCertificate({
    subject: SIGNER,
    issuer: ROOT,
    publicKey: createPublicKey(signer),
    signedWith: root,
    authority: false,
  });
  const encode = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');
  const head = encode({ typ: 'JWT', alg: 'ES256', x5c: [certificate.toString('base64')] });
  return {
    rootCertificate: toPem(rootCertificate),
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
