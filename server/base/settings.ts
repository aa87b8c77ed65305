/** The settings of the process itself, which belong to no feature, and what must hold between them. */
import { resolve } from 'node:path';
import {
  choice,
  expected,
  flag,
  number,
  optional,
  parts,
  secret,
  text,
  Wrong,
  type SettingsOf,
} from '@svc/proto/process/settings.ts';
import {
  host,
  listenHost,
  listenPort,
  logLevel,
  metricsToken,
  publicUrls,
  stopGrace,
  trustedProxies,
} from '@svc/proto/process/shared-settings.ts';
import { brokerUrl } from '@svc/proto/queue/address.ts';
import { readAddress } from './db/index.ts';
import { isDnsServer } from './dns.ts';
import { limits } from './limits.settings.ts';
import { mail } from './mail/mail.settings.ts';

export const PROCESS_SETTINGS = {
  host,
  port: listenPort('PORT', 'Port of REST, Connect, gRPC and the console. 0 takes any free one.', 8_080),
  internalHost: listenHost(
    'INTERNAL_HOST',
    'Address of the internal gRPC for gateways, where they are processes of their own.',
  ),
  internalPort: listenPort('INTERNAL_PORT', 'Port of the internal gRPC.', 8_081),
  internalToken: optional('INTERNAL_TOKEN', {
    about:
      'Secret that servers and gateways share, at least 16 characters. `openssl rand -base64 32` makes one.',
    type: 'secret',
    absent: 'none; it must be set with `SVC_MODE=split`',
    parse: secret(16),
  }),
  mode: choice('SVC_MODE', {
    about:
      '`all-in-one` serves the machine endpoints in this process, `split` leaves them to gateways, which need `AMQP_URL` and `INTERNAL_TOKEN`.',
    values: ['all-in-one', 'split'],
    fallback: 'all-in-one',
  }),
  roles: text('SVC_ROLES', {
    about:
      'What this process does: `api` answers requests, `worker` sweeps, relays and delivers. A worker alone needs `AMQP_URL`.',
    type: 'api, worker or both',
    fallback: 'api,worker',
    parse: readRoles,
  }),
  dataDir: text('DATA_DIR', {
    about: 'Folder of the embedded database, of keys that were made here, and of `bootstrap.json`.',
    type: 'folder',
    fallback: './.svc',
    parse: (given) => resolve(given),
  }),
  migrate: choice('MIGRATE', {
    about:
      'Migrations of the database: `auto` applies at start what is due, `only` applies it and ends, `off` refuses to start while something is due.',
    values: ['auto', 'only', 'off'],
    fallback: 'auto',
  }),
  databaseUrl: optional('DATABASE_URL', {
    about:
      'PostgreSQL. Several hosts may be named, with their ports: `postgres://user:password@h1:5432,h2:5432/name`. The first that accepts and takes writes is used, and the next one when it is lost; `target_session_attrs=any` takes a standby too, `read-write` asks for one that writes.',
    type: 'postgres://…',
    absent: 'a PostgreSQL is started in `DATA_DIR`',
    parse: databaseAddress,
  }),
  listenDatabaseUrl: optional('LISTEN_DATABASE_URL', {
    about:
      'The same database around a pooler that does not keep sessions, for LISTEN and for migrations. Needed only with a pooler in transaction mode.',
    type: 'postgres://…',
    absent: '`DATABASE_URL`',
    parse: databaseAddress,
  }),
  replicaUrl: optional('REPLICA_URL', {
    about:
      'A replica of the database, for reads that need not have the newest: exports of the audit ledger, usage, and the timeline from its second page on. It is used while it is reached and at most 5 seconds behind.',
    type: 'postgres://…',
    absent: 'these reads go to `DATABASE_URL`',
    parse: databaseAddress,
  }),
  databaseConnections: number('DATABASE_CONNECTIONS', {
    about: 'Connections to PostgreSQL of this process; of six or more two are for reads by key.',
    fallback: 10,
    min: 2,
    max: 200,
  }),
  amqpUrl: optional('AMQP_URL', {
    about:
      'RabbitMQ: `amqp://user:password@h1:5672,h2:5672,h3/vhost`. With several hosts, the nodes of a cluster, one is taken by random, and the next one when it is lost.',
    type: 'amqp://… or amqps://…',
    absent: 'a queue in this process',
    parse: brokerUrl,
  }),
  publicUrls: publicUrls('Addresses at which clients and runners reach the platform; runners sign for them.'),
  trustedProxies: trustedProxies(
    'Addresses and ranges of proxies in front of this server. Without it all who come through a proxy are counted as one client.',
  ),
  logLevel,
  metricsToken: metricsToken('one is made from the key-encryption key, in `DATA_DIR/metrics.token`'),
  secretsKey: optional('SECRETS_KEY', {
    about: 'Key-encryption key, 32 bytes. `openssl rand -base64 32` makes one.',
    type: 'base64',
    absent: 'made once and kept in `DATA_DIR`',
    parse: readSecretsKey,
  }),
  webhooksAllowPrivate: flag('WEBHOOKS_ALLOW_PRIVATE', {
    about:
      'Webhooks may go to this machine and to private networks, over http and to any port. For tests and development.',
    fallback: false,
  }),
  dnsServers: text('DNS_SERVERS', {
    about:
      'Name servers that are asked for the records which prove domains. Empty asks the resolvers of the system.',
    type: 'IP addresses with a port if any, separated by commas',
    fallback: '',
    parse: readDnsServers,
  }),
  stopGraceMs: stopGrace('How long a stop waits for what is under way.'),
  limits,
  mail,
};

export type ProcessSettings = SettingsOf<typeof PROCESS_SETTINGS> & {
  /** Says whether a variable is set, whatever to: an empty one is not. */
  readonly isSet: (name: string) => boolean;
};
export type Limits = ProcessSettings['limits'];
export type StreamLimits = Limits['streams'];

function readRoles(given: string): { readonly api: boolean; readonly worker: boolean } | Wrong {
  const names = parts(given);
  if (names.length === 0 || names.some((name) => name !== 'api' && name !== 'worker'))
    return expected(names.join(','), 'api, worker or both');
  return { api: names.includes('api'), worker: names.includes('worker') };
}

function readSecretsKey(given: string): Uint8Array | Wrong {
  const bytes = Buffer.from(given, 'base64');
  return bytes.length === 32
    ? bytes
    : new Wrong(
        `decodes to ${bytes.length} bytes, expected 32 in base64; make one with: openssl rand -base64 32`,
      );
}

function readDnsServers(given: string): readonly string[] | Wrong {
  const bad = parts(given).find((server) => !isDnsServer(server));
  return bad === undefined
    ? parts(given)
    : new Wrong(
        `holds "${bad}", expected IP addresses with a port if any, such as 192.0.2.53 or [2001:db8::53]:5353`,
      );
}

function databaseAddress(given: string): string | Wrong {
  const address = readAddress(given);
  return address instanceof Wrong ? address : given;
}

/** Says what no single setting can see. */
export function checkProcess(
  config: SettingsOf<typeof PROCESS_SETTINGS>,
  problem: (text: string) => void,
): void {
  if (config.mode === 'split' && config.amqpUrl === undefined)
    problem(
      'SVC_MODE is "split" and AMQP_URL is not set: gateways in other processes need a broker; set AMQP_URL or use SVC_MODE=all-in-one',
    );
  if (config.mode === 'split' && config.internalToken === undefined)
    problem(
      'SVC_MODE is "split" and INTERNAL_TOKEN is not set: gateways must prove themselves; make one with: openssl rand -base64 32',
    );
  if (config.mode === 'split' && config.internalPort === config.port && config.port !== 0)
    problem(`INTERNAL_PORT and PORT are both ${config.port}, expected two different ports`);
  for (const [name, value] of Object.entries({
    LISTEN_DATABASE_URL: config.listenDatabaseUrl,
    REPLICA_URL: config.replicaUrl,
  }))
    if (value !== undefined && config.databaseUrl === undefined)
      problem(`${name} is set and DATABASE_URL is not: it leads to the same database another way`);
  if (config.mail.smtp !== undefined && config.mail.from === undefined)
    problem('SMTP_URL is set and MAIL_FROM is not: mails need a sender, such as MAIL_FROM=svc@example.com');
  if (!config.roles.api && config.mode === 'all-in-one' && config.amqpUrl === undefined)
    problem(
      'SVC_ROLES is "worker" without AMQP_URL: a worker of its own needs the broker that its servers use',
    );
}
