/** A TCP proxy in front of a real part: cuts connections, refuses new ones, freezes, without root rights. */
import { connect, createServer } from 'node:net';
import type { Server, Socket } from 'node:net';

export interface TcpProxy {
  readonly port: number;
  /** The same address with the proxy's port. */
  urlOf(url: string): string;
  /** Resets every connection and refuses new ones until `restore`. */
  cut(): void;
  /** Lets nothing through in either direction until `restore`; connections stay open. */
  freeze(): void;
  restore(): void;
  /** Connections that came while it was cut. */
  refused(): number;
  close(): Promise<void>;
}

export async function startTcpProxy(target: string): Promise<TcpProxy> {
  const { hostname, port } = new URL(target);
  const pairs = new Set<readonly [Socket, Socket]>();
  let state: 'open' | 'cut' | 'frozen' = 'open';
  let refused = 0;

  const server: Server = createServer((near) => {
    if (state === 'cut') {
      refused += 1;
      near.resetAndDestroy();
      return;
    }
    const far = connect(Number(port), hostname);
    const pair = [near, far] as const;
    pairs.add(pair);
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      from.on('data', (chunk) => to.write(chunk));
      from
        .on('error', () => to.destroy())
        .on('close', () => {
          to.destroy();
          pairs.delete(pair);
        });
      if (state === 'frozen') from.pause();
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  const own = typeof address === 'object' && address !== null ? address.port : 0;

  const drop = (): void => {
    for (const [near, far] of pairs) {
      near.resetAndDestroy();
      far.destroy();
    }
    pairs.clear();
  };
  return {
    port: own,
    urlOf: (url) => {
      const changed = new URL(url);
      changed.hostname = '127.0.0.1';
      changed.port = String(own);
      return changed.href;
    },
    cut: () => {
      state = 'cut';
      drop();
    },
    freeze: () => {
      state = 'frozen';
      for (const pair of pairs) for (const socket of pair) socket.pause();
    },
    restore: () => {
      state = 'open';
      for (const pair of pairs) for (const socket of pair) socket.resume();
    },
    refused: () => refused,
    close: async () => {
      drop();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
