/**
 * An edge with a real nginx on free ports of loopback, apps behind it, and clients that call it by any name.
 */
import { readFileSync } from 'node:fs';
import { request, createServer, type IncomingHttpHeaders, type IncomingMessage } from 'node:http';
import { request as requestTls } from 'node:https';
import { join } from 'node:path';
import { connect, type PeerCertificate } from 'node:tls';
import { openEdge, type EdgeOptions, type Site } from '../../../runner/edge/edge.ts';
import { masterPid } from '../../../runner/edge/nginx/process.ts';
import { SILENT } from '../../../runner/platform/log.ts';
import { freePort } from '../registry.ts';
import { listening } from '../runner/listening.ts';
import { tempDir } from '../runner/temp-dir.ts';
import { whenDone } from '../runner/when-done.ts';
import { waitFor } from '../wait-for.ts';

export type EdgePlace = Awaited<ReturnType<typeof edgePlace>>;

/** Ports and a folder, in which edges are opened one after the other, as a daemon does that restarts. */
export async function edgePlace() {
  const dataDir = tempDir();
  const [httpPort, httpsPort] = [await freePort(), await freePort()];
  const dir = join(dataDir, 'edge', 'nginx');
  whenDone(async () => await endNginx(dir));
  const options: EdgeOptions = {
    dataDir,
    program: 'nginx',
    httpPort,
    httpsPort,
    listenAddress: '127.0.0.1',
    addresses: [],
    acme: { directory: 'https://localhost:1/dir' },
    resolver: '127.0.0.1:1',
    gatherMs: 20,
    env: {},
    log: SILENT,
  };
  return {
    dataDir,
    options,
    dir,
    httpPort,
    httpsPort,
    master: () => masterPid(dir),
    open: async (more: Partial<EdgeOptions> = {}) => {
      const edge = await openEdge({ ...options, ...more });
      whenDone(edge.stop);
      return edge;
    },
    get: async (name: string, asked: CallOptions = {}) => await get(httpPort, name, asked),
    getTls: async (name: string, ca: string, path = '/') => await getTls(httpsPort, name, { ca, path }),
    /** The certificate that is shown for a name; undefined when the handshake is refused. */
    shown: async (name: string) => await shownCertificate(httpsPort, name),
    file: (environmentId: string) => readFileSync(join(dir, 'sites', `${environmentId}.conf`), 'utf8'),
  };
}

/** Ends an nginx; the master takes its workers along. */
export async function endNginx(dir: string): Promise<void> {
  const pid = masterPid(dir);
  if (pid === undefined) return;
  process.kill(pid, 'SIGTERM');
  await waitFor('nginx to end', () => masterPid(dir) === undefined);
}

export interface App {
  port: number;
  /** Returns the headers of the last request. */
  headers: () => IncomingHttpHeaders;
  /** Lets answers go that are held back. */
  release: () => void;
}

/** Starts an app that answers its name, at once or when it is let. */
export async function startApp(name: string, answers: 'at once' | 'held' = 'at once'): Promise<App> {
  let release = () => undefined as void;
  const released = new Promise<void>((resolve) => (release = resolve));
  if (answers === 'at once') release();
  let last: IncomingHttpHeaders = {};
  const server = createServer((asked, reply) => {
    last = asked.headers;
    asked.resume().once('end', () => void released.then(() => reply.end(name)));
  });
  server.on('upgrade', (_asked, socket) => {
    socket.end('HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: upgrade\r\n\r\nhello');
  });
  return { port: await listening(server), headers: () => last, release };
}

export function siteOf(id: string, app: App | undefined, ...names: readonly string[]): Site {
  return {
    environmentId: `env_${id}`,
    app: id,
    names: names.map((name) => ({ name, ssl: false })),
    ...(app === undefined ? {} : { upstream: { host: '127.0.0.1', port: app.port } }),
  };
}

export const withTls = (site: Site): Site => ({
  ...site,
  names: site.names.map(({ name }) => ({ name, ssl: true })),
});

export interface CallOptions {
  path?: string;
  method?: string;
  headers?: Readonly<Record<string, string>>;
  body?: string;
}

export interface Answer {
  status: number;
  headers: IncomingHttpHeaders;
  body: string;
}

async function get(port: number, name: string, { path = '/', method = 'GET', headers, body }: CallOptions) {
  return await new Promise<Answer>((resolve, reject) => {
    const options = {
      host: '127.0.0.1',
      port,
      path,
      method,
      headers: { host: name, ...headers },
      agent: false,
    };
    const asked = request(options, (reply) => void read(reply, resolve, reject));
    asked.on('upgrade', (reply, socket) => {
      resolve({ status: reply.statusCode ?? 0, headers: reply.headers, body: '' });
      socket.destroy();
    });
    asked.once('error', reject).end(body);
  });
}

async function getTls(port: number, name: string, more: { ca: string; path: string }): Promise<Answer> {
  return await new Promise<Answer>((resolve, reject) => {
    const options = {
      host: '127.0.0.1',
      port,
      servername: name,
      headers: { host: name },
      agent: false,
      ...more,
    };
    requestTls(options, (reply) => void read(reply, resolve, reject))
      .once('error', reject)
      .end();
  });
}

async function read(
  reply: IncomingMessage,
  resolve: (answer: Answer) => void,
  reject: (error: unknown) => void,
) {
  try {
    const parts: Buffer[] = [];
    for await (const part of reply) parts.push(part as Buffer);
    const body = Buffer.concat(parts).toString();
    resolve({ status: reply.statusCode ?? 0, headers: reply.headers, body });
  } catch (error) {
    reject(error);
  }
}

async function shownCertificate(port: number, servername: string): Promise<PeerCertificate | undefined> {
  return await new Promise((resolve) => {
    const socket = connect({ host: '127.0.0.1', port, servername, rejectUnauthorized: false }, () => {
      resolve(socket.getPeerCertificate());
      socket.destroy();
    });
    socket.once('error', () => resolve(undefined));
  });
}
