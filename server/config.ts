/** Every setting of the server as one record, and what must hold between them. */
import { isIPv6 } from 'node:net';
import { resolve } from 'node:path';
import {
  address,
  asIs,
  choice,
  expected,
  flag,
  isUrl,
  number,
  optional,
  parts,
  ranges,
  readSettings,
  secret,
  text,
  webAddresses,
  Wrong,
  type Environment,
  type Setting,
  type SettingsOf,
} from '@svc/proto/process/settings.ts';
import { isDefaultAudience, parseIssuers } from './connect/ci/oidc/issuers.ts';
import type { Issuer } from './connect/ci/oidc/issuers.ts';
import { parseHost } from './engine/registries/host.ts';
import { isDnsServer } from './platform/dns.ts';

export { ConfigError } from '@svc/proto/process/settings.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

const limit = (name: string, fallback: number, about: string): Setting<number> =>
  number(name, { about, fallback, min: 1, max: 10_000_000 });

const sessionTime = (name: string, fallback: number, about: string): Setting<number> =>
  number(name, { about, unit: 'ms', fallback, min: 1_000, max: 90 * DAY });

/** Times of dispatch; tests and the fault suite shorten them. */
const dispatchTime = (name: string, fallback: number, about: string): Setting<number> =>
  number(name, { about, unit: 'ms', fallback, min: 10, max: HOUR });

const version = (name: string, about: string): Setting<string> =>
  text(name, {
    about,
    type: 'version',
    fallback: '',
    parse: (given) =>
      given === '' || /^\d{1,6}\.\d{1,6}\.\d{1,6}$/.test(given)
        ? given
        : expected(given, 'three numbers such as 1.2.0'),
  });

export const SETTINGS = {
  host: text('HOST', {
    about:
      'Address that is listened on. The default is this machine alone; `0.0.0.0` or `::` is every address of the machine.',
    type: 'address',
    fallback: '127.0.0.1',
    parse: (given) =>
      /[\s/:]/.test(given) && !isIPv6(given)
        ? expected(given, 'an address or a name without a port, such as 127.0.0.1 or 0.0.0.0')
        : given,
  }),
  port: number('PORT', {
    about: 'Port of REST, Connect, gRPC and the console. 0 takes any free one.',
    fallback: 8080,
    min: 0,
    max: 65_535,
  }),
  internalHost: text('INTERNAL_HOST', {
    about: 'Address of the internal gRPC for gateways, where they are processes of their own.',
    type: 'address',
    fallback: '127.0.0.1',
    parse: asIs,
  }),
  internalPort: number('INTERNAL_PORT', {
    about: 'Port of the internal gRPC.',
    fallback: 8081,
    min: 0,
    max: 65_535,
  }),
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
  databaseUrl: optional('DATABASE_URL', {
    about: 'PostgreSQL. Several hosts may be named in one address.',
    type: 'postgres://…',
    absent: 'a PostgreSQL is started in `DATA_DIR`',
    parse: address('postgres:', 'postgresql:'),
  }),
  databaseConnections: number('DATABASE_CONNECTIONS', {
    about: 'Connections to PostgreSQL of this process.',
    fallback: 10,
    min: 2,
    max: 200,
  }),
  amqpUrl: optional('AMQP_URL', {
    about: 'RabbitMQ.',
    type: 'amqp://… or amqps://…',
    absent: 'a queue in this process',
    parse: address('amqp:', 'amqps:'),
  }),
  publicUrls: optional('PUBLIC_URLS', {
    about: 'Addresses at which clients and runners reach the platform; runners sign for them.',
    type: 'http(s) addresses, separated by commas',
    absent: 'the loopback names at `PORT`',
    parse: webAddresses,
  }),
  trustedProxies: text('TRUSTED_PROXIES', {
    about:
      'Addresses and ranges of proxies in front of this server. Without it all who come through a proxy are counted as one client.',
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
    absent: 'one is made from the key-encryption key, in `DATA_DIR/metrics.token`',
    parse: secret(16),
  }),
  logRetentionDays: number('LOG_RETENTION_DAYS', {
    about: 'How long output of runs and builds is kept. It must outlive all attempts of a run.',
    unit: 'days',
    fallback: 90,
    min: 7,
    max: 3_650,
  }),
  jobRunnerEnabled: flag('JOB_RUNNER_ENABLED', {
    about: 'State of the feature `host.job_runner`, which nothing else switches.',
    fallback: false,
  }),
  runnersEnabled: flag('RUNNERS_ENABLED', {
    about: 'Off, runners receive no work. Set it at servers and gateways alike.',
    fallback: true,
  }),
  companionUrl: optional('COMPANION_URL', {
    about: 'Companion service whose features staff see beside these.',
    type: 'http(s) address',
    absent: 'none',
    parse: address('http:', 'https:'),
  }),
  traceViewerUrl: optional('TRACE_VIEWER_URL', {
    about: 'Where traces of builds are looked at, with `{traceId}` in it.',
    type: 'http(s) address',
    absent: "the build's page in the console",
    parse: (given) =>
      given.includes('{traceId}') && isUrl(given.replaceAll('{traceId}', '0'), ['http:', 'https:'])
        ? given
        : expected(given, 'an http:// or https:// address with {traceId} in it'),
  }),
  localRegistry: text('LOCAL_REGISTRY', {
    about: "The service's own registry, for teams without one. It is spoken to over plain HTTP.",
    type: 'host:port',
    fallback: '127.0.0.1:5000',
    parse: (given) =>
      /^[a-z0-9]([a-z0-9.-]*[a-z0-9])?(:\d{1,5})?$/.test(given)
        ? given
        : expected(given, 'a host with a port if any, such as 127.0.0.1:5000'),
  }),
  insecureRegistries: text('INSECURE_REGISTRIES', {
    about: 'Registries of teams, besides loopback ones, that may be spoken to over plain HTTP.',
    type: 'hosts with a port if any, separated by commas',
    fallback: '',
    parse: readInsecureRegistries,
  }),
  builderImage: text('BUILDER_IMAGE', {
    about: 'Builder image of buildpack builds, with its digest. Empty takes the one that the runner pins.',
    type: 'image with digest',
    fallback: '',
    parse: (given) =>
      given === '' || /^[a-z0-9][^\s@]*@sha256:[0-9a-f]{64}$/.test(given)
        ? given
        : expected(given, 'an image with its digest: <name>@sha256:<64 digits>'),
  }),
  strikesMax: number('RUNNER_DURATION_DIVERGENCE_STRIKE_THRESHOLD', {
    about: 'Strikes for diverging durations from which a runner receives no work.',
    fallback: 3,
    min: 1,
    max: 1_000,
  }),
  minVersion: version(
    'RUNNER_MIN_VERSION',
    'Runners below it are given no new work. Empty takes any version.',
  ),
  recommendedVersion: version(
    'RUNNER_RECOMMENDED_VERSION',
    'Runners below it are advised to upgrade. Empty advises none.',
  ),
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
  oidcAudience: optional('OIDC_AUDIENCE', {
    about: 'Audience that id_tokens of CI jobs must be made for.',
    type: 'text',
    absent: 'the first public address',
    parse: (given) =>
      isDefaultAudience(given)
        ? new Wrong(
            `is "${given}", which every id_token of GitHub or GitLab has that names no audience; expected one of this service alone, such as its address`,
          )
        : given,
  }),
  oidcIssuers: text('OIDC_ISSUERS', {
    about:
      'Replaces the issuers of id_tokens, which are fixed, in tests; it needs `WEBHOOKS_ALLOW_PRIVATE=true`.',
    type: 'issuers, separated by commas',
    fallback: '',
    parse: readIssuers,
  }),
  stopGraceMs: number('STOP_GRACE_MS', {
    about: 'How long a stop waits for what is under way.',
    unit: 'ms',
    fallback: 10_000,
    min: 0,
    max: 300_000,
  }),
  limits: {
    requestsPerMinute: limit(
      'LIMIT_REQUESTS_PER_MINUTE',
      6_000,
      'Requests a minute of one API key or session.',
    ),
    submitsPerMinute: limit(
      'LIMIT_SUBMITS_PER_MINUTE',
      60_000,
      'Submissions a minute of one API key or session.',
    ),
    loginsPerMinute: limit(
      'LIMIT_LOGINS_PER_MINUTE',
      20,
      'Calls of sign-in and the like a minute from one address.',
    ),
    anonymousPerMinute: limit(
      'LIMIT_ANONYMOUS_PER_MINUTE',
      600,
      'Requests a minute from one address without a credential.',
    ),
    bodyMibPerMinute: number('LIMIT_BODY_MIB_PER_MINUTE', {
      about:
        'Request bodies read in a minute for one API key or session, with compression undone. All callers at one address have four times as much, callers without a credential a twentieth.',
      unit: 'MiB',
      fallback: 300,
      min: 1,
      max: 10_000_000,
    }),
    pagesPerMinute: limit(
      'LIMIT_PAGES_PER_MINUTE',
      1_200,
      'Console pages and files, and `/openapi.json`, a minute for one network.',
    ),
    apiKeysMax: limit('LIMIT_API_KEYS', 100, 'API keys of one account.'),
    teamsMax: limit('LIMIT_TEAMS', 50, 'Teams that one account owns.'),
    environmentsPerProjectMax: limit('LIMIT_ENVIRONMENTS_PER_PROJECT', 200, 'Environments of one project.'),
    runnersPerTeamMax: limit('LIMIT_RUNNERS_PER_TEAM', 1_000, 'Runners of one team.'),
    queuedRunsPerTeamMax: limit('LIMIT_QUEUED_RUNS_PER_TEAM', 10_000, 'Sandbox runs of one team that wait.'),
    /** Server streams that are open at once: followed logs, watched lists, exports. */
    streams: {
      perCredentialMax: limit(
        'LIMIT_STREAMS_PER_CREDENTIAL',
        200,
        'Open streams of one API key or session, and of one network for callers without a credential.',
      ),
      perAccountMax: limit(
        'LIMIT_STREAMS_PER_ACCOUNT',
        500,
        'Open streams of all keys and sessions of one account.',
      ),
      perConnectionMax: limit(
        'LIMIT_STREAMS_PER_CONNECTION',
        100,
        'Open streams of one connection that no trusted proxy made. Below the 128 requests at once of an HTTP/2 connection, calls still find a place.',
      ),
    },
  },
  sessions: {
    idleMs: sessionTime('SESSION_IDLE_MS', 12 * HOUR, 'A session ends after this long without a request.'),
    absoluteMs: sessionTime('SESSION_ABSOLUTE_MS', 7 * DAY, 'A session ends this long after its sign-in.'),
    staffIdleMs: sessionTime(
      'SESSION_STAFF_IDLE_MS',
      30 * MINUTE,
      'The same without a request, for staff accounts.',
    ),
    staffAbsoluteMs: sessionTime(
      'SESSION_STAFF_ABSOLUTE_MS',
      12 * HOUR,
      'The same after the sign-in, for staff accounts.',
    ),
  },
  dispatch: {
    pollWaitMs: number('POLL_WAIT_MS', {
      about: 'How long a poll of a runner waits for work.',
      unit: 'ms',
      fallback: 30_000,
      min: 10,
      max: 50_000,
    }),
    heartbeatMs: dispatchTime('HEARTBEAT_MS', 15_000, 'Time between heartbeats of a runner.'),
    offerMs: dispatchTime('OFFER_MS', 15_000, 'How long an offer waits for the first heartbeat.'),
    leaseMs: dispatchTime('LEASE_MS', 60_000, 'Lease of work that runs, at least three heartbeats.'),
    graceMs: dispatchTime('LEASE_GRACE_MS', 2_000, 'How long after its end a lease is still honoured.'),
    sweepEveryMs: dispatchTime('SWEEP_EVERY_MS', 2_000, 'Time between searches for leases that have ended.'),
    relayEveryMs: dispatchTime('RELAY_EVERY_MS', 1_000, 'Time between searches for unsent pointers to work.'),
    silentMs: dispatchTime(
      'RUNNER_SILENT_MS',
      60_000,
      'A runner is silent after this long without a heartbeat, at least two of them.',
    ),
    stuckMs: dispatchTime('RUNNER_STUCK_MS', 60_000, 'Work counts as stuck after it has waited this long.'),
    watchEveryMs: dispatchTime(
      'RUNNER_WATCH_EVERY_MS',
      5_000,
      'Time between searches for teams without a working runner.',
    ),
  },
};

export type Config = SettingsOf<typeof SETTINGS>;
export type Limits = Config['limits'];
export type StreamLimits = Limits['streams'];
export type SessionTimes = Config['sessions'];
export type DispatchTimes = Config['dispatch'];
export type LogLevel = Config['logLevel'];

/** Token bucket: `count` calls in `windowMs`, refilled evenly. */
export interface RateRule {
  readonly count: number;
  readonly windowMs: number;
}

export function readConfig(env: Environment): Config {
  return readSettings(SETTINGS, env, (config, problem) => {
    crossCheck(config, problem);
    if (parts(env['OIDC_ISSUERS'] ?? '').length > 0 && !config.webhooksAllowPrivate)
      problem(
        'OIDC_ISSUERS is set, and the issuers are fixed: tests replace them, and set WEBHOOKS_ALLOW_PRIVATE=true with it',
      );
  });
}

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

function readInsecureRegistries(given: string): readonly string[] | Wrong {
  const hosts: string[] = [];
  for (const part of parts(given)) {
    const parsed = parseHost(part);
    if ('problem' in parsed) return new Wrong(`holds "${part}": ${parsed.problem}`);
    hosts.push(parsed.host);
  }
  return hosts;
}

function readDnsServers(given: string): readonly string[] | Wrong {
  const bad = parts(given).find((server) => !isDnsServer(server));
  return bad === undefined
    ? parts(given)
    : new Wrong(
        `holds "${bad}", expected IP addresses with a port if any, such as 192.0.2.53 or [2001:db8::53]:5353`,
      );
}

function readIssuers(given: string): readonly Issuer[] | Wrong {
  const issuers = parseIssuers(parts(given));
  return typeof issuers === 'string' ? new Wrong(issuers) : issuers;
}

/** What no single setting can see. */
function crossCheck(config: Config, problem: (text: string) => void): void {
  const { dispatch, sessions } = config;
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
  if (!config.roles.api && config.mode === 'all-in-one' && config.amqpUrl === undefined)
    problem(
      'SVC_ROLES is "worker" without AMQP_URL: a worker of its own needs the broker that its servers use',
    );
  if (dispatch.leaseMs < 3 * dispatch.heartbeatMs)
    problem(
      `LEASE_MS is ${dispatch.leaseMs} and HEARTBEAT_MS ${dispatch.heartbeatMs}, expected a lease of at least three heartbeats`,
    );
  if (dispatch.silentMs < 2 * dispatch.heartbeatMs)
    problem(
      `RUNNER_SILENT_MS is ${dispatch.silentMs} and HEARTBEAT_MS ${dispatch.heartbeatMs}, expected at least two heartbeats`,
    );
  if (sessions.idleMs > sessions.absoluteMs || sessions.staffIdleMs > sessions.staffAbsoluteMs)
    problem(
      'SESSION_IDLE_MS is longer than SESSION_ABSOLUTE_MS (or the staff pair is), expected idle ≤ absolute',
    );
}
