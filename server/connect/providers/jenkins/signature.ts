import { anySame, digestId, NO_SECRET, refuse, usable } from '../authenticate.ts';
import { header } from '../read.ts';
import type { Provider } from '../types.ts';

export const TOKEN_HEADER = 'X-Svc-Webhook-Token';

/**
 * The plugin can set neither header nor signature, so the secret is in the address; whoever can set a header
 * does better with that.
 */
export const verify: Provider['verify'] = ({ secrets, headers, urlToken }) => {
  const usableSecrets = usable(secrets);
  if (usableSecrets.length === 0) return NO_SECRET;
  const given = header(headers, TOKEN_HEADER) ?? urlToken;
  return given === undefined
    ? refuse(`no ${TOKEN_HEADER}, and no token in the address`)
    : anySame(usableSecrets, given);
};

export const deliveryId: Provider['deliveryId'] = (_headers, rawBody) => digestId(rawBody);
