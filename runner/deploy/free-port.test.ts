import { createServer } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { freePort } from './free-port.ts';

describe('the port of an app that names none', () => {
  it('is free, and none of those that whoever asks for any gets', async () => {
    const ports = await Promise.all(Array.from({ length: 20 }, async () => await freePort('127.0.0.1')));
    for (const port of ports) {
      expect(port).toBeGreaterThanOrEqual(20_000);
      expect(port).toBeLessThan(32_768);
    }
    const server = createServer();
    onTestFinished(() => void server.close());
    await new Promise<void>((resolve) => server.listen({ host: '127.0.0.1', port: ports[0] }, resolve));
  });

  it('is not to be had of an address that the machine does not have', async () => {
    await expect(freePort('192.0.2.1')).rejects.toThrow(
      'apps cannot be bound to 192.0.2.1 (EADDRNOTAVAIL): set --deploy-address to an address of this machine',
    );
  });
});
