/**
 * Cache of the webhooks for the door, which keeps each for a second: a provider that sends a thousand events
 * a second asks the database once. So a secret that is taken back is good for a second more at most; one that
 * was just made is good at once, because a signature that fits no known secret is tried again with what the
 * database has. Whether the connection is paused or takes webhooks at all is not remembered: the statement
 * that stores a delivery asks.
 */
import type { Clock } from '../../base/clock.ts';
import type { Database } from '../../base/db/index.ts';
import type { Secrets } from '../../base/secrets.ts';
import { sharedRead } from '../../engine/work/index.ts';
import { openSecrets, webhookOfId } from '../connections/index.ts';
import type { Webhook } from '../connections/index.ts';
import type { CiProvider } from '../providers/index.ts';

export interface Hook {
  readonly connectionId: string;
  readonly teamId: string;
  readonly provider: CiProvider;
  readonly scheme: Webhook['scheme'];
  /** The secrets that were good when the row was read; empty: nothing is taken. */
  readonly secrets: readonly string[];
}

export interface Hooks {
  /** The webhook as it was at most a second ago. */
  find(id: string): Promise<Hook | undefined>;
  /** The webhook as it is. */
  read(id: string): Promise<Hook | undefined>;
}

const KEPT_MS = 1_000;
const KEPT_MAX = 10_000;

export function createHooks(db: Database, secrets: Pick<Secrets, 'open'>, clock: Clock): Hooks {
  const known = new Map<string, { readonly hook: Hook; readonly atMs: number }>();

  const query = async (id: string): Promise<Hook | undefined> => {
    const found = await webhookOfId(db, id);
    if (found === undefined) return undefined;
    const { webhook, provider } = found;
    const { connectionId, teamId, scheme } = webhook;
    const opened = openSecrets(secrets, webhook, clock.now());
    return { connectionId, teamId, provider, scheme, secrets: opened };
  };
  const read = async (id: string): Promise<Hook | undefined> => {
    const hook = await sharedRead(db.sql, `ci_webhook ${id}`, async () => await query(id));
    known.delete(id);
    if (hook === undefined) return undefined;
    known.set(id, { hook, atMs: clock.monotonicMs() });
    const [oldest] = known.keys();
    if (known.size > KEPT_MAX && oldest !== undefined) known.delete(oldest);
    return hook;
  };
  return {
    read,
    find: async (id) => {
      const kept = known.get(id);
      return kept !== undefined && clock.monotonicMs() - kept.atMs < KEPT_MS ? kept.hook : await read(id);
    },
  };
}
