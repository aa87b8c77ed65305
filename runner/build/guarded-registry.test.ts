import { createServer, type AddressInfo } from 'node:net';
import { createServer as createHttp } from 'node:http';
import { describe, expect, it, onTestFinished } from 'vitest';
import { requireGuarded } from './guarded-registry.ts';

const image = (host: string, guarded = true) => ({
  host,
  name: `${host}/a`,
  tag: '1',
  home: `${host}/acme`,
  insecure: true,
  guarded,
  commitInTag: false,
  local: false,
});

async function registry(status: number): Promise<string> {
  const server = createHttp((_request, response) =>
    response.writeHead(status, { location: '/elsewhere' }).end(),
  );
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}

describe('requireGuarded()', () => {
  it('is content with a registry that asks who calls, and with any that need not be guarded', async () => {
    await expect(requireGuarded(image(await registry(401)))).resolves.toBeUndefined();
    await expect(requireGuarded(image(await registry(200), false))).resolves.toBeUndefined();
  });

  it.each([200, 302, 403, 404, 500])('refuses one that answers %d', async (status) => {
    await expect(requireGuarded(image(await registry(status)))).rejects.toThrow(
      `answers callers without a credential (status ${status}), so nothing is published there`,
    );
  });

  it('refuses one that cannot be asked', async () => {
    const probe = createServer().listen(0, '127.0.0.1');
    await new Promise((resolve) => probe.once('listening', resolve));
    const { port } = probe.address() as AddressInfo;
    await new Promise((resolve) => probe.close(resolve));
    await expect(requireGuarded(image(`127.0.0.1:${port}`))).rejects.toThrow(
      'cannot be asked whether it is guarded',
    );
  });
});
