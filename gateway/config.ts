/** Every setting of the gateway as its own process: variable, unit, default, bounds. */
import { addressList } from '@svc/proto/http/address.ts';

export interface Config {
  /** Address that is listened on, default 127.0.0.1: this machine alone. `0.0.0.0` or `::` is every address of the machine. */
  readonly host: string;
  /** 0: any free port. */
  readonly port: number;
  readonly dispatchUrls: readonly string[];
  /** Shared with the servers. */
  readonly internalToken: string;
  readonly amqpUrl: string;
  /** Undefined: the loopback names at the port. */
  readonly publicUrls: readonly string[] | undefined;
  readonly trustedProxies: readonly string[];
  readonly logLevel: string;
  /** Bearer credential of whoever reads /metrics; undefined: nobody reads it. */
  readonly metricsToken: string | undefined;
  readonly runnersEnabled: boolean;
  /** How long a stop waits for claims under way and open requests. */
  readonly stopGraceMs: number;
  /** Refused signatures of one address before it has to wait; one comes back each second. */
  readonly signatureFailuresBurst: number;
  /** Calls each second of one runner, on average. */
  readonly callsPerSecond: number;
}

export type Environment = Readonly<Record<string, string | undefined>>;

const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'];

/** Throws one error that names everything wrong at once. Values are not repeated where they may hold a password. */
export function readConfig(env: Environment): Config {
  const problems: string[] = [];
  const optional = (name: string): string | undefined => env[name]?.trim() || undefined;
  const required = (name: string, what: string): string => {
    const value = optional(name);
    if (value === undefined) problems.push(`${name} is not set, expected ${what}`);
    return value ?? '';
  };
  const list = (name: string): readonly string[] =>
    (optional(name) ?? '')
      .split(',')
      .map((part) => part.trim())
      .filter(Boolean);
  const whole = (name: string, fallback: number, min: number, max: number): number => {
    const text = optional(name) ?? String(fallback);
    const value = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN;
    if (value >= min && value <= max) return value;
    problems.push(`${name} is "${text}", expected a whole number from ${min} to ${max}`);
    return fallback;
  };
  const flag = (name: string, fallback: boolean): boolean => {
    const text = optional(name)?.toLowerCase() ?? String(fallback);
    if (['true', '1', 'on', 'yes'].includes(text)) return true;
    // A switch for emergencies: misspelt, it must not be taken for its default.
    if (!['false', '0', 'off', 'no'].includes(text))
      problems.push(`${name} is "${text}", expected true or false`);
    return false;
  };
  const amqpUrl = required('AMQP_URL', 'amqp://… of the broker that the servers use');
  if (amqpUrl !== '' && !/^amqps?:\/\//.test(amqpUrl))
    problems.push('AMQP_URL is not an address of the form amqp://host… or amqps://host…');
  const logLevel = optional('LOG_LEVEL') ?? 'info';
  if (!LOG_LEVELS.includes(logLevel))
    problems.push(`LOG_LEVEL is "${logLevel}", expected one of ${LOG_LEVELS.join(', ')}`);
  const metricsToken = optional('METRICS_TOKEN');
  if (metricsToken !== undefined && metricsToken.length < 16)
    problems.push(`METRICS_TOKEN has ${metricsToken.length} characters, expected at least 16`);
  const trustedProxies = list('TRUSTED_PROXIES');
  try {
    addressList(trustedProxies);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    problems.push(`TRUSTED_PROXIES holds ${error.message}`);
  }
  required('DISPATCH_URLS', 'addresses of servers, grpc://host:port, separated by commas');
  const config: Config = {
    host: optional('HOST') ?? '127.0.0.1',
    port: whole('PORT', 8081, 0, 65_535),
    dispatchUrls: list('DISPATCH_URLS'),
    internalToken: required('INTERNAL_TOKEN', 'the secret that the servers were given'),
    amqpUrl,
    publicUrls: optional('PUBLIC_URLS') === undefined ? undefined : list('PUBLIC_URLS'),
    trustedProxies,
    logLevel,
    metricsToken,
    runnersEnabled: flag('RUNNERS_ENABLED', true),
    stopGraceMs: whole('STOP_GRACE_MS', 10_000, 0, 300_000),
    signatureFailuresBurst: whole('SIGNATURE_FAILURES_BURST', 60, 1, 1_000_000),
    callsPerSecond: whole('RUNNER_CALLS_PER_SECOND', 2_000, 1, 1_000_000),
  };
  if (problems.length > 0)
    throw new Error(`configuration is wrong:\n${problems.map((problem) => `  - ${problem}`).join('\n')}`);
  return config;
}
