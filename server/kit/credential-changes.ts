/**
 * Tells every server that what it remembers about a credential is out of date: revoked, signed out, another
 * role, another team. In this process at once after the commit; in the others by NOTIFY, which is sent by the
 * commit itself.
 */
import type { Database } from '../base/db/index.ts';

export type CredentialChange =
  | { readonly credentialId: string }
  | { readonly userId: string }
  | { readonly teamId: string };

export const CREDENTIAL_CHANNEL = 'svc_credentials';

export interface CredentialChanges {
  /** Call it in the transaction of the change. */
  announce(db: Database, change: CredentialChange): Promise<void>;
  /** Listens to changes; `undefined` means that anything may have changed. */
  onChange(listener: (change: CredentialChange | undefined) => void): void;
  /** Begins to hear other processes. Returns the stop function. */
  start(db: Database): Promise<() => Promise<void>>;
}

export function createCredentialChanges(): CredentialChanges {
  const listeners: Array<(change: CredentialChange | undefined) => void> = [];
  const publish = (change: CredentialChange | undefined): void => {
    for (const listener of listeners) listener(change);
  };
  return {
    announce: async (db, change) => {
      db.afterCommit(() => publish(change));
      await db.sql`select pg_notify(${CREDENTIAL_CHANNEL}, ${JSON.stringify(change)})`;
    },
    onChange: (listener) => void listeners.push(listener),
    start: async (db) => {
      // Messages that were sent while the connection was down are lost, so that after each (re)connect
      // anything may have changed.
      const listener = await db.listen(
        CREDENTIAL_CHANNEL,
        (payload) => publish(parse(payload)),
        () => publish(undefined),
      );
      return async () => await listener.stop();
    },
  };
}

function parse(payload: string): CredentialChange | undefined {
  try {
    return JSON.parse(payload) as CredentialChange;
  } catch {
    return undefined; // Not ours or cut short: forgetting everything is always right.
  }
}
