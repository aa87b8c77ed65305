/**
 * One address in front of several processes that come and go. Connections take the backends in turn, past
 * those that do not answer; when a backend dies, its connections are reset, as a real proxy's clients would
 * see it. It never looks into the bytes.
 *
 * It can be made a bad network: see `Impairment`. What is held back arrives in order when it heals, as a
 * retransmission would, unless the connections are reset with it.
 */
import { connect, createServer, type Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { onLoopback } from './listen.ts';

/** `requests`: from who connected to who listens; `answers`: back. */
export type Direction = 'requests' | 'answers';

export type Impairment =
  /** Nothing arrives this way, not even that a connection began or ended. Both ways: a partition. */
  | { readonly how: 'lost'; readonly directions: readonly Direction[] }
  /**
   * Each piece comes later by so much, and no faster than so many bytes a second in each connection and
   * direction.
   */
  | { readonly how: 'slow'; readonly delayMs: number; readonly bytesPerSecond: number }
  /** The beginning of each piece comes byte by byte. */
  | { readonly how: 'sliced' }
  /** Each connection is reset, in the middle of a piece, once this many bytes came this way. */
  | { readonly how: 'reset'; readonly direction: Direction; readonly afterBytes: number }
  /** What is open is reset, and whoever comes is. */
  | { readonly how: 'refused' };

/** A port of this machine, or the address of a service. */
export type Backend = number | string;

export type TcpProxy = Awaited<ReturnType<typeof startTcpProxy>>;

/** A backend on this machine answers or refuses at once; a busy machine may be late to tell. */
const CONNECT_MS = 5_000;
/**
 * So many bytes of a piece come one by one when sliced: enough to cut through a head, few enough to come to
 * an end.
 */
const SLICED_BYTES = 64;

interface Network {
  impairment: Impairment | undefined;
  /** Resolves when the impairment changes. */
  changed: Promise<void>;
  change: () => void;
}

function createNetwork(): Network {
  const network: Network = { impairment: undefined, changed: Promise.resolve(), change: () => undefined };
  const renew = (): void => {
    network.changed = new Promise((resolve) => {
      network.change = () => {
        resolve();
        renew();
      };
    });
  };
  renew();
  return network;
}

function lost({ impairment }: Network, direction: Direction): boolean {
  return impairment?.how === 'lost' && impairment.directions.includes(direction);
}

/** Resolves when something may arrive this way. */
async function arrival(network: Network, direction: Direction): Promise<void> {
  while (lost(network, direction)) await network.changed;
}

/** Starts a proxy. `own` is the port to listen on, by default any that is free. */
export async function startTcpProxy(first: readonly Backend[], own = 0) {
  let backends = first;
  const open = new Set<Socket>();
  const clients = new Set<Socket>();
  let refused = 0;
  const network = createNetwork();
  let turn = 0;

  const track = (socket: Socket): Socket => {
    open.add(socket);
    return socket.once('close', () => open.delete(socket)).setNoDelay(true);
  };
  const server = createServer({ allowHalfOpen: true, pauseOnConnect: true }, (client) => {
    if (network.impairment?.how === 'refused') {
      refused += 1;
      client.on('error', () => undefined).resetAndDestroy();
      return;
    }
    track(client);
    clients.add(client);
    client.once('close', () => clients.delete(client));
    client.on('error', () => undefined); // Its close follows, and that is what counts.
    turn = (turn + 1) % backends.length;
    const inTurn = [...backends.slice(turn), ...backends.slice(0, turn)];
    void arrival(network, 'requests')
      .then(async () => await firstAlive(inTurn))
      .then((backend) => {
        if (backend === undefined || client.destroyed) {
          backend?.destroy();
          client.resetAndDestroy();
          return;
        }
        join(client, track(backend), network);
      });
  });
  const { port, url, close } = await onLoopback(server, own);
  const resetAll = (): void => {
    for (const socket of open) socket.resetAndDestroy();
  };
  return {
    port,
    url,
    /** Returns the same address by way of the proxy. */
    urlOf: (address: string): string => {
      const changed = new URL(address);
      changed.hostname = '127.0.0.1';
      changed.port = String(port);
      return changed.href;
    },
    /** Resets what is open; whoever comes is let through. */
    cut: resetAll,
    /** Leads elsewhere from now on, as an address that moves; what is open is reset. */
    lead: (others: readonly Backend[]): void => {
      backends = others;
      resetAll();
    },
    /** Counts connections that were reset because they came while all were refused. */
    refused: () => refused,
    /**
     * Sends bytes to every client as if they came from the backend: between two of its own messages that
     * makes sense.
     */
    inject: (bytes: Uint8Array): void => {
      for (const client of clients) client.write(bytes);
    },
    /** It lasts until `heal`. A second one takes the place of the first. */
    impair: (impairment: Impairment): void => {
      network.impairment = impairment;
      if (impairment.how === 'refused') resetAll();
      network.change();
    },
    /** This lets go on what was held back, or with `reset` resets all that was open. */
    heal: ({ reset = false }: { readonly reset?: boolean } = {}): void => {
      network.impairment = undefined;
      if (reset) resetAll();
      network.change();
    },
    /** Resets what is open and stops listening. */
    close: async (): Promise<void> => {
      const closed = close();
      network.impairment = undefined;
      resetAll();
      network.change();
      await closed;
    },
  };
}

async function firstAlive(backends: readonly Backend[]): Promise<Socket | undefined> {
  for (const backend of backends) {
    const socket = await tryConnect(placeOf(backend));
    if (socket !== undefined) return socket;
  }
  return undefined;
}

interface Place {
  readonly host: string;
  readonly port: number;
}

const PORTS: Readonly<Record<string, number>> = { 'postgres:': 5432, 'postgresql:': 5432, 'amqp:': 5672 };

function placeOf(backend: Backend): Place {
  if (typeof backend === 'number') return { host: '127.0.0.1', port: backend };
  const { hostname: host, port, protocol } = new URL(backend);
  return { host, port: Number(port || PORTS[protocol]) };
}

function tryConnect(place: Place): Promise<Socket | undefined> {
  return new Promise((resolve) => {
    const socket = connect({ ...place, allowHalfOpen: true });
    const timer = setTimeout(() => socket.destroy(new Error('no answer')), CONNECT_MS);
    socket.once('connect', () => {
      clearTimeout(timer);
      socket.removeAllListeners('error');
      resolve(socket);
    });
    socket.once('error', () => {
      clearTimeout(timer);
      resolve(undefined);
    });
  });
}

function join(client: Socket, backend: Socket, network: Network): void {
  // Whoever comes while the network is bad finds it as bad as the others do.
  forward({ from: client, to: backend }, network, 'requests');
  forward({ from: backend, to: client }, network, 'answers');
  client.resume();
}

/**
 * This is one direction of one connection. Its source stands still while a piece is on its way, so that order
 * and ends are kept.
 */
function forward(
  { from, to }: { readonly from: Socket; readonly to: Socket },
  network: Network,
  direction: Direction,
): void {
  let passed = 0;
  from.on('error', () => undefined); // As above.
  from.on('data', (piece: Buffer) => {
    const { impairment } = network;
    if (impairment === undefined) {
      if (!to.write(piece)) {
        from.pause();
        to.once('drain', () => from.resume());
      }
      return;
    }
    from.pause();
    void deliver(piece).finally(() => from.resume());
  });
  const deliver = async (piece: Buffer): Promise<void> => {
    await arrival(network, direction);
    const { impairment } = network;
    if (impairment?.how === 'slow') {
      await pause(impairment.delayMs + (piece.length / impairment.bytesPerSecond) * 1_000);
      await arrival(network, direction);
    } else if (impairment?.how === 'sliced') {
      const end = Math.min(piece.length, SLICED_BYTES);
      for (let i = 0; i < end && !to.destroyed; i += 1) {
        to.write(piece.subarray(i, i + 1));
        await new Promise((resolve) => setImmediate(resolve));
      }
      if (end < piece.length) to.write(piece.subarray(end));
      return;
    } else if (impairment?.how === 'reset' && impairment.direction === direction) {
      passed += piece.length;
      if (passed > impairment.afterBytes) {
        to.write(piece.subarray(0, Math.ceil(piece.length / 2)));
        from.resetAndDestroy();
        to.resetAndDestroy();
        return;
      }
    }
    to.write(piece);
  };
  from.once('end', () => void arrival(network, direction).then(() => to.end()));
  from.once('close', (failed) => {
    void arrival(network, direction).then(() => (failed ? to.resetAndDestroy() : to.destroySoon()));
  });
}
