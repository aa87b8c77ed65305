/** Defines every setting of the gateway as a process of its own, one record each. */
import {
  bindHost,
  choice,
  expected,
  flag,
  number,
  optional,
  parts,
  ranges,
  readSettings,
  required,
  secret,
  text,
  webAddresses,
  Wrong,
  type Environment,
  type SettingsOf,
} from '@svc/proto/process/settings.ts';
import { brokerUrl } from '@svc/proto/queue/address.ts';

export const SETTINGS = {
  host: text('HOST', {
    about:
      'Address that is listened on. The default is this machine alone; `0.0.0.0` or `::` is every address of the machine.',
    type: 'address',
    fallback: '127.0.0.1',
    parse: bindHost,
  }),
  port: number('PORT', {
    about: 'Port of the machine endpoints. 0 takes any free one.',
    fallback: 8081,
    min: 0,
    max: 65_535,
  }),
  dispatchUrls: required('DISPATCH_URLS', {
    about: 'Internal gRPC of the servers.',
    type: 'grpc://host:port, separated by commas',
    what: 'addresses of servers, grpc://host:port, separated by commas',
    parse: readServers,
  }),
  internalToken: required('INTERNAL_TOKEN', {
    about: 'Secret that servers and gateways share.',
    type: 'secret',
    what: 'the secret that the servers were given',
    parse: secret(16),
  }),
  amqpUrl: required('AMQP_URL', {
    about:
      'RabbitMQ that the servers use: `amqp://user:password@h1:5672,h2:5672,h3/vhost`. With several hosts, the nodes of a cluster, one is taken by random, and the next one when it is lost.',
    type: 'amqp://… or amqps://…',
    what: 'amqp://… of the broker that the servers use',
    parse: brokerUrl,
  }),
  publicUrls: optional('PUBLIC_URLS', {
    about: 'Addresses at which runners reach the gateways; they sign for them.',
    type: 'http(s) addresses, separated by commas',
    absent: 'the loopback names at `PORT`',
    parse: webAddresses,
  }),
  trustedProxies: text('TRUSTED_PROXIES', {
    about: 'Addresses and ranges of proxies in front of this gateway.',
    type: 'addresses and ranges, separated by commas',
    fallback: '',
    parse: ranges,
  }),
  logLevel: choice('LOG_LEVEL', {
    about: 'Least level of the lines that are logged.',
    values: ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'],
    fallback: 'info',
  }),
  metricsToken: optional('METRICS_TOKEN', {
    about: 'Bearer credential of whoever reads `/metrics`, at least 16 characters.',
    type: 'secret',
    absent: 'nobody reads it',
    parse: secret(16),
  }),
  runnersEnabled: flag('RUNNERS_ENABLED', {
    about: 'Off, runners receive no work. Set it at servers and gateways alike.',
    fallback: true,
  }),
  stopGraceMs: number('STOP_GRACE_MS', {
    about: 'How long a stop waits for claims under way and open requests.',
    unit: 'ms',
    fallback: 10_000,
    min: 0,
    max: 300_000,
  }),
  signatureFailuresBurst: number('SIGNATURE_FAILURES_BURST', {
    about: 'Refused signatures of one address before it has to wait; one comes back each second.',
    fallback: 60,
    min: 1,
    max: 1_000_000,
  }),
  callsPerSecond: number('RUNNER_CALLS_PER_SECOND', {
    about: 'Calls each second of one runner, on average.',
    fallback: 2_000,
    min: 1,
    max: 1_000_000,
  }),
};

function readServers(given: string): readonly string[] | Wrong {
  const all = parts(given);
  const wrong = all.find((each) => !/^grpc:\/\/(\[[\da-f:.]+\]|[\w.-]+):\d{1,5}$/i.test(each));
  if (wrong !== undefined) return new Wrong(`holds "${wrong}", expected grpc://host:port`);
  return all.length > 0 ? all : expected(given, 'at least one grpc://host:port');
}

export type Config = SettingsOf<typeof SETTINGS>;

/**
 * Throws one error that names everything wrong at once. Values are not repeated where they may hold a
 * password.
 */
export function readConfig(env: Environment): Config {
  return readSettings(SETTINGS, env, () => undefined);
}
