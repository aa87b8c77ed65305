import { anySame, digestId, NO_SECRET, refuse, usable, verifyToken } from '../authenticate.ts';
import { at, header, idOf } from '../read.ts';
import type { Provider } from '../types.ts';

/**
 * Azure signs nothing: the subscription sends Basic credentials, or (scheme `token`) a header of its own if
 * it was given one.
 */
export const TOKEN_HEADER = 'X-Svc-Webhook-Token';
/** The credentials of a secret that is a password alone. */
const USER = 'svc';

export const verify: Provider['verify'] = (delivery) => {
  if (delivery.scheme === 'token' && header(delivery.headers, TOKEN_HEADER) !== undefined)
    return verifyToken(delivery, TOKEN_HEADER);
  const usableSecrets = usable(delivery.secrets);
  if (usableSecrets.length === 0) return NO_SECRET;
  const [, encoded] =
    /^Basic ([A-Za-z0-9+/]+={0,2})$/i.exec(header(delivery.headers, 'Authorization') ?? '') ?? [];
  if (encoded === undefined) return refuse('no Basic credentials');
  const credentials = usableSecrets.map((secret) => (secret.includes(':') ? secret : `${USER}:${secret}`));
  return anySame(credentials, Buffer.from(encoded, 'base64').toString());
};

export const deliveryId: Provider['deliveryId'] = (_headers, rawBody, payload) =>
  idOf(at(payload(), 'id')) ?? digestId(rawBody);
