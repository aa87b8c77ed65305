import { describe, expect, it } from 'vitest';
import { ConfigError, readConfig } from './config.ts';
import { identityFeature } from './connect/identity/index.ts';
import { registriesFeature } from './engine/registries/index.ts';
import { workFeature } from './engine/work/index.ts';
import { switchesFeature } from './switches/index.ts';

function problemsOf(env: Record<string, string>): string {
  try {
    readConfig(env);
  } catch (error) {
    if (error instanceof ConfigError) return error.message;
    throw error;
  }
  return '';
}

describe('readConfig()', () => {
  it('runs with nothing set', () => {
    const config = readConfig({});
    expect(config).toMatchObject({
      // Whoever wants to be reached from elsewhere says so.
      host: '127.0.0.1',
      internalHost: '127.0.0.1',
      port: 8080,
      mode: 'all-in-one',
      roles: { api: true, worker: true },
    });
    expect(config.of(switchesFeature).runnersEnabled).toBe(true);
    expect(config.of(workFeature).strikesMax).toBe(3);
    expect(config.databaseUrl).toBeUndefined();
  });

  it('treats an empty variable as not set', () => {
    expect(readConfig({ PORT: '', DATABASE_URL: ' ' }).port).toBe(8080);
  });

  it('takes id_tokens of two fixed issuers, which only tests replace, for an audience that no other service has', () => {
    const issuers = readConfig({})
      .of(identityFeature)
      .oidcIssuers.map(({ issuer, jwksUrl }) => `${issuer} ${jwksUrl}`);
    expect(issuers).toEqual([
      'https://token.actions.githubusercontent.com https://token.actions.githubusercontent.com/.well-known/jwks',
      'https://gitlab.com https://gitlab.com/oauth/discovery/keys',
    ]);
    const replaced = { OIDC_ISSUERS: 'gitlab=http://127.0.0.1:1 http://127.0.0.1:1/keys' };
    expect(problemsOf(replaced)).toContain('OIDC_ISSUERS is set, and the issuers are fixed');
    const forTests = readConfig({ ...replaced, WEBHOOKS_ALLOW_PRIVATE: 'true' }).of(
      identityFeature,
    ).oidcIssuers;
    expect(forTests.map(({ issuer }) => issuer)).toEqual([
      'https://token.actions.githubusercontent.com',
      'http://127.0.0.1:1',
    ]);
    const typo = { OIDC_ISSUERS: 'gitea=http://127.0.0.1:1', WEBHOOKS_ALLOW_PRIVATE: 'true' };
    expect(problemsOf(typo)).toContain('holds "gitea=http://127.0.0.1:1"');
    for (const audience of ['https://github.com/acme', 'https://gitlab.com', 'https://GitLab.com/'])
      expect(problemsOf({ OIDC_AUDIENCE: audience })).toContain(`OIDC_AUDIENCE is "${audience}"`);
    expect(readConfig({ OIDC_AUDIENCE: 'https://svc.example.com' }).of(identityFeature).oidcAudience).toBe(
      'https://svc.example.com',
    );
  });

  it('names every problem at once, with variable, value and what is allowed', () => {
    const text = problemsOf({
      PORT: '99999',
      RUNNERS_ENABLED: 'maybe',
      LOG_LEVEL: 'loud',
      SVC_ROLES: 'api,cook',
      METRICS_TOKEN: 'short',
      HOST: '127.0.0.1:8080',
      TRUSTED_PROXIES: '10.0.0.0/8, 10.0.0.0/64',
    });
    expect(text).toContain('PORT is "99999", expected a whole number from 0 to 65535');
    expect(text).toContain('RUNNERS_ENABLED is "maybe", expected true or false');
    expect(text).toContain('LOG_LEVEL is "loud", expected one of');
    expect(text).toContain('SVC_ROLES is "api,cook"');
    expect(text).toContain('METRICS_TOKEN has 5 characters, expected at least 16');
    expect(text).toContain('HOST is "127.0.0.1:8080", expected an address or a name without a port');
    expect(text).toContain('TRUSTED_PROXIES holds "10.0.0.0/64" is not an address or a range');
  });

  it.each<[Record<string, string>, string]>([
    [{ HOST: 'not_a_host!' }, 'HOST is "not_a_host!", expected an address or a name'],
    [
      { INTERNAL_HOST: 'http://10.0.0.1' },
      'INTERNAL_HOST is "http://10.0.0.1", expected an address or a name',
    ],
    [{ VAULT_TRANSIT_MOUNT: '../sys' }, 'VAULT_TRANSIT_MOUNT is "../sys", expected names of letters'],
    [{ VAULT_TRANSIT_MOUNT: 'transit/' }, 'VAULT_TRANSIT_MOUNT is "transit/", expected names of letters'],
    [{ VAULT_TRANSIT_MOUNT: 'a?list=true' }, 'VAULT_TRANSIT_MOUNT is "a?list=true", expected names'],
    [{ VAULT_KEY_PREFIX: '../x' }, 'VAULT_KEY_PREFIX is "../x", expected 1 to 64 letters'],
    [{ VAULT_ADDR: 'http://127.0.0.1:8200' }, 'VAULT_ADDR is set and VAULT_TOKEN is not'],
    [
      { SIGSTORE_TRUSTED_ROOT: '/nonexistent/root.json' },
      'SIGSTORE_TRUSTED_ROOT is "/nonexistent/root.json", expected a file',
    ],
    [
      { SIGSTORE_TRUSTED_ROOT: '/tmp' },
      'SIGSTORE_TRUSTED_ROOT is "/tmp", expected a file that can be read: it is none',
    ],
    [
      { LOCAL_REGISTRY: '127.0.0.1:70000' },
      'LOCAL_REGISTRY is "127.0.0.1:70000", expected auto, off, or a host',
    ],
    [{ STRIPE_SECRET_KEY: 'sk_test_12345' }, 'STRIPE_SECRET_KEY is set and STRIPE_WEBHOOK_SECRETS is not'],
    [{ STRIPE_WEBHOOK_SECRETS: 'whsec_12345' }, 'STRIPE_WEBHOOK_SECRETS is set and STRIPE_SECRET_KEY is not'],
    [{ BILLING_TAX: 'automatic' }, 'BILLING_TAX is "automatic" and STRIPE_SECRET_KEY is not set'],
  ])('refuses %o', (env, said) => expect(problemsOf(env)).toContain(said));

  it.each<Record<string, string>>([
    { HOST: '::1' },
    { HOST: 'fe80::1%eth0' },
    { HOST: 'build-7.example.com' },
    { VAULT_TRANSIT_MOUNT: 'team-a/transit.2' },
    { STRIPE_SECRET_KEY: 'sk_test_12345', STRIPE_WEBHOOK_SECRETS: 'whsec_12345', BILLING_TAX: 'automatic' },
  ])('takes %o', (env) => expect(problemsOf(env)).toBe(''));

  it('takes name servers by address', () => {
    expect(readConfig({}).dnsServers).toEqual([]);
    expect(readConfig({ DNS_SERVERS: '192.0.2.53, [2001:db8::53]:5353' }).dnsServers).toEqual([
      '192.0.2.53',
      '[2001:db8::53]:5353',
    ]);
    expect(problemsOf({ DNS_SERVERS: '192.0.2.53,dns.example.com' })).toContain(
      'DNS_SERVERS holds "dns.example.com", expected IP addresses with a port if any',
    );
  });

  it('reads hosts of plain registries in the one form in which they are compared', () => {
    expect(
      readConfig({ INSECURE_REGISTRIES: 'Registry.Internal:5000, 10.0.0.7' }).of(registriesFeature)
        .insecureRegistries,
    ).toEqual(['registry.internal:5000', '10.0.0.7']);
    expect(problemsOf({ INSECURE_REGISTRIES: 'http://registry.internal' })).toContain(
      'INSECURE_REGISTRIES holds "http://registry.internal": expected a host alone',
    );
  });

  it('does not repeat an address that may hold a password', () => {
    expect(problemsOf({ DATABASE_URL: 'mysql://u:hunter2@h/db' })).toMatch(
      /^(?!.*hunter2)[\s\S]*DATABASE_URL/,
    );
  });

  it('refuses split mode without a broker and a token', () => {
    const text = problemsOf({ SVC_MODE: 'split' });
    expect(text).toContain('AMQP_URL');
    expect(text).toContain('INTERNAL_TOKEN');
  });

  it.each(['-1', '1.5', '1e3', '0x10', 'NaN', '１２'])('refuses %s as a number', (value) => {
    expect(problemsOf({ PORT: value })).toContain('PORT is');
  });

  it('refuses a lease shorter than three heartbeats', () => {
    expect(problemsOf({ LEASE_MS: '20000' })).toContain('LEASE_MS is 20000');
  });

  it('wants 32 bytes as the key-encryption key', () => {
    expect(problemsOf({ SECRETS_KEY: 'c2hvcnQ=' })).toContain('decodes to 5 bytes, expected 32');
    expect(readConfig({ SECRETS_KEY: Buffer.alloc(32, 7).toString('base64') }).secretsKey).toHaveLength(32);
  });
});
