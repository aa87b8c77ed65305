/**
 * Stands between a server and PostgreSQL and keeps the text of each statement that goes by. Those with which
 * transactions begin and end count for nothing, and neither does what the server runs by itself with nobody
 * asking, which is told apart by its text: it has been seen while no call was counted, before or after.
 */
import { connect, createServer, type Socket } from 'node:net';
import { onLoopback } from './listen.ts';

export type CountedStatements = Awaited<ReturnType<typeof countStatements>>;

export async function countStatements(databaseUrl: string) {
  const address = new URL(databaseUrl);
  const background = new Set(['begin', 'commit', 'rollback']);
  const kept = new Map<string, string[]>();
  let seen: string[] | undefined;
  const take = (text: string): void =>
    void (seen === undefined ? background.add(text.toLowerCase()) : seen.push(text));
  const open = new Set<Socket>();
  const server = createServer((client) => {
    const upstream = connect(Number(address.port || 5432), address.hostname);
    const read = reader(take);
    client.on('data', read);
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      open.add(from);
      from.on('error', () => undefined);
      from.on('close', () => {
        open.delete(from);
        to.destroy();
      });
      from.pipe(to);
    }
  });
  const { port, close } = await onLoopback(server);
  const url = new URL(databaseUrl);
  url.host = `127.0.0.1:${port}`;
  return {
    /** Address of the database by way of this. */
    url: url.href,
    /** Keeps what the server runs while the work is done. */
    during: async <T>(name: string, work: () => Promise<T>): Promise<T> => {
      seen = [];
      kept.set(name, seen);
      try {
        return await work();
      } finally {
        seen = undefined;
      }
    },
    /** Returns the statements of each work by its name. It is asked for when all is done. */
    statements: (): ReadonlyMap<string, readonly string[]> =>
      new Map(
        [...kept].map(([name, texts]) => [name, texts.filter((text) => !background.has(text.toLowerCase()))]),
      ),
    close: async () => {
      for (const socket of open) socket.destroy();
      await close();
    },
  };
}

/** Reads the messages of one client: https://www.postgresql.org/docs/current/protocol-message-formats.html */
function reader(take: (text: string) => void): (piece: Buffer) => void {
  const prepared = new Map<string, string>();
  let rest: Buffer = Buffer.alloc(0);
  let hasStarted = false;
  const textAt = (message: Buffer, from: number): string =>
    message.toString('utf8', from, message.indexOf(0, from));
  const message = (type: string, body: Buffer): void => {
    if (type === 'Q') take(textAt(body, 0));
    const first = textAt(body, 0);
    const second = () => textAt(body, Buffer.byteLength(first) + 1);
    if (type === 'P') prepared.set(first, second());
    // Bind: the portal, then the statement.
    if (type === 'B') take(prepared.get(second()) ?? '');
  };
  return (piece) => {
    rest = Buffer.concat([rest, piece]);
    for (;;) {
      // The first message has no type.
      const head = hasStarted ? 1 : 0;
      if (rest.length < head + 4) return;
      const end = head + rest.readUInt32BE(head);
      if (rest.length < end) return;
      if (hasStarted) message(String.fromCharCode(rest[0] ?? 0), rest.subarray(5, end));
      hasStarted = true;
      rest = rest.subarray(end);
    }
  };
}
