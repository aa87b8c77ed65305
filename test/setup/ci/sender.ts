/** Sends webhooks as each provider does, for tests. */
import { createHash, createHmac, randomUUID } from 'node:crypto';
import type { CiProvider } from '../../../server/connect/providers/words.ts';

export interface Sending {
  readonly provider: CiProvider;
  readonly secret: string;
  readonly scheme?: 'signature' | 'token';
  /** Default: a new one. */
  readonly deliveryId?: string;
  /** Time of the signature, for those that sign it. It is now by default. */
  readonly at?: Date;
}

/**
 * Returns the headers that are the proof of a body, and that name its delivery where the provider does that
 * in a header.
 */
export function proof(
  { provider, secret, scheme = 'signature', deliveryId = randomUUID(), at = new Date() }: Sending,
  body: string,
): Readonly<Record<string, string>> {
  const hmac = (key: string | Buffer, text: string) => createHmac('sha256', key).update(text);
  const seconds = String(Math.floor(at.getTime() / 1_000));
  switch (provider) {
    case 'github':
      return {
        'x-github-delivery': deliveryId,
        'x-hub-signature-256': `sha256=${hmac(secret, body).digest('hex')}`,
      };
    case 'bitbucket':
      return {
        'x-request-uuid': deliveryId,
        'x-hub-signature': `sha256=${hmac(secret, body).digest('hex')}`,
      };
    case 'circleci':
      return { 'circleci-signature': `v1=${hmac(secret, body).digest('hex')}` };
    case 'buildkite': {
      if (scheme === 'token') return { 'x-buildkite-token': secret };
      const hex = hmac(secret, `${seconds}.${body}`).digest('hex');
      return { 'x-buildkite-signature': `timestamp=${seconds},signature=${hex}` };
    }
    case 'drone':
      return droneProof(secret, body, at);
    case 'azure':
      return { authorization: `Basic ${Buffer.from(`svc:${secret}`).toString('base64')}` };
    case 'jenkins':
      return {};
    case 'gitlab':
      if (scheme === 'token') return { 'x-gitlab-token': secret, 'idempotency-key': deliveryId };
      return standardProof(secret, body, { id: deliveryId, seconds });
    case 'generic':
      return standardProof(secret, body, { id: deliveryId, seconds });
  }
}

function standardProof(
  secret: string,
  body: string,
  { id, seconds }: { readonly id: string; readonly seconds: string },
) {
  const key = Buffer.from(secret.slice('whsec_'.length), 'base64');
  const signature = createHmac('sha256', key).update(`${id}.${seconds}.${body}`).digest('base64');
  return { 'webhook-id': id, 'webhook-timestamp': seconds, 'webhook-signature': `v1,${signature}` };
}

function droneProof(secret: string, body: string, at: Date) {
  const date = at.toUTCString();
  const digest = `SHA-256=${createHash('sha256').update(body).digest('base64')}`;
  const signature = createHmac('sha256', secret).update(`date: ${date}\ndigest: ${digest}`).digest('base64');
  return {
    date,
    digest,
    signature: `keyId="hmac-key",algorithm="hmac-sha256",signature="${signature}",headers="date digest"`,
  };
}
