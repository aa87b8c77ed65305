import { createServer, type RequestListener } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createHttpClient, type HttpClientOptions, type HttpRequest } from './http-client.ts';
import { makeCertificates } from '../../test/setup/runner/certificates.ts';
import { startFakeProxy } from '../../test/setup/runner/fake-proxy.ts';
import { listening } from '../../test/setup/runner/listening.ts';

const serve = async (listener: RequestListener) => await listening(createServer(listener));
const ok: RequestListener = (request, response) =>
  void response.end(`hello ${request.url} ${request.headers.host ?? ''}`);

async function send(
  url: string,
  options: HttpClientOptions = {},
  request: Partial<HttpRequest> = {},
): Promise<string> {
  const http = createHttpClient({ env: {}, ...options });
  onTestFinished(() => http.close());
  const reply = await http.send({
    method: 'POST',
    url: new URL(url),
    body: Buffer.from('x'),
    timeoutMs: 30_000,
    bytesMax: 1_000,
    ...request,
  });
  return `${reply.status} ${reply.body.toString()}`;
}

describe('http client', () => {
  it('refuses a reply that is larger than allowed', async () => {
    const port = await serve((_, response) => void response.end('x'.repeat(2_000)));
    await expect(send(`http://127.0.0.1:${port}/`)).rejects.toMatchObject({ code: 'reply_too_large' });
  });

  it('gives up on a server that is silent, and on one that stops in the middle', async () => {
    const silent = await serve(() => undefined);
    await expect(send(`http://127.0.0.1:${silent}/`, {}, { timeoutMs: 50 })).rejects.toMatchObject({
      code: 'timeout',
    });
    const stopping = await serve((_, response) => {
      response.writeHead(200, { 'content-length': '100' });
      response.write('part');
      setImmediate(() => response.destroy());
    });
    await expect(send(`http://127.0.0.1:${stopping}/`)).rejects.toMatchObject({ code: 'ECONNRESET' });
  });

  it('ends when it is aborted, before and during', async () => {
    const port = await serve(() => undefined);
    await expect(
      send(`http://127.0.0.1:${port}/`, {}, { signal: AbortSignal.abort() }),
    ).rejects.toMatchObject({ code: 'aborted' });
    await expect(
      send(`http://127.0.0.1:${port}/`, {}, { signal: AbortSignal.timeout(30) }),
    ).rejects.toMatchObject({ code: 'aborted' });
  });

  it('2.16 trusts a private authority when it is given, and says so when it is not', async () => {
    const certificates = makeCertificates();
    const port = await listening(createTlsServer(certificates, ok));
    expect(await send(`https://localhost:${port}/a`, { ca: certificates.ca })).toBe(
      `200 hello /a localhost:${port}`,
    );
    await expect(send(`https://localhost:${port}/`)).rejects.toMatchObject({
      code: expect.stringMatching(/^(SELF_SIGNED_CERT_IN_CHAIN|UNABLE_TO_VERIFY_LEAF_SIGNATURE)$/) as string,
    });
  });

  it('2.16 goes through the proxy of the environment, with its password, to https by a tunnel', async () => {
    const certificates = makeCertificates();
    const port = await listening(createTlsServer(certificates, ok));
    const proxy = await startFakeProxy('user:password');
    const options = { ca: certificates.ca, env: { HTTPS_PROXY: proxy.url } };
    expect(await send(`https://localhost:${port}/a`, options)).toContain('hello /a');
    expect(proxy.seen).toEqual([`CONNECT localhost:${port}`]);
    const wrong = { ...options, env: { HTTPS_PROXY: proxy.url.replace('user', 'other') } };
    await expect(send(`https://localhost:${port}/a`, wrong)).rejects.toMatchObject({ code: 'proxy_refused' });
  });

  it('2.16 sends plain requests to the proxy in absolute form, and exempted hosts directly', async () => {
    const port = await serve(ok);
    const proxy = await startFakeProxy();
    expect(await send(`http://127.0.0.1:${port}/a?b`, { env: { http_proxy: proxy.url } })).toBe(
      `200 hello /a?b 127.0.0.1:${port}`,
    );
    expect(proxy.seen).toEqual([`POST http://127.0.0.1:${port}/a?b`]);
    await send(`http://127.0.0.1:${port}/`, {
      env: { http_proxy: proxy.url, NO_PROXY: 'example.com,127.0.0.1' },
    });
    expect(proxy.seen).toHaveLength(1);
  });
});
