import { headerId, STANDARD_PREFIX, usable, verifyStandard, verifyToken } from '../authenticate.ts';
import type { Provider } from '../types.ts';

/** The form of the secret decides: signing secrets are `whsec_…`, and one of them never passes as a token. */
export const verify: Provider['verify'] = (delivery) => {
  const signing = usable(delivery.secrets).filter((secret) => secret.startsWith(STANDARD_PREFIX));
  if (signing.length > 0) return verifyStandard({ ...delivery, secrets: signing });
  return verifyToken(delivery, 'X-Gitlab-Token');
};

/** `X-Gitlab-Event-UUID` is one for all hooks of an event. */
export const deliveryId: Provider['deliveryId'] = (headers, rawBody) =>
  headerId(headers, rawBody, 'webhook-id', 'Idempotency-Key');
