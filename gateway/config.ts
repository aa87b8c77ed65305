/** Defines every setting of the gateway as a process of its own, one record each. */
import {
  expected,
  number,
  parts,
  readSettings,
  required,
  secret,
  Wrong,
  type Environment,
  type SettingsOf,
} from '@svc/proto/process/settings.ts';
import {
  host,
  listenPort,
  logLevel,
  metricsToken,
  publicUrls,
  runnersEnabled,
  stopGrace,
  trustedProxies,
} from '@svc/proto/process/shared-settings.ts';
import { brokerUrl } from '@svc/proto/queue/address.ts';

export const SETTINGS = {
  host,
  port: listenPort('PORT', 'Port of the machine endpoints. 0 takes any free one.', 8_081),
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
  publicUrls: publicUrls('Addresses at which runners reach the gateways; they sign for them.'),
  trustedProxies: trustedProxies('Addresses and ranges of proxies in front of this gateway.'),
  logLevel,
  metricsToken: metricsToken('nobody reads it'),
  runnersEnabled,
  stopGraceMs: stopGrace('How long a stop waits for claims under way and open requests.'),
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
