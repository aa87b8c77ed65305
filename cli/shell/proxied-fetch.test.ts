/** They test `svc` behind a proxy: what the proxy is asked for, and what goes past it. */
import { createServer } from 'node:https';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { describe, expect, it } from 'vitest';
import { makeCertificates } from '../../test/setup/runner/certificates.ts';
import { startFakeProxy } from '../../test/setup/runner/fake-proxy.ts';
import { useBundledCli } from '../testing/bundle.ts';
import { useFakeApi } from '../testing/fake-api.ts';
import { ends, svc } from '../testing/session.ts';

const [api, cli] = await Promise.all([useFakeApi(), useBundledCli()]);

const regions = { regions: [{ id: 'region_1', name: 'Home', operator: 'customer' }] };

describe('svc behind a proxy', () => {
  it('goes to http in absolute form, bodies too, with the password of the URL', async () => {
    const proxy = await startFakeProxy('me:p%40ss');
    const env = { HTTP_PROXY: proxy.url.replace('p%40ss', 'p%2540ss') };
    api.on('POST /teams/team_1/runners/rnr_1/pause', { body: { id: 'rnr_1' } });
    const paused = await svc(api, 'runners pause rnr_1 --team team_1 --note über', { env });
    expect([paused.code, paused.err]).toEqual([0, '']);
    expect(api.asked.at(-1)?.body).toEqual({ note: 'über' });
    expect(proxy.seen).toContain(`POST ${api.url}/teams/team_1/runners/rnr_1/pause`);
    expect(api.asked.at(-1)?.headers).not.toHaveProperty('proxy-authorization');
  });

  it('says that the proxy wants a password, and that it is not there', async () => {
    const proxy = await startFakeProxy('me:secret');
    const wrong = proxy.url.replace('secret', 'hunter22');
    const refused = await svc(api, 'regions list', { env: { HTTP_PROXY: wrong } });
    expect([refused.code, refused.err]).toEqual([7, expect.stringContaining('answered 407')]);
    expect(refused.err).not.toContain('hunter22');
    await ends(api, 'regions list', {
      code: 7,
      says: 'proxy 127.0.0.1:1 cannot be reached',
      env: { http_proxy: 'http://127.0.0.1:1' },
    });
    const none = await svc(api, 'regions list', { env: { HTTP_PROXY: 'socks5://me:hunter22@p:1' } });
    expect([none.code, none.err]).toEqual([2, 'svc: HTTP_PROXY is not an http or https URL\n']);
    expect(api.asked).toEqual([]);
  });

  it.each([
    ['127.0.0.0/8', []],
    ['127.*', []],
    ['<local>,127.0.0.1', ['<local>']],
  ])('goes past it to what NO_PROXY=%s exempts', async (no, unknown) => {
    const proxy = await startFakeProxy();
    api.on('GET /regions', { body: regions });
    const { code, err } = await svc(api, 'regions list', {
      env: { HTTP_PROXY: proxy.url, NO_PROXY: no },
    });
    expect([code, proxy.seen]).toEqual([0, []]);
    expect(err).toEqual(
      unknown.length === 0 ? '' : expect.stringMatching(/^svc: warning: NO_PROXY names <local>, which .*\n$/),
    );
  });

  it('goes to https by CONNECT, also to an IPv6 address', async () => {
    const certificates = makeCertificates();
    const server = createServer(certificates, (_request, response) => {
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify(regions));
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const proxy = await startFakeProxy('me:pass');
    const env = { SVC_API_KEY: 'key_1', NODE_EXTRA_CA_CERTS: certificates.caFile };
    const words = ['regions', 'list', '--base-url', `https://localhost:${port}`];
    const through = await cli.run(words, { env: { ...env, HTTPS_PROXY: proxy.url } });
    expect([through.code, through.stderr, through.stdout]).toEqual([
      0,
      '',
      expect.stringContaining('region_1'),
    ]);
    expect(proxy.seen).toEqual([`CONNECT localhost:${port}`]);
    await cli.run(['regions', 'list', '--base-url', 'https://[::1]:1', '--timeout', '2s'], {
      env: { ...env, https_proxy: proxy.url },
    });
    expect(proxy.seen).toContain('CONNECT [::1]:1');
    server.closeAllConnections();
    server.close();
  });
});
