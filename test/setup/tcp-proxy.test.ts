import { createServer, type Server } from 'node:http';
import { afterEach, describe, expect, it } from 'vitest';
import { createHttpClient } from '../faults/http-client.ts';
import { onLoopback } from './listen.ts';
import { startTcpProxy, type TcpProxy } from './tcp-proxy.ts';

const servers: Server[] = [];
const proxies: TcpProxy[] = [];
const client = createHttpClient();

async function backend(name: string, hang = false): Promise<{ port: number; server: Server }> {
  const server = createServer((_, response) => void (hang || response.end(JSON.stringify({ name }))));
  servers.push(server);
  return { port: (await onLoopback(server)).port, server };
}

async function proxyOver(...ports: number[]): Promise<TcpProxy> {
  const proxy = await startTcpProxy(ports);
  proxies.push(proxy);
  return proxy;
}

const ask = async (url: string) =>
  await client.call({ method: 'POST', url: new URL(url), body: '{}', headers: {}, timeoutMs: 2_000 });

afterEach(async () => {
  client.close();
  await Promise.all(proxies.splice(0).map((proxy) => proxy.close()));
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    server.close();
  }
});

describe('startTcpProxy()', () => {
  it('takes the backends in turn and passes over dead ones', async () => {
    const a = await backend('a');
    const b = await backend('b');
    const proxy = await proxyOver(a.port, b.port);
    const names = new Set<string>();
    for (let i = 0; i < 4; i += 1) {
      names.add(String((await ask(proxy.url)).body['name']));
      client.close(); // a new connection each time
    }
    expect(names).toEqual(new Set(['a', 'b']));
    a.server.closeAllConnections();
    a.server.close();
    for (let i = 0; i < 3; i += 1) {
      expect((await ask(proxy.url)).body['name']).toBe('b');
      client.close();
    }
  });

  it('resets the clients of a backend that dies, and of none that is left', async () => {
    const a = await backend('a', true);
    const proxy = await proxyOver(a.port);
    const asked = ask(proxy.url);
    await new Promise<void>((resolve) => a.server.once('request', () => resolve()));
    a.server.closeAllConnections();
    await expect(asked).rejects.toThrow();
    a.server.close();
    await expect(ask(proxy.url)).rejects.toThrow();
  });
});
