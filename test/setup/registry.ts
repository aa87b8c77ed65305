/**
 * A real registry (Debian's docker-registry) on a free port of loopback, with a door in front of it that
 * counts and holds what passes.
 */
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, request as forward, type IncomingMessage, type ServerResponse } from 'node:http';
import { connect, createServer as createProbe } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onLoopback } from './listen.ts';
import { waitFor } from './wait-for.ts';

export interface RegistryOptions {
  username?: string;
  password?: string;
  /** Port of the door. Any free one is taken by default. */
  port?: number;
  /** The service's token authentication: the address of its endpoint, and the file of its certificate. */
  tokens?: { realm: string; certificate: string };
}

export type Registry = Awaited<ReturnType<typeof startRegistry>>;

export async function startRegistry(options: RegistryOptions = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'svc-registry-'));
  const port = await freePort();
  const { tokens } = options;
  const auth =
    tokens === undefined
      ? ''
      : `auth:\n  token:\n    realm: ${tokens.realm}\n    service: svc-registry\n    issuer: svc\n    rootcertbundle: ${tokens.certificate}\n`;
  writeFileSync(
    join(folder, 'config.yml'),
    `version: 0.1\nstorage:\n  filesystem:\n    rootdirectory: ${folder}/data\nhttp:\n  addr: 127.0.0.1:${port}\n  relativeurls: true\n${auth}`,
  );
  const child = spawn('docker-registry', ['serve', join(folder, 'config.yml')], { stdio: 'ignore' });
  const exited = new Promise<void>((resolve) => child.once('close', () => resolve()));
  await waitFor(`docker-registry to listen on ${port}`, async () => await isOpen(port));

  const pushes: string[] = [];
  let held: { method: string; part: string } | undefined;
  const waiting = new Set<() => void>();
  const door = createServer((request, response) => {
    const { method = '', url = '' } = request;
    if (!isAllowed(request, options))
      return void response.writeHead(401, { 'www-authenticate': 'Basic realm="registry"' }).end();
    const manifest = /^\/v2\/(.+)\/manifests\/(.+)$/.exec(url);
    const pass = () => {
      if (method === 'PUT' && manifest !== null) pushes.push(`${manifest[1]}:${manifest[2]}`);
      relay(port, request, response);
    };
    if (held === undefined || held.method !== method || !url.includes(held.part)) return pass();
    waiting.add(pass);
    response.on('close', () => waiting.delete(pass));
  });
  const outside = await onLoopback(door, options.port);
  return {
    host: `127.0.0.1:${outside.port}`,
    /** Names of the manifests that were put are kept with their tags: one entry a push. */
    pushes,
    /** Requests that have this method and path wait until `release`; `waiting` counts them. */
    hold: (method: string, part: string) => void (held = { method, part }),
    get waiting(): number {
      return waiting.size;
    },
    release(): void {
      held = undefined;
      for (const pass of waiting) pass();
      waiting.clear();
    },
    async stop(): Promise<void> {
      await outside.close();
      child.kill('SIGKILL');
      await exited;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function isAllowed(request: IncomingMessage, { username = '', password }: RegistryOptions): boolean {
  if (password === undefined) return true;
  return (
    request.headers.authorization === `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`
  );
}

function relay(port: number, request: IncomingMessage, response: ServerResponse): void {
  const onward = forward(
    { host: '127.0.0.1', port, method: request.method, path: request.url, headers: request.headers },
    (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
    },
  );
  onward.on('error', () => response.destroy());
  request.pipe(onward);
}

export async function freePort(): Promise<number> {
  const { port, close } = await onLoopback(createProbe());
  await close();
  return port;
}

async function isOpen(port: number): Promise<boolean> {
  return await new Promise((resolve) => {
    const socket = connect({ host: '127.0.0.1', port });
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });
}
