/** The statements that one client of the driver has been given and not settled yet. */
import { Slots } from '@svc/proto/calls/slots.ts';
import type { Statement } from './statement.ts';

export interface Pending {
  size(): number;
  /** Takes a statement that is about to be handed to the client. `onSettled` runs before whoever waits for it. False: it was refused. */
  add(statement: Statement, onSettled?: () => void): boolean;
  /** Refuses what was not sent yet, and what comes later: a statement made just before may be executed just after. */
  close(): void;
  /** When the client has ended: what it still holds, it has forgotten. */
  refuseAll(): void;
}

export function createPending(): Pending {
  const statements = new Slots<Statement>();
  let closed = false;
  const refuse = (statement: Statement): void => {
    statement.cancelled = true; // should the driver still come to it, it leaves it out
    statement.reject(
      Object.assign(new Error('the connection was lost before the statement was sent'), {
        code: 'CONNECTION_CLOSED',
      }),
    );
  };
  return {
    size: () => statements.size,
    add: (statement, onSettled) => {
      if (closed) {
        refuse(statement);
        return false;
      }
      const slot = statements.add(statement);
      const settled = (): void => {
        statements.remove(slot);
        onSettled?.();
      };
      statement.onSettled = settled;
      return true;
    },
    close: () => {
      closed = true;
      for (const statement of statements.values()) if (statement.state === null) refuse(statement);
    },
    refuseAll: () => {
      for (const statement of statements.values()) refuse(statement);
    },
  };
}
