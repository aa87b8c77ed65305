/**
 * A subscription at a repository's host is made, repaired and taken back by jobs of the connection's own
 * lane, one after the other.
 */
import { eq, ne } from 'drizzle-orm';
import type { Clock } from '../../../base/clock.ts';
import type { Database } from '../../../base/db/index.ts';
import type { Job, JobKind } from '../../../kit/jobs/index.ts';
import { urlProblem } from '../../../base/safe-fetch.ts';
import { connectionJob, forgeErrorOf } from '../background.ts';
import { noteConnection, readConnection, type Connection } from '../rows.ts';
import { ciConnections } from '../schema.ts';
import {
  clip,
  forgeApi,
  ForgeError,
  hooksOf,
  idOf,
  unlessMissing,
  type ForgeApi,
  type ForgeDeps,
  type ForgeProblem,
  type Hooks,
} from '../../providers/index.ts';
import { canSubscribe, lockWebhook, openSecrets, readWebhook, setSubscription, webhookUrl } from './store.ts';

export interface SubscriptionDeps extends ForgeDeps {
  readonly db: Database;
  readonly clock: Clock;
  /** The address at which hosts reach this service. */
  readonly publicUrl: () => string;
  /** See Config.webhooksAllowPrivate. */
  readonly allowPrivate: boolean;
}

export function subscribeJob(deps: SubscriptionDeps): JobKind {
  const { db } = deps;
  return connectionJob(deps, {
    kind: 'ci_subscribe',
    run: async (connection, _job, signal) => {
      const hooks = hooksOf(connection.provider);
      if (hooks === undefined || !canSubscribe(connection)) return;
      const api = forgeApi(deps, connection, signal);
      const id = await put(deps, { hooks, api, connection });
      if (id === undefined) return;
      if (await noteActive(db, connection.id, id)) await markWorking(db, connection);
      else await removeIfThere(hooks, api, id);
    },
    gaveUp: async (connection, thrown) => {
      if (!canSubscribe(connection)) return; // Nobody wants it any more.
      const error = forgeErrorOf(thrown);
      const needs = hooksOf(connection.provider)?.needs;
      const advice = OF_TOKEN.has(error.problem) ? `; the token needs ${needs}` : '';
      const detail = clip(`${error.message}${advice}`, DETAIL_MAX);
      await setSubscription(db, connection.id, { state: 'failed', detail });
      await markFailing(db, connection, `webhook subscription: ${detail}`);
    },
  });
}

/** Message for a token that may not do it. */
const OF_TOKEN: ReadonlySet<ForgeProblem> = new Set(['forbidden', 'not_found', 'unauthorised']);
/** Characters. */
const DETAIL_MAX = 1_000;

/** Returns the host's id, or undefined when there is no webhook to subscribe. */
async function put(
  { db, clock, secrets, publicUrl, allowPrivate }: SubscriptionDeps,
  { hooks, api, connection }: { hooks: Hooks; api: ForgeApi; connection: Connection },
): Promise<string | undefined> {
  const webhook = await readWebhook(db, connection.id);
  const secret = webhook === undefined ? undefined : openSecrets(secrets, webhook, clock.now())[0];
  if (webhook === undefined || secret === undefined) return undefined;
  const { scheme, providerHookId: knownId } = webhook;
  const url = webhookUrl(publicUrl(), webhook);
  const problem = urlProblem(url, allowPrivate);
  if (problem !== undefined)
    throw new ForgeError(
      'refused',
      `the address of this service is ${publicUrl()}, which no host reaches: ${problem}; its operators set PUBLIC_URLS`,
    );
  const id = idOf(await hooks.put(api, { url, secret, scheme, knownId }));
  if (id === undefined) throw new ForgeError('answer_invalid', 'the host answered a webhook without an id');
  return id;
}

/** Returns false when nobody wants it any more. */
async function noteActive(
  database: Database,
  connectionId: string,
  providerHookId: string,
): Promise<boolean> {
  return await database.transact(async (db) => {
    const webhook = await lockWebhook(db, connectionId);
    const connection = await readConnection(db, connectionId);
    if (webhook === undefined || connection === undefined || !canSubscribe(connection)) return false;
    await setSubscription(db, connectionId, { state: 'active', providerHookId });
    return true;
  });
}

export function unsubscribeJob(deps: SubscriptionDeps): JobKind {
  const { db } = deps;
  return connectionJob(deps, {
    kind: 'ci_unsubscribe',
    run: async (connection, job, signal) => {
      const hooks = hooksOf(connection.provider);
      const webhook = await readWebhook(db, connection.id);
      const id = webhook === undefined ? hookOf(job) : webhook.providerHookId;
      // It is wanted again, or there is none.
      const isWanted = webhook !== undefined && webhook.subscription !== 'none';
      if (hooks === undefined || isWanted || typeof id !== 'string' || connection.token === null) return;
      await removeIfThere(hooks, forgeApi(deps, connection, signal), id);
      await setSubscription(db, connection.id, { state: 'none', providerHookId: null });
    },
    gaveUp: async (connection, error) => {
      const webhook = await readWebhook(db, connection.id);
      if (webhook?.subscription !== 'none') return;
      const why = `the subscription could not be taken back: ${forgeErrorOf(error).message}`;
      await setSubscription(db, connection.id, { state: 'none', detail: clip(why, DETAIL_MAX) });
    },
  });
}

const hookOf = ({ payload }: Job): string | undefined => idOf(payload['providerHookId']);

const removeIfThere = async (hooks: Hooks, api: ForgeApi, id: string): Promise<void> =>
  await unlessMissing(hooks.remove(api, id), async () => undefined);

async function markWorking(db: Database, connection: Connection): Promise<void> {
  const where = eq(ciConnections.status, 'error');
  await noteConnection(db, connection, { set: { status: 'active', statusDetail: null }, where });
}

async function markFailing(db: Database, connection: Connection, statusDetail: string): Promise<void> {
  const where = ne(ciConnections.status, 'paused');
  await noteConnection(db, connection, { set: { status: 'error', statusDetail }, where });
}
