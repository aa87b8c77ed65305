/**
 * A real name server (Debian's dnsmasq) on a free port of loopback, for the domain `example.com`, and servers
 * that answer nothing of use.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { Resolver } from 'node:dns/promises';
import { freePort } from './registry.ts';
import { waitFor } from './wait-for.ts';

export type DnsServer = Awaited<ReturnType<typeof startDnsServer>>;

/** In the foreground, without the machine's configuration, and asking no other server. */
const ALONE =
  '--no-daemon --conf-file=/dev/null --no-resolv --no-hosts --pid-file= --user= --listen-address=127.0.0.1 --bind-interfaces --local=/example.com/'.split(
    ' ',
  );

/** dnsmasq reads records at its start alone: each `set` starts it again on the same port. */
export async function startDnsServer() {
  const port = await freePort();
  const address = `127.0.0.1:${port}`;
  let child: ChildProcess | undefined;
  const stop = async (): Promise<void> => {
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const exited = once(child, 'exit');
    child.kill('SIGKILL');
    await exited;
  };
  return {
    address,
    stop,
    /**
     * Replaces all records: texts by name, and names that have an address alone. A record that is given as a
     * list is sent in these chunks.
     */
    set: async (
      texts: Readonly<Record<string, ReadonlyArray<string | readonly string[]>>>,
      addresses: readonly string[] = [],
    ): Promise<void> => {
      await stop();
      const records = Object.entries(texts).flatMap(([name, values]) =>
        values.map((value) => `--txt-record=${[name, ...[value].flat()].join(',')}`),
      );
      child = spawn(
        'dnsmasq',
        [
          ...ALONE,
          `--port=${port}`,
          '--txt-record=ready.example.com,yes',
          ...addresses.map((name) => `--host-record=${name},192.0.2.1`),
          ...records,
        ],
        { stdio: ['ignore', 'ignore', 'pipe'] },
      );
      await untilReady(child, address);
    },
  };
}

async function untilReady(child: ChildProcess, address: string): Promise<void> {
  let said = '';
  child.stderr?.setEncoding('utf8').on('data', (text: string) => (said += text));
  await waitFor(
    () => ({ dnsmasq: address, exitCode: child.exitCode, said }),
    async () => {
      const resolver = new Resolver({ timeout: 250, tries: 1 });
      resolver.setServers([address]);
      return (await resolver.resolveTxt('ready.example.com')).length > 0;
    },
  );
}

export type OddServer = Awaited<ReturnType<typeof startOddServer>>;

type Answer = (query: Buffer) => Buffer | undefined | Promise<Buffer>;

/** Answers each query with what `answer` makes of it; undefined: with nothing. */
export async function startOddServer(answer: Answer) {
  const socket = createSocket('udp4');
  let queries = 0;
  socket.on('message', (query, { address, port }) => {
    queries += 1;
    void Promise.resolve(answer(query)).then((reply) => {
      if (reply !== undefined) socket.send(reply, port, address);
    });
  });
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');
  return {
    address: `127.0.0.1:${socket.address().port}`,
    /** Counts the queries that arrived. */
    get queries(): number {
      return queries;
    },
    stop: async (): Promise<void> => {
      socket.close();
      await once(socket, 'close');
    },
  };
}

/**
 * Returns the query as an answer that has no records and a response code of RFC 1035: 2 is SERVFAIL, 5 is
 * REFUSED.
 */
export function refusal(code: number): (query: Buffer) => Buffer {
  return (query) => {
    const reply = Buffer.from(query);
    reply[2] = (reply[2] ?? 0) | 0x80;
    reply[3] = ((reply[3] ?? 0) & 0xf0) | code;
    return reply;
  };
}

/** Returns what the server at `address` answers to the query. */
export async function forward(query: Buffer, address: string): Promise<Buffer> {
  const { hostname, port } = new URL(`udp://${address}`);
  const socket = createSocket('udp4');
  try {
    socket.send(query, Number(port), hostname);
    const [reply] = (await once(socket, 'message')) as [Buffer];
    return reply;
  } finally {
    socket.close();
  }
}
