/** Webhooks in the database: one row for each connection. */
// No TeamScope: called by gateways, workers and the outbox, which act for no caller.
import type { Database, SqlTag } from '../../../base/db/index.ts';
import { newId } from '../../../base/ids.ts';
import type { Connection } from '../model/connection.ts';
import type { SubscriptionState, Webhook } from '../model/webhook.ts';
import { schemesOf } from './secret.ts';

export const webhookColumns = (sql: SqlTag) => sql`
  w.id, w.team_id as "teamId", w.connection_id as "connectionId", w.scheme, w.secret, w.previous_secret as "previousSecret",
  w.previous_until as "previousUntil", w.subscription, w.provider_hook_id as "providerHookId", w.repository_id as "repositoryId", w.detail,
  w.created_at as "createdAt"`;

/** The address that the provider sends to. Jenkins can do no more than call an address, so there the secret is part of it. */
export function webhookUrl(publicUrl: string, { id }: Pick<Webhook, 'id'>, urlToken?: string): string {
  return `${publicUrl.replace(/\/+$/, '')}/ci/webhooks/${id}${urlToken === undefined ? '' : `.${urlToken}`}`;
}

/** Makes the webhook of a new connection, without a secret. */
export async function insertWebhook(
  { sql }: Database,
  { id: connectionId, teamId, provider }: Pick<Connection, 'id' | 'teamId' | 'provider'>,
  now: Date,
): Promise<void> {
  await sql`
    insert into ci_webhooks (id, team_id, connection_id, scheme, created_at)
    values (${newId('cih', now.getTime())}, ${teamId}, ${connectionId}, ${schemesOf(provider)[0]}, ${now})`;
}

export async function readWebhook({ sql }: Database, connectionId: string): Promise<Webhook | undefined> {
  const [row] = await sql<
    Webhook[]
  >`select ${webhookColumns(sql)} from ci_webhooks w where w.connection_id = ${connectionId}`;
  return row;
}

/** Finds and locks it, so that nobody else changes it before the transaction ends. */
export async function lockWebhook({ sql }: Database, connectionId: string): Promise<Webhook | undefined> {
  const [row] = await sql<Webhook[]>`
    select ${webhookColumns(sql)} from ci_webhooks w where w.connection_id = ${connectionId} for no key update`;
  return row;
}

/** `scheme`: by default as it is. */
export async function updateSecret(
  { sql }: Database,
  connectionId: string,
  {
    scheme,
    secret,
    previousSecret,
    previousUntil,
  }: Pick<Webhook, 'secret' | 'previousSecret' | 'previousUntil'> & Partial<Pick<Webhook, 'scheme'>>,
): Promise<void> {
  await sql`
    update ci_webhooks set scheme = coalesce(${scheme ?? null}, scheme), secret = ${secret}, previous_secret = ${previousSecret},
      previous_until = ${previousUntil}
    where connection_id = ${connectionId}`;
}

export interface Subscription {
  readonly state: SubscriptionState;
  /** Default: as it is; null: there is none any more. */
  readonly providerHookId?: string | null;
  /** Shown to the team. Default: there is nothing to say. */
  readonly detail?: string;
}

/** Nothing happens when the connection is gone. */
export async function setSubscription(
  { sql }: Database,
  connectionId: string,
  { state, providerHookId, detail }: Subscription,
): Promise<void> {
  const keepsId = providerHookId === undefined;
  await sql`
    update ci_webhooks set subscription = ${state}, detail = ${detail ?? null},
      provider_hook_id = case when ${keepsId}::boolean then provider_hook_id else ${providerHookId ?? null} end
    where connection_id = ${connectionId}`;
}
