/** The statements that one client of the driver has been given and not settled yet. */

import { Slots } from '@svc/proto/calls/slots.ts';

/** What of a driver's query decides where it runs and how it ends. `state` is null until it was sent. */
export interface Query {
  handler: ((query: Query) => unknown) & { debug?: unknown };
  resolve: (value: unknown) => void;
  reject: (error: unknown) => void;
  /** `brief`: see client.ts. */
  readonly options?: { readonly brief?: boolean };
  readonly state: unknown;
  cancelled: unknown;
}

export interface Pending {
  readonly size: number;
  /** Takes a statement that is about to be handed to the client. `onSettled` runs before whoever waits for it. */
  add(query: Query, onSettled?: () => void): void;
  /** Takes a statement from its execution on; anything else passes through. */
  track<T>(made: T): T;
  /** Refuses what was not sent yet, and what comes later: a statement made just before may be executed just after. */
  close(): void;
  /** When the client has ended: what it still holds, it has forgotten. */
  refuseAll(): void;
}

export function isQuery(made: unknown): made is Query {
  return made instanceof Promise && 'handler' in made;
}

export function createPending(): Pending {
  const queries = new Slots<Query>();
  let closed = false;
  const refuse = (query: Query): void => {
    query.cancelled = true; // should the driver still come to it, it leaves it out
    query.reject(
      Object.assign(new Error('the connection was lost before the statement was sent'), {
        code: 'CONNECTION_CLOSED',
      }),
    );
  };
  const add = (query: Query, onSettled?: () => void): void => {
    const { resolve, reject } = query;
    let slot: number | undefined = queries.add(query);
    const settled = (): void => {
      if (slot === undefined) return;
      queries.remove(slot);
      slot = undefined;
      onSettled?.();
    };
    query.resolve = (value) => {
      settled();
      resolve(value);
    };
    query.reject = (error) => {
      settled();
      reject(error);
    };
  };
  return {
    get size() {
      return queries.size;
    },
    add,
    track: (made) => {
      if (!isQuery(made)) return made;
      const { handler } = made;
      const run: Query['handler'] = (self) => {
        if (closed) return refuse(self);
        add(self);
        return handler(self);
      };
      run.debug = handler.debug;
      made.handler = run;
      return made;
    },
    close: () => {
      closed = true;
      for (const query of queries.values()) if (query.state === null) refuse(query);
    },
    refuseAll: () => {
      for (const query of queries.values()) refuse(query);
    },
  };
}
