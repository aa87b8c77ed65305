/**
 * Ports for processes that must come back at the same address. They lie below the range that the system gives
 * to outgoing connections, which would otherwise take one while its process is down; nobody else on this
 * machine is asked for them, so a clash is unlikely, not impossible.
 */
import { createServer } from 'node:net';

const FIRST = 12_000;
const COUNT = 18_000;
const TRIES_MAX = 1_000;
/** Never handed out twice by this process: who has one may not listen yet, or may be down. */
const given = new Set<number>();

export async function freePorts(count: number): Promise<readonly number[]> {
  const ports = new Set<number>();
  for (let tries = 0; ports.size < count; tries += 1) {
    if (tries === TRIES_MAX)
      throw new Error(`${ports.size} free ports found after ${tries} tries, ${count} wanted`);
    const port = FIRST + Math.floor(Math.random() * COUNT);
    if (given.has(port) || !(await isFree(port))) continue;
    given.add(port);
    ports.add(port);
  }
  return [...ports];
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer();
  return await new Promise((resolve) => {
    server.once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });
}
