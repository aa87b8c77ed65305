/**
 * A runner written from the description of the protocol alone: RFC 9421, RFC 9530 and RFC 7638 by hand on
 * node:crypto, without one line of the product. If this program can work as a runner, so can anybody's.
 */
import { createHash, generateKeyPairSync, randomBytes, sign, type KeyObject } from 'node:crypto';

const b64 = (data: Uint8Array) => Buffer.from(data).toString('base64');
const b64url = (data: Uint8Array) => Buffer.from(data).toString('base64url');
const sha256 = (data: string | Uint8Array) => createHash('sha256').update(data).digest();

/** Facts that a runner tells of its machine. */
export const FACTS = {
  version: '1.0.0',
  os: 'linux',
  arch: 'x64',
  isolation: 'container',
  executor: 'podman',
};

export interface Answer {
  readonly status: number;
  readonly body: Record<string, unknown>;
}

export type IndependentRunner = ReturnType<typeof createIndependentRunner>;
type Tamper = (headers: Record<string, string>) => void;

function jwkThumbprint(publicKey: KeyObject): string {
  const { x } = publicKey.export({ format: 'jwk' });
  return b64url(sha256(`{"crv":"Ed25519","kty":"OKP","x":"${x}"}`));
}

async function answerOf(response: Response): Promise<Answer> {
  const text = await response.text();
  return { status: response.status, body: text === '' ? {} : (JSON.parse(text) as Record<string, unknown>) };
}

export function createIndependentRunner(baseUrl: string) {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519');
  const keyId = jwkThumbprint(publicKey);
  let runnerId = '';

  function signedHeaders(url: URL, body: string): Record<string, string> {
    const created = Math.floor(Date.now() / 1000);
    const components = '("@method" "@authority" "@path" "@query" "content-type" "content-digest")';
    const params =
      `${components};created=${created};expires=${created + 60};nonce="${b64url(randomBytes(16))}"` +
      `;keyid="${keyId}";alg="ed25519";tag="runner-v1"`;
    const digest = `sha-256=:${b64(sha256(body))}:`;
    const base = [
      '"@method": POST',
      `"@authority": ${url.host}`,
      `"@path": ${url.pathname}`,
      `"@query": ${url.search === '' ? '?' : url.search}`,
      '"content-type": application/json',
      `"content-digest": ${digest}`,
      `"@signature-params": ${params}`,
    ].join('\n');
    return {
      'content-type': 'application/json',
      'content-digest': digest,
      'signature-input': `sig1=${params}`,
      signature: `sig1=:${b64(sign(null, Buffer.from(base), privateKey))}:`,
    };
  }

  async function post(
    id: string,
    action: string,
    { body, tamper }: { readonly body: unknown; readonly tamper?: Tamper | undefined },
  ): Promise<Answer> {
    const url = new URL(`/runners/${id}/${action}`, baseUrl);
    const text = JSON.stringify(body);
    const headers = signedHeaders(url, text);
    tamper?.(headers);
    return await answerOf(await fetch(url, { method: 'POST', headers, body: text }));
  }

  return {
    async enroll(token: string, name: string): Promise<string> {
      const { x } = publicKey.export({ format: 'jwk' });
      const response = await fetch(new URL('/runners/enroll', baseUrl), {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ token, name, publicKey: x }),
      });
      const { status, body } = await answerOf(response);
      if (typeof body['runnerId'] !== 'string')
        throw new Error(`enroll answered ${status}: ${JSON.stringify(body)}`);
      runnerId = body['runnerId'];
      return runnerId;
    },

    call: (action: string, body: unknown, tamper?: Tamper) => post(runnerId, action, { body, tamper }),
    /** Returns the headers of a signed POST, for a test that sends it by itself. */
    sign: (path: string, body: string) => signedHeaders(new URL(path, baseUrl), body),
    /** It is signed with the own key, in another runner's name. */
    callAs: (id: string, action: string, body: unknown) => post(id, action, { body }),
    /** Calls in this name from now on, without having enrolled. */
    actAs: (id: string) => void (runnerId = id),
  };
}
