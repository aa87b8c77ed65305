import { headerId, verifyBodyHmac } from '../authenticate.ts';
import type { Provider } from '../types.ts';

/** GitHub has a header of this name with SHA-1; here it is SHA-256, and absent when no secret was set. */
export const verify: Provider['verify'] = (delivery) => verifyBodyHmac(delivery, 'X-Hub-Signature');

export const deliveryId: Provider['deliveryId'] = (headers, rawBody) =>
  headerId(headers, rawBody, 'X-Request-UUID', 'X-Request-Id');
