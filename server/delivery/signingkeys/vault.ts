/**
 * Keys in the Transit engine of a Vault (or OpenBao): they never leave it. One named key a purpose, of which
 * each of ours is a version.
 */
import { createPublicKey } from 'node:crypto';
import { apiError } from '@svc/proto/http/errors.ts';
import type { KeyStore } from './key-store.ts';

export interface VaultOptions {
  /** `https://vault.example.com:8200` */
  readonly address: string;
  readonly token: string;
  /** Path at which the engine is mounted: `transit`. */
  readonly mount: string;
  /** Keys are named `<prefix>-build-service` and so on. */
  readonly prefix: string;
}

const CALL_MS = 5_000;
const ANSWER_BYTES_MAX = 1_048_576;

interface KeyInfo {
  readonly latest_version?: unknown;
  readonly keys?: Readonly<Record<string, { readonly public_key?: unknown }>>;
}

export function createVaultKeys(options: VaultOptions): KeyStore {
  const call = async (method: 'GET' | 'POST', path: string, body?: object): Promise<unknown> =>
    await ask(options, { method, path, body });
  return {
    make: async (_id, purpose) => {
      const name = `${options.prefix}-${purpose.replace('_', '-')}`;
      const there = (await call('GET', `keys/${name}`)) as KeyInfo | undefined;
      if (there === undefined) await call('POST', `keys/${name}`, { type: 'ecdsa-p256' });
      else await call('POST', `keys/${name}/rotate`, {});
      const made = (await call('GET', `keys/${name}`)) as KeyInfo | undefined;
      const version = Number(made?.latest_version);
      const pem = made?.keys?.[String(version)]?.public_key;
      if (!Number.isSafeInteger(version) || typeof pem !== 'string')
        throw unavailable(`it names no public key for version ${version} of ${name}`);
      const spki = createPublicKey(pem).export({ format: 'der', type: 'spki' });
      return { spki, privateSealed: null, externalRef: `${name}:${version}` };
    },
    sign: async ({ id, externalRef }, bytes) => {
      const [name, version] = externalRef?.split(':') ?? [];
      if (name === undefined) throw new Error(`signing key ${id} is not held by the Vault`);
      const input = Buffer.from(bytes).toString('base64');
      const asked = { input, key_version: Number(version), marshaling_algorithm: 'asn1' };
      const answer = await call('POST', `sign/${name}/sha2-256`, asked);
      const { signature: stated } = (answer ?? {}) as { readonly signature?: unknown };
      const [, , signature] = String(stated).split(':'); // `vault:v1:<base64>`
      if (signature === undefined) throw unavailable('it answered no signature');
      return Buffer.from(signature, 'base64');
    },
  };
}

interface Asking {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly body?: object | undefined;
}

/** It is the `data` of the answer, or undefined where there is no such thing. */
async function ask(
  { address, token, mount }: VaultOptions,
  { method, path, body }: Asking,
): Promise<unknown> {
  try {
    const response = await fetch(`${address.replace(/\/$/, '')}/v1/${mount}/${path}`, {
      method,
      headers: { 'x-vault-token': token, 'content-type': 'application/json' },
      signal: AbortSignal.timeout(CALL_MS),
      redirect: 'error',
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await boundedText(response);
    if (response.status === 404) return undefined;
    if (!response.ok) throw new Error(`${method} ${path}: status ${response.status}`);
    return text === '' ? undefined : (JSON.parse(text) as { readonly data?: unknown }).data;
  } catch (error) {
    throw unavailable(error instanceof Error ? error.message : String(error), error);
  }
}

async function boundedText({ body }: Response): Promise<string> {
  const parts: Uint8Array[] = [];
  let length = 0;
  for await (const part of (body ?? []) as AsyncIterable<Uint8Array>) {
    length += part.length;
    if (length > ANSWER_BYTES_MAX) throw new Error(`its answer is longer than ${ANSWER_BYTES_MAX} bytes`);
    parts.push(part);
  }
  return Buffer.concat(parts).toString('utf8');
}

function unavailable(why: string, cause?: unknown): Error {
  const message = `the store of signing keys (VAULT_ADDR) does not answer as it should: ${why}`;
  return apiError('unavailable', message, { retryAfterMs: 5_000, cause });
}
