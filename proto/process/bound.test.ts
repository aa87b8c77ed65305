import { createServer, type AddressInfo, type Server } from 'node:net';
import { afterAll, describe, expect, it } from 'vitest';
import { boundUrl, boundUrls, boundWords, orWrongSetting } from './bound.ts';

describe('what is bound', () => {
  it.each([
    ['127.0.0.1', 'http://127.0.0.1:80', '127.0.0.1:80, this machine alone'],
    ['localhost', 'http://localhost:80', 'localhost:80, this machine alone'],
    ['::1', 'http://[::1]:80', '[::1]:80, this machine alone'],
    ['0.0.0.0', 'http://127.0.0.1:80', '0.0.0.0:80, every address of this machine'],
    ['::', 'http://127.0.0.1:80', '[::]:80, every address of this machine'],
    ['192.0.2.1', 'http://192.0.2.1:80', '192.0.2.1:80'],
  ])('is said as it is for %s', (host, url, words) => {
    expect([boundUrl(host, 80), boundWords(host, 80)]).toEqual([url, words]);
  });

  it('is called by its own address and by the loopback names, each once', () => {
    expect(boundUrls('0.0.0.0', 81)).toEqual([
      'http://127.0.0.1:81',
      'http://localhost:81',
      'http://[::1]:81',
    ]);
    expect(boundUrls('192.0.2.1', 81)[0]).toBe('http://192.0.2.1:81');
  });
});

describe('what cannot be listened on', () => {
  const opened: Server[] = [];
  afterAll(() => opened.forEach((server) => server.close()));
  const listen = async (host: string, port: number): Promise<number> => {
    const server = createServer();
    opened.push(server);
    const listening = new Promise<number>((resolve, reject) => {
      server.once('error', reject).listen(port, host, () => resolve((server.address() as AddressInfo).port));
    });
    return await orWrongSetting(listening, { host, port, names: ['HOST', 'PORT'] });
  };

  it('is named by its setting', async () => {
    const port = await listen('127.0.0.1', 0);
    await expect(listen('127.0.0.1', port)).rejects.toThrow(
      `PORT is ${port}, expected a port of 127.0.0.1 that is free`,
    );
    await expect(listen('nope.invalid', 0)).rejects.toThrow(
      'HOST is "nope.invalid", expected an address or a name of',
    );
    await expect(listen('192.0.2.1', 0)).rejects.toThrow(
      'HOST is "192.0.2.1", expected an address or a name of',
    );
  });
});
