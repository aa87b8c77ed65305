/**
 * The Transit engine of a Vault, as its documents describe it, as far as signing with ECDSA keys goes: keys
 * with versions that never leave it.
 */
import { generateKeyPairSync, sign, type KeyObject } from 'node:crypto';
import { createServer, type IncomingMessage } from 'node:http';
import { onLoopback } from '../listen.ts';

interface Pair {
  readonly privateKey: KeyObject;
  readonly publicKey: KeyObject;
}

export type TestVault = Awaited<ReturnType<typeof startVault>>;

const TOKEN = 'hvs.test-token';

export async function startVault() {
  const keys = new Map<string, Pair[]>();
  const signatures = new Map<string, number>();
  const made = (): Pair => generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const answer = async (request: IncomingMessage): Promise<readonly [number, unknown?]> => {
    if (vault.sealed) return [503, { errors: ['Vault is sealed'] }];
    if (request.headers['x-vault-token'] !== TOKEN) return [403, { errors: ['permission denied'] }];
    const body = JSON.parse((await bodyOf(request)) || '{}') as Record<string, unknown>;
    const [, what, name = '', last] =
      /^\/v1\/transit\/(keys|sign)\/([\w-]+)(?:\/([\w-]+))?$/.exec(request.url ?? '') ?? [];
    const pairs = keys.get(name);
    if (what === 'keys' && last === undefined && request.method === 'POST') {
      if (body['type'] !== 'ecdsa-p256')
        return [400, { errors: [`unknown key type ${String(body['type'])}`] }];
      keys.set(name, pairs ?? [made()]);
      return [204];
    }
    if (pairs === undefined) return [what === 'keys' && request.method === 'GET' ? 404 : 400, { errors: [] }];
    if (what === 'keys' && last === 'rotate') return pairs.push(made()) > 0 ? [204] : [500];
    if (what === 'keys') return [200, { data: described(name, pairs) }];
    const version = Number(body['key_version'] ?? pairs.length);
    const pair = pairs[version - 1];
    if (last !== 'sha2-256' || pair === undefined || body['marshaling_algorithm'] !== 'asn1')
      return [400, { errors: [] }];
    const signature = sign('sha256', Buffer.from(String(body['input']), 'base64'), pair.privateKey).toString(
      'base64',
    );
    signatures.set(name, (signatures.get(name) ?? 0) + 1);
    return [200, { data: { key_version: version, signature: `vault:v${version}:${signature}` } }];
  };
  const server = createServer((request, response) => {
    void answer(request).then(([status, body]) => {
      response.writeHead(status, { 'content-type': 'application/json' });
      response.end(body === undefined ? undefined : JSON.stringify(body));
    });
  });
  const { url: address, close } = await onLoopback(server);
  const vault = {
    address,
    token: TOKEN,
    /** It answers nothing but 503, as a sealed one. */
    sealed: false,
    versionsOf: (name: string): number => keys.get(name)?.length ?? 0,
    /** Counts the signatures that it made with the key. */
    signaturesOf: (name: string): number => signatures.get(name) ?? 0,
    stop: close,
  };
  return vault;
}

function described(name: string, pairs: readonly Pair[]) {
  const versions = pairs.map(({ publicKey }, n) => [
    String(n + 1),
    { name: 'P-256', public_key: publicKey.export({ format: 'pem', type: 'spki' }) },
  ]);
  return { name, type: 'ecdsa-p256', latest_version: pairs.length, keys: Object.fromEntries(versions) };
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  const parts: Buffer[] = [];
  for await (const part of request as AsyncIterable<Buffer>) parts.push(part);
  return Buffer.concat(parts).toString('utf8');
}
