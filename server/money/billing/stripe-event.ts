/** Proof of where an event comes from. */
import type Stripe from 'stripe';
import type { ProviderEvent } from './provider.ts';
import { idOf } from './stripe-values.ts';

/** Greatest distance of the signature's time from now, either way. */
const SKEW_SECONDS_MAX = 300;
const ID_MAX = 255;

export function verifiedEvent(
  webhooks: Stripe['webhooks'],
  body: Uint8Array,
  {
    header,
    now,
    secrets,
  }: { readonly header: string; readonly now: Date; readonly secrets: readonly string[] },
): ProviderEvent | undefined {
  // The library takes what is said to be of the future.
  const [time, ...more] = header.split(',').filter((part) => part.startsWith('t='));
  const seconds = more.length === 0 && time !== undefined ? Number(time.slice(2)) : Number.NaN;
  const at = now.getTime();
  if (Math.abs(at / 1_000 - seconds) <= SKEW_SECONDS_MAX)
    for (const secret of secrets)
      try {
        return eventOf(webhooks.constructEvent(body, header, secret, SKEW_SECONDS_MAX, undefined, at));
      } catch {
        // Why does not concern whoever sent it: a wrong proof is a wrong proof.
      }
  return undefined;
}

/** Only what tells which object changed: the rest is old by the time that it is read. */
function eventOf({ id, type, livemode, data }: Stripe.Event): ProviderEvent | undefined {
  const object: object & { readonly id?: unknown; readonly customer?: unknown } = data.object as object;
  if (typeof id !== 'string' || id === '' || id.length > ID_MAX || typeof type !== 'string') return undefined;
  const { customer } = object;
  return {
    id,
    type,
    isLive: livemode,
    objectId: typeof object.id === 'string' ? object.id : '',
    customerId: isReference(customer) ? idOf(customer) : undefined,
  };
}

function isReference(value: unknown): value is string | { readonly id: string } {
  return (
    typeof value === 'string' ||
    (typeof value === 'object' && value !== null && 'id' in value && typeof value.id === 'string')
  );
}
