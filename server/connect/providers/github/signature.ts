import { headerId, verifyBodyHmac } from '../authenticate.ts';
import type { Provider } from '../types.ts';

/** `X-Hub-Signature`, with SHA-1, is not looked at. */
export const verify: Provider['verify'] = (delivery) => verifyBodyHmac(delivery, 'X-Hub-Signature-256');

export const deliveryId: Provider['deliveryId'] = (headers, rawBody) =>
  headerId(headers, rawBody, 'X-GitHub-Delivery');
