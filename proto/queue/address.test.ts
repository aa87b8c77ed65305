import { describe, expect, it } from 'vitest';
import { Wrong } from '../process/settings.ts';
import { readBrokerAddress } from './address.ts';

const read = (text: string) => {
  const address = readBrokerAddress(text);
  if (address instanceof Wrong) throw new Error(address.why);
  return address;
};

describe('readBrokerAddress()', () => {
  it('reads one host or several, with their ports or the usual one', () => {
    expect(read('amqp://h').hosts).toEqual(['h:5672']);
    expect(read('amqps://h').hosts).toEqual(['h:5671']);
    expect(read('amqp://u:p@h1:5673, h2,10.0.0.3:1/v').hosts).toEqual(['h1:5673', 'h2:5672', '10.0.0.3:1']);
  });

  it('reads who logs in, and where', () => {
    expect(read('amqps://al%40ice:p%3Aw:x@h1,h2/my%2Fhost')).toEqual({
      hosts: ['h1:5671', 'h2:5671'],
      username: 'al@ice',
      password: 'p:w:x',
      vhost: 'my/host',
      tls: true,
    });
    expect(read('amqp://h/')).toMatchObject({ username: 'guest', password: 'guest', vhost: '/', tls: false });
  });

  it.each([
    ['http://h', 'is not of the form amqp://'],
    ['amqp://u:hunter2', 'as host 1 of 1'],
    ['amqp://u:hun@ter2@h', 'percent-encoded'],
    ['amqp://u:hun/ter2@h', 'percent-encoded'],
    ['amqp://u:hunter2%@h', 'write %25'],
    ['amqp://u:hunter2@h1,,h3/v', 'as host 2 of 3'],
    ['amqp://u:hunter2@h1:0,h2', 'as host 1 of 2'],
    ['amqp://u:hunter2@h1,h2:99999', 'as host 2 of 2'],
    ['amqp://u:hunter2@[::1]:5672', 'an IPv6 address needs a name'],
    ['amqp://u:hunter2@', 'as host 1 of 1'],
    ['amqp://h?heartbeat=60', 'is not of the form'],
  ])('refuses %s', (text, why) => {
    expect(readBrokerAddress(text)).toMatchObject({ why: expect.stringContaining(why) as string });
    expect(JSON.stringify(readBrokerAddress(text))).not.toMatch(/hun|ter2/);
  });
});
