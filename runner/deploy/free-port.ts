/**
 * Chooses the port of the machine for an app that names none. It lies below those that a kernel gives to
 * whoever asks for any: where an engine leaves a rule of an ended container behind, as podman does now and
 * then when several end at once, that rule would lead another program's connections to an app.
 */
import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';
import { BuildFailed } from '../build/failure.ts';

const FIRST = 20_000;
const LAST = 32_767;
const TRIES = 50;

export async function freePort(address: string): Promise<number> {
  for (let tries = 0; tries < TRIES; tries += 1) {
    const port = randomInt(FIRST, LAST + 1);
    if (await isFree(address, port)) return port;
  }
  throw new BuildFailed(
    `none of ${TRIES} ports of ${address} that were tried between ${FIRST} and ${LAST} is free; name one as hostPort of the deploy`,
  );
}

async function isFree(host: string, port: number): Promise<boolean> {
  const server = createServer();
  return await new Promise((resolve, reject) => {
    server.once('error', ({ code }: NodeJS.ErrnoException) => {
      if (code === 'EADDRINUSE' || code === 'EACCES') resolve(false);
      else
        reject(
          new BuildFailed(
            `apps cannot be bound to ${host} (${code}): set --deploy-address to an address of this machine`,
          ),
        );
    });
    server.listen({ host, port }, () => server.close(() => resolve(true)));
  });
}
