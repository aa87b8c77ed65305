import { describe, expect, it } from 'vitest';
import { readConfig } from './config.ts';

const least = {
  DISPATCH_URLS: 'grpc://a:1, grpc://b:2',
  INTERNAL_TOKEN: 'shared-by-servers',
  AMQP_URL: 'amqp://x',
};

describe('readConfig()', () => {
  it('needs three settings and has a default for every other', () => {
    expect(readConfig(least)).toMatchObject({
      host: '127.0.0.1',
      port: 8081,
      dispatchUrls: ['grpc://a:1', 'grpc://b:2'],
      publicUrls: undefined,
      trustedProxies: [],
      logLevel: 'info',
      runnersEnabled: true,
    });
  });

  it.each([
    ['false', false],
    ['OFF', false],
    ['0', false],
    ['yes', true],
    ['1', true],
  ])('reads RUNNERS_ENABLED=%s', (text, value) => {
    expect(readConfig({ ...least, RUNNERS_ENABLED: text }).runnersEnabled).toBe(value);
  });

  it('refuses a RUNNERS_ENABLED that it cannot read', () => {
    expect(() => readConfig({ ...least, RUNNERS_ENABLED: 'flase' })).toThrow(
      'RUNNERS_ENABLED is "flase", expected true or false',
    );
  });

  it('names everything that is wrong at once, and no password', () => {
    const env = { AMQP_URL: 'http://user:hunter2@x', PORT: '99999', LOG_LEVEL: 'loud', INTERNAL_TOKEN: ' ' };
    expect(() => readConfig(env)).toThrow(
      /PORT is "99999".*\n.*DISPATCH_URLS is not set.*\n.*INTERNAL_TOKEN is not set.*\n.*AMQP_URL is not.*\n.*LOG_LEVEL is "loud"/,
    );
    expect(() => readConfig(env)).not.toThrow(/hunter2/);
    expect(() => readConfig({ ...least, METRICS_TOKEN: 'short' })).toThrow(/METRICS_TOKEN has 5 characters/);
    expect(() => readConfig({ ...least, TRUSTED_PROXIES: '10.0.0.0/8,proxy' })).toThrow(
      'TRUSTED_PROXIES holds "proxy" is not an address or a range like 10.0.0.0/8',
    );
  });
});
