/** A TCP proxy for tests: cuts connections, or lets them stand and passes nothing on, as a frozen peer does. */
import { connect, createServer } from 'node:net';
import type { Socket } from 'node:net';

export interface TcpProxy {
  readonly port: number;
  /** Resets every connection; new ones are accepted again. */
  cut(): void;
  /** Connections stay open and carry nothing, until `thaw`. */
  freeze(): void;
  thaw(): void;
  /** Sends bytes to every client as if they came from the target; only between two of its own messages does that make sense. */
  inject(bytes: Uint8Array): void;
  close(): Promise<void>;
}

export async function startTcpProxy(target: {
  readonly host: string;
  readonly port: number;
}): Promise<TcpProxy> {
  const sockets = new Set<Socket>();
  let frozen = false;
  const track = (socket: Socket): void => {
    sockets.add(socket);
    socket.on('error', () => undefined); // A reset is what the proxy is for.
    socket.on('close', () => sockets.delete(socket));
    if (frozen) socket.pause();
  };
  const clients = new Set<Socket>();
  const server = createServer((near) => {
    clients.add(near);
    near.on('close', () => clients.delete(near));
    const far = connect(target);
    track(near);
    track(far);
    near.pipe(far);
    far.pipe(near);
    near.on('close', () => far.destroy());
    far.on('close', () => near.destroy());
    if (frozen) pauseAll();
  });
  const pauseAll = (): void => {
    for (const socket of sockets) {
      socket.unpipe();
      socket.pause();
    }
  };
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the proxy has no port');
  const cut = (): void => {
    for (const socket of sockets) socket.resetAndDestroy();
  };
  return {
    port: address.port,
    cut,
    freeze: () => {
      frozen = true;
      pauseAll();
    },
    thaw: () => {
      frozen = false;
      // What was frozen has missed bytes' turn to be piped; a peer that comes back after this long is reconnected to anyway.
      cut();
    },
    inject: (bytes) => {
      for (const client of clients) client.write(bytes);
    },
    close: async () => {
      cut();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}
