import { headerId, STANDARD_PREFIX, usable, verifyStandard, verifyToken } from '../authenticate.ts';
import type { Provider } from '../types.ts';

/** Signing secrets are `whsec_…`: one of them never passes as a token, and no token as one of them. */
export const verify: Provider['verify'] = (delivery) => {
  const signs = delivery.scheme !== 'token';
  const secrets = usable(delivery.secrets).filter((secret) => secret.startsWith(STANDARD_PREFIX) === signs);
  return signs
    ? verifyStandard({ ...delivery, secrets })
    : verifyToken({ ...delivery, secrets }, 'X-Gitlab-Token');
};

/** `X-Gitlab-Event-UUID` is one for all hooks of an event. */
export const deliveryId: Provider['deliveryId'] = (headers, rawBody) =>
  headerId(headers, rawBody, 'webhook-id', 'Idempotency-Key');
