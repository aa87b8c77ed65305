import { headerId, verifyStandard } from '../authenticate.ts';
import type { Provider } from '../types.ts';

export const verify: Provider['verify'] = verifyStandard;

export const deliveryId: Provider['deliveryId'] = (headers, rawBody) =>
  headerId(headers, rawBody, 'webhook-id');
