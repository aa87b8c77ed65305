/**
 * A real registry (Debian's docker-registry) on a free port of loopback, with a door in front of it that
 * counts and holds what passes.
 */
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, request as forward, type IncomingMessage, type ServerResponse } from 'node:http';
import { connect, createServer as createProbe, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface RegistryOptions {
  username?: string;
  password?: string;
  /** Port of the door. Any free one is taken by default. */
  port?: number;
  /** The service's token authentication: the address of its endpoint, and the file of its certificate. */
  tokens?: { realm: string; certificate: string };
}

export interface Registry {
  /** `127.0.0.1:<port>`. */
  readonly host: string;
  /** Names of the manifests that were put, with their tags: one entry a push. */
  readonly pushes: string[];
  /** Requests with this method and a path with this part wait until `release`; `waiting` counts them. */
  hold(method: string, part: string): void;
  readonly waiting: number;
  release(): void;
  stop(): Promise<void>;
}

export async function startRegistry(options: RegistryOptions = {}): Promise<Registry> {
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
  await untilOpen(port);

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
  await new Promise<void>((resolve) => door.listen(options.port ?? 0, '127.0.0.1', resolve));
  return {
    host: `127.0.0.1:${(door.address() as AddressInfo).port}`,
    pushes,
    hold: (method, part) => void (held = { method, part }),
    get waiting() {
      return waiting.size;
    },
    release() {
      held = undefined;
      for (const pass of waiting) pass();
      waiting.clear();
    },
    async stop() {
      door.closeAllConnections();
      await new Promise<void>((resolve) => door.close(() => resolve()));
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
  const probe = createProbe();
  await new Promise<void>((resolve) => probe.listen(0, '127.0.0.1', resolve));
  const { port } = probe.address() as AddressInfo;
  await new Promise<void>((resolve) => probe.close(() => resolve()));
  return port;
}

async function untilOpen(port: number): Promise<void> {
  const deadline = performance.now() + 15_000;
  for (;;) {
    const open = await new Promise<boolean>((resolve) => {
      const socket = connect({ host: '127.0.0.1', port });
      socket.once('connect', () => {
        socket.destroy();
        resolve(true);
      });
      socket.once('error', () => resolve(false));
    });
    if (open) return;
    if (performance.now() > deadline)
      throw new Error(`docker-registry does not listen on ${port} after 15 s`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
