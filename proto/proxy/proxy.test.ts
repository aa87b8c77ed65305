import { describe, expect, it } from 'vitest';
import { proxyFor, unknownExemptions } from './proxy.ts';

describe('proxyFor()', () => {
  const at = (url: string, env: Record<string, string>) => proxyFor(new URL(url), env)?.host;

  it('picks by scheme, lower case first', () => {
    expect(at('https://a.example', { HTTPS_PROXY: 'http://p1:1', HTTP_PROXY: 'http://p2:2' })).toBe('p1:1');
    expect(at('http://a.example', { HTTPS_PROXY: 'http://p1:1', HTTP_PROXY: 'http://p2:2' })).toBe('p2:2');
    expect(at('https://a.example', { HTTPS_PROXY: 'http://p1:1', https_proxy: 'p3:3' })).toBe('p3:3');
    expect(at('https://a.example', { ALL_PROXY: 'http://p4:4' })).toBe('p4:4');
    expect(at('https://a.example', {})).toBeUndefined();
  });

  it('honours NO_PROXY by name, domain, port and star', () => {
    const env = (no: string) => ({ HTTPS_PROXY: 'http://p:1', NO_PROXY: no });
    for (const no of ['*', 'a.example', '.example', 'example', 'x, a.example:443', '*.example'])
      expect(at('https://a.example/', env(no)), no).toBeUndefined();
    for (const no of ['b.example', 'a.example:8443', 'ample', ''])
      expect(at('https://a.example/', env(no)), no).toBe('p:1');
  });

  it.each([
    ['10.0.0.0/8', 'https://10.1.2.3/', 'https://11.0.0.1/'],
    ['192.168.4.0/22', 'https://192.168.7.255:8443/', 'https://192.168.8.0/'],
    ['fd00::/8', 'https://[fd12::1]/', 'https://[fe80::1]/'],
    ['::1/128', 'https://[::1]/', 'https://[::2]/'],
    ['::1', 'https://[0:0:0:0:0:0:0:1]/', 'https://[::2]/'],
    ['0:0:0:0:0:0:0:1', 'https://[::1]/', 'https://[::11]/'],
    ['[fd00::5]:8443', 'https://[fd00::5]:8443/', 'https://[fd00::5]/'],
    ['127.*', 'https://127.0.0.1/', 'https://128.0.0.1/'],
    ['10.0.*.7', 'https://10.0.9.7/', 'https://10.0.9.8/'],
    ['svc-*.example.com:443', 'https://svc-eu.example.com/', 'https://svc-eu.example.com:8443/'],
    ['*.Example.com', 'https://a.b.example.com/', 'https://example.org/'],
    ['example.com.', 'https://a.example.com/', 'https://a.example.com.evil.org/'],
    ['münchen.example', 'https://xn--mnchen-3ya.example/', 'https://munchen.example/'],
    ['169.254.169.254', 'https://169.254.169.254/', 'https://1.169.254.169.254.example/'],
  ])('takes %s in NO_PROXY', (no, direct, proxied) => {
    const env = { HTTPS_PROXY: 'http://p:1', NO_PROXY: no };
    expect([at(direct, env), at(proxied, env)]).toEqual([undefined, 'p:1']);
    expect(unknownExemptions(env)).toEqual([]);
  });

  it('names what it does not understand in NO_PROXY', () => {
    const unknown = ['10.0.0.0/33', '10.0.0.1-10.0.0.9', 'http://a.example', '<local>', '[::1', 'a/8'];
    const env = { HTTPS_PROXY: 'http://p:1', no_proxy: ['b.example', ...unknown].join(',') };
    expect(unknownExemptions(env)).toEqual(unknown);
    expect(at('https://a.example', env)).toBe('p:1');
  });

  it('refuses a proxy that is none', () => {
    expect(() => at('https://a.example', { HTTPS_PROXY: 'socks5://p:1' })).toThrow(
      'HTTPS_PROXY is not an http or https URL',
    );
    const odd = 'http://me:100%@p:1';
    expect(() => at('https://a.example', { all_proxy: odd })).toThrow(
      'the user name or password in ALL_PROXY is not percent-encoded',
    );
  });
});
