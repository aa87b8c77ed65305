/** Tests start servers by these, on this machine's loopback. */
import type { Server as HttpServer } from 'node:http';
import type { AddressInfo, Server } from 'node:net';
import { whenDone } from './when-done.ts';

/** Has the server listen, and ends it and its connections afterwards; returns its port. */
export async function listening(server: Server, port = 0): Promise<number> {
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  whenDone(() => {
    if ('closeAllConnections' in server) (server as HttpServer).closeAllConnections();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}
