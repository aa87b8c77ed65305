import { describe, expect, it } from 'vitest';
import { Wrong } from '@svc/proto/process/settings.ts';
import { hostName, readAddress } from './address.ts';

const read = (text: string) => {
  const address = readAddress(text);
  if (address instanceof Wrong) throw new Error(address.why);
  return address;
};
const hosts = (text: string): string => read(text).hosts.map(hostName).join(' ');

describe('readAddress()', () => {
  it('reads one host, several with their ports, IPv6 and Unix sockets', () => {
    expect(hosts('postgres://h')).toBe('h:5432');
    expect(hosts('postgresql://u:p@h1:5433,h2,[2001:db8::1]:6000/svc')).toBe(
      'h1:5433 h2:5432 [2001:db8::1]:6000',
    );
    expect(hosts('postgres:///svc')).toBe('localhost:5432');
    expect(hosts('postgres://h1,h2:1/svc?port=7000')).toBe('h1:7000 h2:1');
    expect(hosts('postgres:///svc?host=h1,h2&port=1,2')).toBe('h1:1 h2:2');
    expect(hosts('postgres://%2Frun%2Fpostgresql/svc')).toBe('/run/postgresql/.s.PGSQL.5432');
    expect(hosts('postgres:///svc?host=/tmp,h2&port=5433')).toBe('/tmp/.s.PGSQL.5433 h2:5433');
  });

  it('reads who logs in, where, and how', () => {
    expect(
      read('postgres://al%40ice:p%3Aw:x@h/my%20db?target_session_attrs=any&sslmode=verify-ca'),
    ).toMatchObject({
      user: 'al@ice',
      password: 'p:w:x',
      database: 'my db',
      target: 'any',
      ssl: 'verify-full',
    });
    expect(read('postgres://h')).toEqual({
      hosts: [{ name: 'h', port: 5432 }],
      target: undefined,
      ssl: false,
    });
  });

  it.each([
    ['mysql://h/db', 'is not of the form postgres://'],
    ['postgres://u:hunter2', 'has as its host what is none'],
    ['postgres://u:hun@ter2@h/db', 'percent-encoded'],
    ['postgres://u:hun/ter2@h/db', 'percent-encoded'],
    ['postgres://u:hunter2%@h/db', 'write %25'],
    ['postgres://u:hunter2@h1,,h3/db', 'as host 2 of 3'],
    ['postgres://u:hunter2@h1:0,h2/db', 'as host 1 of 2'],
    ['postgres://u:hunter2@h1,::1/db', 'as host 2 of 2'],
    ['postgres://u:hunter2@h1,h2/db?port=1,2,3', 'names 2 hosts and 3 ports'],
    ['postgres://h/db?target_session_attrs=standby', 'expected one of primary, read-write, any'],
    ['postgres://h/db?sslmode=on', 'expected one of disable'],
    ['postgres://h/db?statement_timeout=0', 'holds the parameter "statement_timeout"'],
  ])('refuses %s', (text, why) => {
    expect(readAddress(text)).toMatchObject({ why: expect.stringContaining(why) as string });
    expect(JSON.stringify(readAddress(text))).not.toMatch(/hun|ter2/);
  });
});
