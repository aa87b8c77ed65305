import { describe, expect, it } from 'vitest';
import { proxyCheck } from './trusted-proxies.ts';

describe('proxyCheck()', () => {
  it('knows addresses and ranges of both families, and IPv4 in its IPv6 form', () => {
    const isProxy = proxyCheck(['10.0.0.0/8', '192.0.2.7', 'fd00::/8']);
    for (const address of ['10.1.2.3', '::ffff:10.1.2.3', '192.0.2.7', 'fd12::1'])
      expect([address, isProxy(address)]).toEqual([address, true]);
    for (const address of ['11.0.0.1', '192.0.2.8', 'fe80::1', '', 'unknown'])
      expect([address, isProxy(address)]).toEqual([address, false]);
  });

  it('trusts nobody by default and refuses what is no address', () => {
    expect(proxyCheck([])('127.0.0.1')).toBe(false);
    for (const wrong of ['localhost', '10.0.0.0/33', '10.0.0.0/x', '/8'])
      expect(() => proxyCheck([wrong])).toThrow(/trusted proxy/);
  });
});
