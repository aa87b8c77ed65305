/**
 * This file keeps one connection to the database for all its life. When it is lost its client gets nothing
 * any more and no second socket (client.ts), and what it was given and has not answered is rejected here: the
 * driver forgets some of that.
 *
 * It is opened once, at its first statement: host after host is dialled, each with a client of its own, until
 * one is of the kind that is wanted and its session is as it must be (opening.ts). Nobody's statement is sent
 * before.
 */
import { Places } from '@svc/proto/process/places.ts';
import { CONNECT_TIMEOUT_MS, connectionError, createClient, sendOn, type Client } from './client.ts';
import type { Host } from './address.ts';
import { reachOne, type Hosts } from './hosts.ts';
import { openSession, type SessionOptions } from './opening.ts';
import type { Query, Run } from './statement.ts';

export interface ConnectionOptions extends SessionOptions {
  readonly hosts: Hosts;
  /** Shown in pg_stat_activity. */
  readonly name: string;
}

export interface ConnectionEvents {
  /** Once, before anybody who waits for a statement is told; after `end` too. */
  onLost(error: Error): void;
  onNotify?: (channel: string, payload: string) => void;
}

export interface Connection {
  /** Statements under way. */
  readonly load: number;
  run(query: Query): Promise<unknown>;
  /** Resolves when nothing is under way. One may wait at a time. */
  idle(): Promise<void>;
  /** Cuts it; what is under way is rejected. */
  end(): Promise<void>;
}

/**
 * The database takes no writes: a primary that was demoted under a pooler, or a standby that was asked for
 * with `target_session_attrs=any`.
 */
const READ_ONLY = '25006';

/** Connects when it gets its first statement. */
export function openConnection(options: ConnectionOptions, events: ConnectionEvents): Connection {
  const { hosts } = options;
  const pending = new Places<UnderWay>();
  /** Statements that wait for the session. */
  const early: UnderWay[] = [];
  let whenIdle: (() => void) | undefined;
  let over: Error | undefined;
  let isOpening = false;
  let send: Run | undefined;
  let own: Client | undefined;
  /** Gives up the host that is being tried. */
  let abandon: (error: Error) => void = () => undefined;

  const end = async (error: Error): Promise<void> => {
    if (over !== undefined) return;
    over = error;
    events.onLost(error);
    const timeout = pending.size === 0 ? 1 : 0; // seconds
    for (const { reject } of pending) reject(error);
    pending.clear();
    whenIdle?.();
    abandon(error);
    await own?.end({ timeout });
  };

  const open = async (): Promise<void> => {
    own = await reachOne(hosts, async (host) => {
      if (over !== undefined) throw over;
      const link = { host, onNotify: events.onNotify, lose: end };
      return await reach(options, link, (giveUp) => (abandon = giveUp));
    });
    if (over !== undefined) return await own.end({ timeout: 0 });
    send = sendOn(own);
    for (const one of early.splice(0)) void start(one);
  };

  const start = async (one: UnderWay): Promise<void> => {
    try {
      const answer = await send!(one.query);
      pending.remove(one.place, one);
      one.resolve(answer);
    } catch (error) {
      if ((error as Coded).code === READ_ONLY) void end(error as Error);
      pending.remove(one.place, one);
      one.reject(error);
    }
    if (pending.size === 0) whenIdle?.();
  };

  return {
    get load() {
      return pending.size;
    },
    run: (query) =>
      new Promise((resolve, reject) => {
        if (over !== undefined) return reject(over);
        const one = { query, resolve, reject, place: -1 };
        one.place = pending.add(one);
        if (send !== undefined) return void start(one);
        early.push(one);
        if (isOpening) return;
        isOpening = true;
        open().catch((error: unknown) => void end(error as Error));
      }),
    idle: async () => {
      if (pending.size > 0) await new Promise<void>((resolve) => (whenIdle = resolve));
    },
    end: async () => await end(connectionError('CONNECTION_ENDED')),
  };
}

/** A statement that was given and not answered yet. */
interface UnderWay {
  readonly query: Query;
  readonly resolve: (answer: unknown) => void;
  readonly reject: (error: unknown) => void;
  place: number;
}

type Coded = Error & { readonly code?: string };

interface Reached {
  readonly host: Host;
  readonly onNotify: ConnectionEvents['onNotify'];
  /** The connection of a session that was open is lost. */
  readonly lose: (error: Error) => Promise<void>;
}

/** A client whose session may be worked in. `whileTrying` gets how to give it up. */
async function reach(
  options: ConnectionOptions,
  { host, onNotify, lose }: Reached,
  whileTrying: (giveUp: (error: Error) => void) => void,
): Promise<Client> {
  let isOpen = false;
  let fail: (error: Error) => void = () => undefined;
  const failed = new Promise<never>((_, reject) => (fail = reject));
  whileTrying(fail);
  const onDown = (error: Error): void => (isOpen ? void lose(error) : fail(error));
  const { address } = options.hosts;
  const { client, cut } = createClient({ address, name: options.name }, { host, onDown, onNotify });
  const late = setTimeout(() => fail(connectionError('CONNECT_TIMEOUT')), CONNECT_TIMEOUT_MS);
  try {
    await Promise.race([openSession(sendOn(client), options), failed]);
    isOpen = true;
    return client;
  } catch (error) {
    cut();
    throw error;
  } finally {
    clearTimeout(late);
  }
}
