/** Every setting of the server: its variable, unit, default, bounds, and what must hold between them. */
import { isIPv6 } from 'node:net';
import { resolve } from 'node:path';
import { addressList } from '@svc/proto/http/address.ts';
import { isDefaultAudience, parseIssuers } from './connect/ci/oidc/issuers.ts';
import type { Issuer } from './connect/ci/oidc/issuers.ts';
import { parseHost } from './engine/registries/host.ts';
import { isUrl, SettingsReader } from './settings.ts';
import type { Environment } from './settings.ts';

export { ConfigError } from './settings.ts';

export type LogLevel = 'fatal' | 'error' | 'warn' | 'info' | 'debug' | 'trace' | 'silent';

/** Token bucket: `count` calls in `windowMs`, refilled evenly. */
export interface RateRule {
  readonly count: number;
  readonly windowMs: number;
}

export interface Limits {
  /** Requests a minute of one API key or session. */
  readonly requestsPerMinute: number;
  /** Submissions a minute of one API key or session. */
  readonly submitsPerMinute: number;
  /** Calls of sign-in and the like a minute from one address, and requests a minute of callers without a credential. */
  readonly loginsPerMinute: number;
  readonly anonymousPerMinute: number;
  /**
   * Bodies read in a minute for one API key or session, in MiB with compression undone. All callers at one address: four times as much, callers without a
   * credential a twentieth.
   */
  readonly bodyMibPerMinute: number;
  /** Console pages and files, and `/openapi.json`, a minute for one network. */
  readonly pagesPerMinute: number;
  readonly apiKeysMax: number;
  readonly teamsMax: number;
  readonly environmentsPerProjectMax: number;
  readonly runnersPerTeamMax: number;
  readonly queuedRunsPerTeamMax: number;
  readonly streams: StreamLimits;
}

/** Server streams that are open at once: followed logs, watched lists, exports. */
export interface StreamLimits {
  /** Of one API key or session; of one network, for callers without a credential. */
  readonly perCredentialMax: number;
  /** Of all keys and sessions of one account. */
  readonly perAccountMax: number;
  /** Of one connection that no trusted proxy made. Below the 128 requests at once of an HTTP/2 connection, so that calls still find a place. */
  readonly perConnectionMax: number;
}

export interface SessionTimes {
  readonly idleMs: number;
  readonly absoluteMs: number;
  readonly staffIdleMs: number;
  readonly staffAbsoluteMs: number;
}

/** Times of dispatch; tests and the fault suite shorten them. */
export interface DispatchTimes {
  readonly pollWaitMs: number;
  readonly heartbeatMs: number;
  readonly offerMs: number;
  readonly leaseMs: number;
  readonly graceMs: number;
  readonly sweepEveryMs: number;
  readonly relayEveryMs: number;
  readonly silentMs: number;
  readonly stuckMs: number;
  readonly watchEveryMs: number;
}

export interface Config {
  /** Address that is listened on, default 127.0.0.1: this machine alone. `0.0.0.0` or `::` is every address of the machine. */
  readonly host: string;
  /** 0: any free port. */
  readonly port: number;
  /** Internal gRPC for gateways; used when split. */
  readonly internalHost: string;
  readonly internalPort: number;
  readonly internalToken: string | undefined;
  /** `all-in-one` serves the machine endpoints in this process. */
  readonly mode: 'all-in-one' | 'split';
  readonly roles: { readonly api: boolean; readonly worker: boolean };
  readonly dataDir: string;
  readonly databaseUrl: string | undefined;
  readonly databaseConnections: number;
  readonly amqpUrl: string | undefined;
  /** Authorities that requests may be signed for; undefined: the loopback names at the port. */
  readonly publicUrls: readonly string[] | undefined;
  /** Addresses and ranges of proxies in front of this server. Without it all who come through a proxy are counted as one client. */
  readonly trustedProxies: readonly string[];
  readonly logLevel: LogLevel;
  /** Bearer credential of whoever reads /metrics; undefined: one made from the key-encryption key, in `DATA_DIR/metrics.token`. */
  readonly metricsToken: string | undefined;
  readonly jobRunnerEnabled: boolean;
  readonly runnersEnabled: boolean;
  /** Base URL of the companion service, whose features staff see beside ours. */
  readonly companionUrl: string | undefined;
  /** Where traces of builds are looked at, with `{traceId}` in it; undefined: the build's page in the console. */
  readonly traceViewerUrl: string | undefined;
  /** Host and port of the service's own registry, for teams without one. Plain HTTP. */
  readonly localRegistry: string;
  /** Registries of teams, besides loopback ones, that may be spoken to over plain HTTP: hosts with a port if any. */
  readonly insecureRegistries: readonly string[];
  /** Builder image of buildpack builds, with its digest; empty: the one that the runner pins. */
  readonly builderImage: string;
  readonly strikesMax: number;
  /** How long output of runs and builds is kept. */
  readonly logRetentionDays: number;
  /** Runners below it are given no new work, `1.2.3`; empty: any version is. */
  readonly minVersion: string;
  /** Runners below it are advised to upgrade; empty: none. */
  readonly recommendedVersion: string;
  /** Key-encryption key, 32 bytes; undefined: made once and kept in the data folder. */
  readonly secretsKey: Uint8Array | undefined;
  /** Webhooks may go to this machine and to private networks, over http and to any port: for tests and development. */
  readonly webhooksAllowPrivate: boolean;
  /** Audience that id_tokens of CI jobs must be made for; undefined: the first public address. */
  readonly oidcAudience: string | undefined;
  /** Whose id_tokens are taken: GitHub Actions and GitLab.com, which only tests replace. */
  readonly oidcIssuers: readonly Issuer[];
  readonly stopGraceMs: number;
  readonly limits: Limits;
  readonly sessions: SessionTimes;
  readonly dispatch: DispatchTimes;
}

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

export function readConfig(env: Environment): Config {
  const read = new SettingsReader(env);
  const config: Config = {
    host: readHost(read),
    port: read.number('PORT', { fallback: 8080, min: 0, max: 65_535 }),
    internalHost: read.text('INTERNAL_HOST', '127.0.0.1'),
    internalPort: read.number('INTERNAL_PORT', { fallback: 8081, min: 0, max: 65_535 }),
    internalToken: read.optional('INTERNAL_TOKEN'),
    mode: read.choice('SVC_MODE', ['all-in-one', 'split'], 'all-in-one'),
    roles: readRoles(read),
    dataDir: resolve(read.text('DATA_DIR', './.svc')),
    databaseUrl: read.url('DATABASE_URL', ['postgres:', 'postgresql:']),
    databaseConnections: read.number('DATABASE_CONNECTIONS', { fallback: 10, min: 2, max: 200 }),
    amqpUrl: read.url('AMQP_URL', ['amqp:', 'amqps:']),
    publicUrls: readPublicUrls(read),
    trustedProxies: readTrustedProxies(read),
    logLevel: read.choice(
      'LOG_LEVEL',
      ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'],
      'info',
    ),
    metricsToken: read.optional('METRICS_TOKEN'),
    logRetentionDays: read.number('LOG_RETENTION_DAYS', {
      fallback: 90,
      // A run's output must outlive all of its attempts.
      min: 7,
      max: 3_650,
    }),
    jobRunnerEnabled: read.flag('JOB_RUNNER_ENABLED', false),
    runnersEnabled: read.flag('RUNNERS_ENABLED', true),
    companionUrl: read.url('COMPANION_URL', ['http:', 'https:']),
    traceViewerUrl: readTraceViewer(read),
    localRegistry: readLocalRegistry(read),
    insecureRegistries: readInsecureRegistries(read),
    builderImage: readBuilderImage(read),
    strikesMax: read.number('RUNNER_DURATION_DIVERGENCE_STRIKE_THRESHOLD', {
      fallback: 3,
      min: 1,
      max: 1_000,
    }),
    minVersion: readVersion(read, 'RUNNER_MIN_VERSION'),
    recommendedVersion: readVersion(read, 'RUNNER_RECOMMENDED_VERSION'),
    secretsKey: readSecretsKey(read),
    webhooksAllowPrivate: read.flag('WEBHOOKS_ALLOW_PRIVATE', false),
    oidcAudience: readAudience(read),
    oidcIssuers: readIssuers(read),
    stopGraceMs: read.number('STOP_GRACE_MS', { fallback: 10_000, min: 0, max: 300_000 }),
    limits: readLimits(read),
    sessions: readSessionTimes(read),
    dispatch: readDispatchTimes(read),
  };
  crossCheck(config, read);
  read.finish();
  return config;
}

function readHost(read: SettingsReader): string {
  const host = read.text('HOST', '127.0.0.1');
  if (/[\s/:]/.test(host) && !isIPv6(host))
    read.problem(
      `HOST is "${host}", expected an address or a name without a port, such as 127.0.0.1 or 0.0.0.0`,
    );
  return host;
}

function readRoles(read: SettingsReader): Config['roles'] {
  const names = read.list('SVC_ROLES') ?? ['api', 'worker'];
  const unknown = names.filter((name) => name !== 'api' && name !== 'worker');
  if (unknown.length > 0 || names.length === 0) {
    read.problem(`SVC_ROLES is "${names.join(',')}", expected api, worker or both`);
  }
  return { api: names.includes('api'), worker: names.includes('worker') };
}

function readVersion(read: SettingsReader, name: string): string {
  const text = read.text(name, '');
  if (text !== '' && !/^\d{1,6}\.\d{1,6}\.\d{1,6}$/.test(text))
    read.problem(`${name} is "${text}", expected three numbers such as 1.2.0`);
  return text;
}

function readPublicUrls(read: SettingsReader): readonly string[] | undefined {
  const urls = read.list('PUBLIC_URLS');
  for (const url of urls ?? []) {
    if (!isUrl(url, ['http:', 'https:']))
      read.problem(`PUBLIC_URLS holds "${url}", expected http:// or https:// addresses, separated by commas`);
  }
  return urls;
}

function readTrustedProxies(read: SettingsReader): readonly string[] {
  const ranges = read.list('TRUSTED_PROXIES') ?? [];
  try {
    addressList(ranges);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    read.problem(`TRUSTED_PROXIES holds ${error.message}`);
  }
  return ranges;
}

function readSecretsKey(read: SettingsReader): Uint8Array | undefined {
  const text = read.optional('SECRETS_KEY');
  if (text === undefined) return undefined;
  const bytes = Buffer.from(text, 'base64');
  if (bytes.length === 32) return bytes;
  read.problem(
    `SECRETS_KEY decodes to ${bytes.length} bytes, expected 32 in base64; make one with: openssl rand -base64 32`,
  );
  return undefined;
}

function readTraceViewer(read: SettingsReader): string | undefined {
  const template = read.optional('TRACE_VIEWER_URL');
  if (template === undefined) return undefined;
  if (!template.includes('{traceId}') || !isUrl(template.replaceAll('{traceId}', '0'), ['http:', 'https:']))
    read.problem(
      `TRACE_VIEWER_URL is "${template}", expected an http:// or https:// address with {traceId} in it`,
    );
  return template;
}

function readLocalRegistry(read: SettingsReader): string {
  const host = read.text('LOCAL_REGISTRY', '127.0.0.1:5000');
  if (!/^[a-z0-9]([a-z0-9.-]*[a-z0-9])?(:\d{1,5})?$/.test(host))
    read.problem(`LOCAL_REGISTRY is "${host}", expected a host with a port if any, such as 127.0.0.1:5000`);
  return host;
}

function readInsecureRegistries(read: SettingsReader): readonly string[] {
  return (read.list('INSECURE_REGISTRIES') ?? []).flatMap((text) => {
    const parsed = parseHost(text);
    if ('host' in parsed) return [parsed.host];
    read.problem(`INSECURE_REGISTRIES holds "${text}": ${parsed.problem}`);
    return [];
  });
}

function readBuilderImage(read: SettingsReader): string {
  const image = read.optional('BUILDER_IMAGE') ?? '';
  if (image !== '' && !/^[a-z0-9][^\s@]*@sha256:[0-9a-f]{64}$/.test(image))
    read.problem(`BUILDER_IMAGE is "${image}", expected an image with its digest: <name>@sha256:<64 digits>`);
  return image;
}

function readAudience(read: SettingsReader): string | undefined {
  const audience = read.optional('OIDC_AUDIENCE');
  if (audience !== undefined && isDefaultAudience(audience))
    read.problem(
      `OIDC_AUDIENCE is "${audience}", which every id_token of GitHub or GitLab has that names no audience; expected one of this service alone, such as its address`,
    );
  return audience;
}

function readIssuers(read: SettingsReader): readonly Issuer[] {
  const entries = read.list('OIDC_ISSUERS') ?? [];
  const issuers = parseIssuers(entries);
  if (typeof issuers === 'string') read.problem(`OIDC_ISSUERS ${issuers}`);
  if (entries.length > 0 && !read.flag('WEBHOOKS_ALLOW_PRIVATE', false))
    read.problem(
      'OIDC_ISSUERS is set, and the issuers are fixed: tests replace them, and set WEBHOOKS_ALLOW_PRIVATE=true with it',
    );
  return typeof issuers === 'string' ? [] : issuers;
}

function readLimits(read: SettingsReader): Limits {
  const limit = (name: string, fallback: number): number =>
    read.number(name, { fallback, min: 1, max: 10_000_000 });
  return {
    requestsPerMinute: limit('LIMIT_REQUESTS_PER_MINUTE', 6_000),
    submitsPerMinute: limit('LIMIT_SUBMITS_PER_MINUTE', 60_000),
    loginsPerMinute: limit('LIMIT_LOGINS_PER_MINUTE', 20),
    anonymousPerMinute: limit('LIMIT_ANONYMOUS_PER_MINUTE', 600),
    bodyMibPerMinute: limit('LIMIT_BODY_MIB_PER_MINUTE', 300),
    pagesPerMinute: limit('LIMIT_PAGES_PER_MINUTE', 1_200),
    apiKeysMax: limit('LIMIT_API_KEYS', 100),
    teamsMax: limit('LIMIT_TEAMS', 50),
    environmentsPerProjectMax: limit('LIMIT_ENVIRONMENTS_PER_PROJECT', 200),
    runnersPerTeamMax: limit('LIMIT_RUNNERS_PER_TEAM', 1_000),
    queuedRunsPerTeamMax: limit('LIMIT_QUEUED_RUNS_PER_TEAM', 10_000),
    streams: {
      perCredentialMax: limit('LIMIT_STREAMS_PER_CREDENTIAL', 200),
      perAccountMax: limit('LIMIT_STREAMS_PER_ACCOUNT', 500),
      perConnectionMax: limit('LIMIT_STREAMS_PER_CONNECTION', 100),
    },
  };
}

function readSessionTimes(read: SettingsReader): SessionTimes {
  const time = (name: string, fallback: number): number =>
    read.number(name, { fallback, min: 1_000, max: 90 * DAY });
  return {
    idleMs: time('SESSION_IDLE_MS', 12 * HOUR),
    absoluteMs: time('SESSION_ABSOLUTE_MS', 7 * DAY),
    staffIdleMs: time('SESSION_STAFF_IDLE_MS', 30 * MINUTE),
    staffAbsoluteMs: time('SESSION_STAFF_ABSOLUTE_MS', 12 * HOUR),
  };
}

function readDispatchTimes(read: SettingsReader): DispatchTimes {
  const time = (name: string, fallback: number, max = HOUR): number =>
    read.number(name, { fallback, min: 10, max });
  return {
    pollWaitMs: time('POLL_WAIT_MS', 30_000, 50_000),
    heartbeatMs: time('HEARTBEAT_MS', 15_000),
    offerMs: time('OFFER_MS', 15_000),
    leaseMs: time('LEASE_MS', 60_000),
    graceMs: time('LEASE_GRACE_MS', 2_000),
    sweepEveryMs: time('SWEEP_EVERY_MS', 2_000),
    relayEveryMs: time('RELAY_EVERY_MS', 1_000),
    silentMs: time('RUNNER_SILENT_MS', 60_000),
    stuckMs: time('RUNNER_STUCK_MS', 60_000),
    watchEveryMs: time('RUNNER_WATCH_EVERY_MS', 5_000),
  };
}

/** What no single setting can see. */
function crossCheck(config: Config, read: SettingsReader): void {
  const { dispatch, sessions } = config;
  if (config.mode === 'split' && config.amqpUrl === undefined) {
    read.problem(
      'SVC_MODE is "split" and AMQP_URL is not set: gateways in other processes need a broker; set AMQP_URL or use SVC_MODE=all-in-one',
    );
  }
  if (config.mode === 'split' && config.internalToken === undefined) {
    read.problem(
      'SVC_MODE is "split" and INTERNAL_TOKEN is not set: gateways must prove themselves; make one with: openssl rand -base64 32',
    );
  }
  if (config.metricsToken !== undefined && config.metricsToken.length < 16) {
    read.problem(`METRICS_TOKEN has ${config.metricsToken.length} characters, expected at least 16`);
  }
  if (config.internalToken !== undefined && config.internalToken.length < 16) {
    read.problem(`INTERNAL_TOKEN has ${config.internalToken.length} characters, expected at least 16`);
  }
  if (config.mode === 'split' && config.internalPort === config.port && config.port !== 0) {
    read.problem(`INTERNAL_PORT and PORT are both ${config.port}, expected two different ports`);
  }
  if (!config.roles.api && config.mode === 'all-in-one' && config.amqpUrl === undefined) {
    read.problem(
      'SVC_ROLES is "worker" without AMQP_URL: a worker of its own needs the broker that its servers use',
    );
  }
  if (dispatch.leaseMs < 3 * dispatch.heartbeatMs) {
    read.problem(
      `LEASE_MS is ${dispatch.leaseMs} and HEARTBEAT_MS ${dispatch.heartbeatMs}, expected a lease of at least three heartbeats`,
    );
  }
  if (dispatch.silentMs < 2 * dispatch.heartbeatMs) {
    read.problem(
      `RUNNER_SILENT_MS is ${dispatch.silentMs} and HEARTBEAT_MS ${dispatch.heartbeatMs}, expected at least two heartbeats`,
    );
  }
  if (sessions.idleMs > sessions.absoluteMs || sessions.staffIdleMs > sessions.staffAbsoluteMs) {
    read.problem(
      'SESSION_IDLE_MS is longer than SESSION_ABSOLUTE_MS (or the staff pair is), expected idle ≤ absolute',
    );
  }
}
