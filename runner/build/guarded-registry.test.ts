import { createServer } from 'node:http';
import { describe, expect, it } from 'vitest';
import { freePort } from '../../test/setup/registry.ts';
import { imageAt } from '../../test/setup/runner/build-context.ts';
import { listening } from '../../test/setup/runner/listening.ts';
import { requireGuarded } from './guarded-registry.ts';

const image = (host: string, guarded = true) => imageAt(host, { insecure: true, guarded });

async function registry(status: number): Promise<string> {
  const server = createServer((_request, response) =>
    response.writeHead(status, { location: '/elsewhere' }).end(),
  );
  return `127.0.0.1:${await listening(server)}`;
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
    await expect(requireGuarded(image(`127.0.0.1:${await freePort()}`))).rejects.toThrow(
      'cannot be asked whether it is guarded',
    );
  });
});
