/** This file reads and writes webhooks in the database. Each connection has one row. */
import { and, asc, eq } from 'drizzle-orm';
import type { Database } from '../../../base/db/index.ts';
import { newId } from '../../../base/ids.ts';
import { inTeams } from '../../../kit/resource/index.ts';
import type { Who } from '../../../kit/resource/index.ts';
import type { Connection } from '../rows.ts';
import { ciConnections, ciWebhooks } from '../schema.ts';
import { schemesOf } from './secret.ts';

export type Webhook = typeof ciWebhooks.$inferSelect;

/**
 * The address that the provider sends to. Jenkins can do no more than call an address, so there the secret is
 * part of it.
 */
export function webhookUrl(publicUrl: string, { id }: Pick<Webhook, 'id'>, urlToken?: string): string {
  return `${publicUrl.replace(/\/+$/, '')}/ci/webhooks/${id}${urlToken === undefined ? '' : `.${urlToken}`}`;
}

/** Makes the webhook of a new connection, without a secret. */
export async function insertWebhook(
  { orm }: Database,
  { id: connectionId, teamId, provider }: Pick<Connection, 'id' | 'teamId' | 'provider'>,
  createdAt: Date,
): Promise<void> {
  const [scheme] = schemesOf(provider);
  const id = newId('cih', createdAt.getTime());
  await orm.insert(ciWebhooks).values({ id, teamId, connectionId, scheme, createdAt });
}

const select = ({ orm }: Database, connectionId: string) =>
  orm.select().from(ciWebhooks).where(eq(ciWebhooks.connectionId, connectionId));

export async function readWebhook(db: Database, connectionId: string): Promise<Webhook | undefined> {
  return (await select(db, connectionId))[0];
}

/** Finds and locks it, so that nobody else changes it before the transaction ends. */
export async function lockWebhook(db: Database, connectionId: string): Promise<Webhook | undefined> {
  return (await select(db, connectionId).for('no key update'))[0];
}

/** Finds a webhook by its own id, with the provider of its connection. */
export async function webhookOfId({ orm }: Database, id: string) {
  const [row] = await orm
    .select({ webhook: ciWebhooks, provider: ciConnections.provider })
    .from(ciWebhooks)
    .innerJoin(ciConnections, eq(ciConnections.id, ciWebhooks.connectionId))
    .where(eq(ciWebhooks.id, id));
  return row;
}

/** Finds the webhooks of all connections of a project, the oldest first. */
export async function webhooksOfProject(
  { db: { orm }, teams }: Who,
  { teamId, projectId }: { readonly teamId: string; readonly projectId: string },
) {
  const { teamId: team, projectId: project, createdAt, id, provider } = ciConnections;
  return await orm
    .select({ webhook: ciWebhooks, provider })
    .from(ciConnections)
    .innerJoin(ciWebhooks, eq(ciWebhooks.connectionId, id))
    .where(and(eq(team, teamId), eq(project, projectId), inTeams(ciConnections, teams)))
    .orderBy(asc(createdAt), asc(id));
}

/** Nothing happens when the connection is gone. */
export async function setWebhook(
  { orm }: Database,
  connectionId: string,
  set: Partial<Webhook>,
): Promise<void> {
  await orm.update(ciWebhooks).set(set).where(eq(ciWebhooks.connectionId, connectionId));
}

export interface Subscription extends Partial<Pick<Webhook, 'providerHookId'>> {
  readonly state: Webhook['subscription'];
  /** Shown to the team. Default: there is nothing to say. */
  readonly detail?: string;
}

/**
 * This stores the state of the subscription. Without `providerHookId` the id stays as it is; null says that
 * there is none any more.
 */
export async function setSubscription(
  db: Database,
  connectionId: string,
  { state: subscription, detail, ...hook }: Subscription,
): Promise<void> {
  await setWebhook(db, connectionId, { ...hook, subscription, detail: detail ?? null });
}
