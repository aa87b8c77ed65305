/** Lets a server of a test listen on loopback. */
import type { AddressInfo, Server } from 'node:net';

/** Resolves when it listens: on this port, or by default on any that is free. */
export async function onLoopback(server: Server & { closeAllConnections?(): void }, own = 0) {
  await new Promise<void>((resolve) => server.listen(own, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    port,
    url: `http://127.0.0.1:${port}`,
    /** Ends what is open, where the server can, and listens no more. */
    close: async (): Promise<void> => {
      server.closeAllConnections?.();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
