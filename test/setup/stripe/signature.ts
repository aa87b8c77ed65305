import { createHmac } from 'node:crypto';

export interface Signed {
  readonly secrets: readonly string[];
  /** Whole seconds. */
  readonly at: number;
}

/**
 * Returns the `Stripe-Signature` that is right for a body. It has a v1 for each secret, whose whole text is
 * the key.
 */
export function signatureOf(body: string, { secrets, at }: Signed): string {
  const proofs = secrets.map(
    (secret) => `v1=${createHmac('sha256', secret).update(`${at}.${body}`).digest('hex')}`,
  );
  return [`t=${at}`, ...proofs].join(',');
}
