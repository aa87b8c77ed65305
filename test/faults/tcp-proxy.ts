/**
 * One address in front of several processes that come and go. Connections take the backends in turn, past those that do not answer; when
 * a backend dies, its connections are reset, as a real proxy's clients would see it. It never looks into the bytes.
 */
import { connect, createServer } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';

export interface TcpProxy {
  readonly port: number;
  readonly url: string;
  /** Resets what is open and stops listening. */
  close(): Promise<void>;
}

/** A backend on this machine answers or refuses at once; a busy machine may be late to tell. */
const CONNECT_MS = 5_000;

export async function startTcpProxy(backends: readonly number[]): Promise<TcpProxy> {
  const open = new Set<Socket>();
  let turn = 0;

  const track = (socket: Socket): Socket => {
    open.add(socket);
    return socket.once('close', () => open.delete(socket)).setNoDelay(true);
  };
  const server = createServer({ allowHalfOpen: true, pauseOnConnect: true }, (client) => {
    track(client);
    client.on('error', () => undefined); // Its close follows, and that is what counts.
    turn = (turn + 1) % backends.length;
    const inTurn = [...backends.slice(turn), ...backends.slice(0, turn)];
    void firstAlive(inTurn).then((backend) => {
      if (backend === undefined || client.destroyed) {
        backend?.destroy();
        client.resetAndDestroy();
        return;
      }
      join(client, track(backend));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    port,
    url: `http://127.0.0.1:${port}`,
    close: async () => {
      const closed = new Promise((resolve) => server.close(resolve));
      for (const socket of open) socket.resetAndDestroy();
      await closed;
    },
  };
}

async function firstAlive(ports: readonly number[]): Promise<Socket | undefined> {
  for (const port of ports) {
    const socket = await tryConnect(port);
    if (socket !== undefined) return socket;
  }
  return undefined;
}

function tryConnect(port: number): Promise<Socket | undefined> {
  return new Promise((resolve) => {
    const socket = connect({ host: '127.0.0.1', port, allowHalfOpen: true });
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

function join(client: Socket, backend: Socket): void {
  for (const [from, to] of [
    [client, backend],
    [backend, client],
  ] as const) {
    from.on('error', () => undefined); // As above.
    from.once('close', (failed) => (failed ? to.resetAndDestroy() : to.destroySoon()));
    from.pipe(to);
  }
  client.resume();
}
