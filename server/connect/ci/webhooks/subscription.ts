/** When a webhook has a secret, and when its provider is asked for a subscription or to take it back. The asking itself is a task's. */
import type { Database } from '../../../platform/db/index.ts';
import type { Secrets } from '../../../platform/secrets.ts';
import type { Connection } from '../connections-store.ts';
import { forgeOf } from '../forges/forge.ts';
import { want } from '../tasks/store.ts';
import { newSecret, OVERLAP_MS, sealSecret } from './secret.ts';
import type { Scheme } from './secret.ts';
import { lockWebhook, setSubscription, updateSecret } from './store.ts';
import type { Webhook } from './store.ts';

export function takesWebhooks({ ingestMode }: Pick<Connection, 'ingestMode'>): boolean {
  return ingestMode !== 'direct';
}

/** Whether this service can make the subscription itself: the CI system is that of the repository's host, and it has a token there. */
export function canSubscribe(connection: Connection): boolean {
  const { provider, token } = connection;
  return (
    takesWebhooks(connection) &&
    token !== null &&
    (provider === 'github' || provider === 'gitlab' || provider === 'bitbucket') &&
    forgeOf(connection) === provider
  );
}

/**
 * Brings the webhook in line with its connection: one that takes webhooks has a secret, and a subscription where that can be made. To be called in the
 * transaction of each change of mode or token.
 */
export async function startSubscription(
  db: Database,
  secrets: Pick<Secrets, 'seal'>,
  connection: Connection,
  now: Date,
): Promise<void> {
  if (!takesWebhooks(connection)) return;
  const webhook = await lockWebhook(db, connection.id);
  if (webhook === undefined) return; // The connection was deleted at this very moment.
  if (webhook.secret === null) await replaceSecret(db, secrets, connection, webhook, webhook.scheme, now);
  await subscribe(db, connection, now);
}

/** A new secret, also for the provider where the subscription is ours. Returns the scheme that it is for. */
export async function giveSecret(
  db: Database,
  secrets: Pick<Secrets, 'seal'>,
  connection: Connection,
  wanted: Scheme | undefined,
  now: Date,
): Promise<Scheme> {
  const webhook = await lockWebhook(db, connection.id);
  if (webhook === undefined) throw new Error(`connection ${connection.id} has no webhook`);
  const scheme = wanted ?? webhook.scheme;
  await replaceSecret(db, secrets, connection, webhook, scheme, now);
  await subscribe(db, connection, now);
  return scheme;
}

async function subscribe(db: Database, connection: Connection, now: Date): Promise<void> {
  if (!canSubscribe(connection)) return;
  await setSubscription(db, connection.id, { state: 'pending' });
  await want(db, connection, { kind: 'subscribe', key: 'webhook' }, now);
}

/** The one before goes on for a day, unless another scheme was chosen: that counts at once. */
async function replaceSecret(
  db: Database,
  secrets: Pick<Secrets, 'seal'>,
  { provider }: Pick<Connection, 'provider'>,
  webhook: Webhook,
  scheme: Scheme,
  now: Date,
): Promise<void> {
  const keeps = webhook.secret !== null && webhook.scheme === scheme;
  await updateSecret(db, webhook.connectionId, {
    scheme,
    secret: sealSecret(secrets, webhook.id, newSecret(provider, scheme)),
    previousSecret: keeps ? webhook.secret : null,
    previousUntil: keeps ? new Date(now.getTime() + OVERLAP_MS) : null,
  });
}

/**
 * What the provider has of ours is to go, also what a task is making at this moment. The row knows it until it is gone; the payload is for a connection
 * that is deleted with its row.
 */
export async function stopSubscription(db: Database, connection: Connection, now: Date): Promise<void> {
  const webhook = await lockWebhook(db, connection.id);
  if (webhook === undefined) return;
  await setSubscription(db, connection.id, { state: 'none' });
  if (webhook.providerHookId === null && webhook.subscription !== 'pending') return;
  const payload = { providerHookId: webhook.providerHookId, connection };
  await want(db, connection, { kind: 'unsubscribe', key: 'webhook', payload }, now);
}
