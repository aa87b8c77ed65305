/**
 * Decides when a webhook has a secret, and when a subscription is made or taken back. The request to the
 * provider itself is a job's.
 */
import type { Database } from '../../../base/db/index.ts';
import type { Secrets } from '../../../base/secrets.ts';
import { askHost } from '../background.ts';
import type { Connection } from '../rows.ts';
import { forgeOf } from '../../providers/index.ts';
import type { Scheme } from '../../providers/index.ts';
import { newSecret, OVERLAP_MS, sealSecret } from './secret.ts';
import { lockWebhook, setSubscription, setWebhook } from './store.ts';
import type { Webhook } from './store.ts';

export function takesWebhooks({ ingestMode }: Pick<Connection, 'ingestMode'>): boolean {
  return ingestMode !== 'direct';
}

/**
 * Returns whether this service can make the subscription itself: the CI system is that of the repository's
 * host, and it has a token there.
 */
export function canSubscribe(connection: Connection): boolean {
  const { provider, token } = connection;
  return (
    takesWebhooks(connection) &&
    token !== null &&
    (provider === 'github' || provider === 'gitlab' || provider === 'bitbucket') &&
    forgeOf(connection) === provider
  );
}

/** The key that a new secret is sealed with, and the time. */
interface Sealing {
  readonly secrets: Pick<Secrets, 'seal'>;
  readonly now: Date;
}

/**
 * Brings the webhook in line with its connection: one that takes webhooks has a secret, and a subscription
 * where that can be made. It is called in the transaction of each change of mode or token.
 */
export async function startSubscription(db: Database, connection: Connection, how: Sealing): Promise<void> {
  if (!takesWebhooks(connection)) return;
  const webhook = await lockWebhook(db, connection.id);
  if (webhook === undefined) return; // The connection was deleted at this very moment.
  if (webhook.secret === null)
    await replaceSecret(db, connection, { ...how, webhook, scheme: webhook.scheme });
  await subscribe(db, connection);
}

/**
 * Makes a new secret, also for the provider where the subscription is ours. Returns the scheme that it is
 * for.
 */
export async function giveSecret(
  db: Database,
  connection: Connection,
  { scheme: wanted, ...how }: Sealing & { readonly scheme: Scheme | undefined },
): Promise<Scheme> {
  const webhook = await lockWebhook(db, connection.id);
  if (webhook === undefined) throw new Error(`connection ${connection.id} has no webhook`);
  const scheme = wanted ?? webhook.scheme;
  await replaceSecret(db, connection, { ...how, webhook, scheme });
  await subscribe(db, connection);
  return scheme;
}

async function subscribe(db: Database, connection: Connection): Promise<void> {
  if (!canSubscribe(connection)) return;
  await setSubscription(db, connection.id, { state: 'pending' });
  await askHost(db, connection, { kind: 'ci_subscribe', key: 'webhook' });
}

/** The secret before is good for another day, unless another scheme was chosen: that counts at once. */
async function replaceSecret(
  db: Database,
  { provider }: Pick<Connection, 'provider'>,
  { webhook, scheme, secrets, now }: Sealing & { readonly webhook: Webhook; readonly scheme: Scheme },
): Promise<void> {
  const keeps = webhook.secret !== null && webhook.scheme === scheme;
  await setWebhook(db, webhook.connectionId, {
    scheme,
    secret: sealSecret(secrets, webhook.id, newSecret(provider, scheme)),
    previousSecret: keeps ? webhook.secret : null,
    previousUntil: keeps ? new Date(now.getTime() + OVERLAP_MS) : null,
  });
}

/**
 * Has the subscription at the provider removed, also one that a job is making at this moment. The row knows
 * it until it is gone; the payload is for a connection that is deleted with its row.
 */
export async function stopSubscription(db: Database, connection: Connection): Promise<void> {
  const webhook = await lockWebhook(db, connection.id);
  if (webhook === undefined) return;
  await setSubscription(db, connection.id, { state: 'none' });
  if (webhook.providerHookId === null && webhook.subscription !== 'pending') return;
  const payload = { providerHookId: webhook.providerHookId, connection };
  await askHost(db, connection, { kind: 'ci_unsubscribe', key: 'webhook', payload });
}
