/**
 * A load generator on bare sockets, so that it costs little beside what it measures: one request in flight a
 * connection, HTTP/1.1 keep-alive.
 */
import { connect } from 'node:net';

export interface Load {
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly connections: number;
  readonly durationMs: number;
}

export interface LoadResult {
  readonly perSecond: number;
  readonly statuses: ReadonlyMap<number, number>;
}

/**
 * Takes the complete responses at the start of `buffer` and returns their statuses and the rest. It needs
 * content-length on each but a 304.
 */
function takeResponses(buffer: string): { statuses: number[]; rest: string } {
  const statuses: number[] = [];
  let rest = buffer;
  for (;;) {
    const headEnd = rest.indexOf('\r\n\r\n');
    if (headEnd < 0) return { statuses, rest };
    const status = Number(rest.slice(9, 12));
    // A 304 has no body and says no length.
    const length = status === 304 ? 0 : /content-length: *(\d+)/i.exec(rest.slice(0, headEnd))?.[1];
    if (length === undefined) throw new Error(`a response without content-length: ${rest.slice(0, 300)}`);
    const end = headEnd + 4 + Number(length);
    if (rest.length < end) return { statuses, rest };
    statuses.push(status);
    rest = rest.slice(end);
  }
}

export async function applyLoad({ url, headers = {}, connections, durationMs }: Load): Promise<LoadResult> {
  const { hostname, port, host, pathname, search } = new URL(url);
  const lines = Object.entries({ host, ...headers }).map(([name, value]) => `${name}: ${value}\r\n`);
  const request = `GET ${pathname}${search} HTTP/1.1\r\n${lines.join('')}\r\n`;
  const statuses = new Map<number, number>();
  const startedAt = performance.now();
  const endsAt = startedAt + durationMs;
  let count = 0;

  const one = () =>
    new Promise<void>((resolve, reject) => {
      let buffered = '';
      const socket = connect({ host: hostname, port: Number(port), noDelay: true }, () =>
        socket.write(request),
      );
      socket.on('error', reject);
      socket.on('data', (data) => {
        const { statuses: seen, rest } = takeResponses(buffered + data.toString('latin1'));
        buffered = rest;
        for (const status of seen) {
          statuses.set(status, (statuses.get(status) ?? 0) + 1);
          count += 1;
          if (performance.now() < endsAt) socket.write(request);
          else {
            socket.end();
            resolve();
          }
        }
      });
    });
  await Promise.all(Array.from({ length: connections }, one));
  return { perSecond: (count / (performance.now() - startedAt)) * 1000, statuses };
}
