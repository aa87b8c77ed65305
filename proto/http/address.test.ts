import { describe, expect, it } from 'vitest';
import { addressList, networkOf, readAddress } from './address.ts';

describe('readAddress()', () => {
  it.each([
    ['192.0.2.1', '192.0.2.1'],
    [' 192.0.2.1:5678', '192.0.2.1'],
    ['"192.0.2.1:5678"', '192.0.2.1'],
    ['::ffff:192.0.2.1', '192.0.2.1'],
    ['::FFFF:c000:0201', '192.0.2.1'],
    ['0:0:0:0:0:ffff:192.0.2.1', '192.0.2.1'],
    ['[::ffff:192.0.2.1]:443', '192.0.2.1'],
    ['2001:DB8::1', '2001:db8::1'],
    ['[2001:db8::1]:99', '2001:db8::1'],
    ['[2001:db8::1]', '2001:db8::1'],
    ['"[::1]:99"', '::1'],
    ['fe80::1%eth0', 'fe80::1'],
    ['::ffff:0:1', '0.0.0.1'],
    ['::ffff:0:0:1', '::ffff:0:0:1'],
  ])('reads %s', (text, address) => {
    expect(readAddress(text)).toBe(address);
  });

  it.each([
    '',
    'unknown',
    '_hidden',
    '1.2.3',
    '1.2.3.4.5',
    '01.2.3.4',
    '[::1',
    '::1]',
    'a:b',
    '[1.2.3.4]x',
    '1.2.3.4:port',
    '::1::',
  ])('knows that %j is no address', (text) => {
    expect(readAddress(text)).toBeUndefined();
    expect(networkOf(text)).toBe('');
  });
});

describe('networkOf()', () => {
  it('is an IPv4 address itself, however it is written', () => {
    for (const address of ['192.0.2.1', '::ffff:192.0.2.1', '::ffff:c000:201', '192.0.2.1:80'])
      expect([address, networkOf(address)]).toEqual([address, '192.0.2.1']);
  });

  it('is the /64 of an IPv6 address, however it is written', () => {
    for (const address of [
      '2001:db8:0:1::5',
      '2001:0DB8:0000:0001:aa:bb:cc:dd',
      '2001:db8::1:0:0:0:9%eth0',
      '[2001:db8:0:1::7]:443',
    ])
      expect([address, networkOf(address)]).toEqual([address, '2001:db8:0:1']);
    expect(networkOf('2001:db8:0:2::5')).toBe('2001:db8:0:2');
    expect(networkOf('::1')).toBe('0:0:0:0');
    expect(networkOf('fe80::1')).toBe('fe80:0:0:0');
  });
});

describe('addressList()', () => {
  it('knows addresses and ranges, IPv4 also in its IPv6 forms and with a port', () => {
    const isProxy = addressList(['10.0.0.0/8', '192.0.2.7', 'fd00::/8']);
    for (const address of [
      '10.1.2.3',
      '10.1.2.3:99',
      '::ffff:10.1.2.3',
      '::ffff:a01:203',
      '192.0.2.7',
      'fd12::1',
      '[fd12::1]:9',
    ])
      expect([address, isProxy(address)]).toEqual([address, true]);
    for (const address of ['11.0.0.1', '192.0.2.8', 'fe80::1', '::1', '', 'proxy', 'unknown'])
      expect([address, isProxy(address)]).toEqual([address, false]);
  });

  it('is empty by default and refuses what is no address', () => {
    expect(addressList([])('127.0.0.1')).toBe(false);
    for (const wrong of [
      'localhost',
      '10.0.0.0/33',
      '10.0.0.0/x',
      '/8',
      '10.0.0.0/',
      '10.0.0.0/8/8',
      '::/129',
      '10.0.0.0/1e1',
    ])
      expect(() => addressList([wrong])).toThrow(/not an address or a range/);
  });
});
