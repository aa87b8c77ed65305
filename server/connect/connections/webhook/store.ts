/** This file reads and writes webhooks in the database. Each connection has one row. */
import { and, asc, eq } from 'drizzle-orm';
import type { Database } from '../../../base/db/index.ts';
import { newId } from '../../../base/ids.ts';
import { inTeams, type Who } from '../../../kit/resource/index.ts';
import type { Connection } from '../rows.ts';
import { ciConnections, ciWebhooks } from '../schema.ts';
import { randomBytes } from 'node:crypto';
import type { Secrets } from '../../../base/secrets.ts';
import { forgeOf, STANDARD_PREFIX, type CiProvider, type Scheme } from '../../providers/index.ts';
import { askHost } from '../background.ts';

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

/**
 * First the one that a webhook begins with. What only sends its secret along is not taken for what signs, and
 * the other way round.
 */
const SCHEMES: Readonly<Record<CiProvider, readonly [Scheme, ...Scheme[]]>> = {
  github: ['signature'],
  gitlab: ['signature', 'token'],
  bitbucket: ['signature'],
  jenkins: ['token'],
  circleci: ['signature'],
  buildkite: ['signature', 'token'],
  drone: ['signature'],
  azure: ['token'],
  generic: ['signature'],
};

export function schemesOf(provider: CiProvider): readonly [Scheme, ...Scheme[]] {
  return SCHEMES[provider];
}

/** Time for which the secret before a new one is taken too. */
const OVERLAP_MS = 24 * 60 * 60_000;
const SECRET_BYTES = 32;

/** Standard Webhooks have a form of their own; everybody else takes any text that needs no escaping. */
export function newSecret(provider: CiProvider, scheme: Scheme): string {
  const random = randomBytes(SECRET_BYTES);
  const standard = scheme === 'signature' && (provider === 'gitlab' || provider === 'generic');
  return standard ? `${STANDARD_PREFIX}${random.toString('base64')}` : random.toString('base64url');
}

const place = (webhookId: string): string => `ci_webhooks.secret:${webhookId}`;

/** The secrets that are good now, the newest first; empty when there is none. */
export function openSecrets(
  secrets: Pick<Secrets, 'open'>,
  { id, secret, previousSecret, previousUntil }: typeof ciWebhooks.$inferSelect,
  now: Date,
): readonly string[] {
  const sealed = [secret, previousUntil !== null && previousUntil > now ? previousSecret : null];
  return sealed.flatMap((one) => (one === null ? [] : Buffer.from(secrets.open(place(id), one)).toString()));
}

// Decides when a webhook has a secret, and when a subscription is made or taken back. The request to the
// provider itself is a job's.

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
    secret: secrets.seal(place(webhook.id), Buffer.from(newSecret(provider, scheme))),
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
