/**
 * Chooses the port of the machine for an app that names none. It lies below those that a kernel gives to
 * whoever asks for any: where an engine leaves a rule of an ended container behind, as podman does now and
 * then when several end at once, that rule would lead another program's connections to an app.
 */
import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';
import { BuildFailed } from '../build/failure.ts';

const FIRST = 20_000;
const BEHIND_LAST = 32_768;
const TRIES = 50;

export async function freePort(address: string): Promise<number> {
  for (let tries = 0; tries < TRIES; tries += 1) {
    const port = randomInt(FIRST, BEHIND_LAST);
    if (await isFree(address, port)) return port;
  }
  throw new BuildFailed(`no free port of ${address} was found between ${FIRST} and ${BEHIND_LAST - 1}`);
}

async function isFree(host: string, port: number): Promise<boolean> {
  const server = createServer();
  return await new Promise((resolve) => {
    server.once('error', () => resolve(false));
    server.listen({ host, port }, () => server.close(() => resolve(true)));
  });
}
