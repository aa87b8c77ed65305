/** A transaction that stays open until a test ends it. */
import type { Database } from '../../../server/base/db/index.ts';

export interface OpenTransaction {
  /** Resolves when its work is done, and it is not committed. */
  readonly began: Promise<void>;
  end(): Promise<void>;
}

export function held(db: Database, work: (tx: Database) => Promise<void>): OpenTransaction {
  const { promise: told, resolve: end } = deferred();
  const { promise: began, resolve: begin } = deferred();
  const ended = db.transact(async (tx) => {
    await work(tx);
    begin();
    await told;
  });
  return { began, end: async () => (end(), await ended) };
}

function deferred(): { readonly promise: Promise<void>; readonly resolve: () => void } {
  let resolve: () => void = () => undefined;
  const promise = new Promise<void>((done) => (resolve = done));
  return { promise, resolve };
}
