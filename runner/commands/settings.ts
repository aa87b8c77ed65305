/**
 * This file defines the settings of `svc-runner run`, one record each: it is taken from the flag, else the
 * environment variable, else the config file, else the default, and checked here.
 */
import { readFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { hostPathProblem } from '@svc/proto/hosting/mount-paths.ts';
import { isWildcardName, parseHostName } from '@svc/proto/names/host-name.ts';
import type { RunSettings } from '../daemon/run-settings.ts';
import type { DnsKey } from '../edge/dns-proofs.ts';
import { endpointOf, type Endpoint } from '../network/egress.ts';
import type { ExecutorName } from '../executor/executor.ts';
import { UsageError, type FlagSpec, type Flags } from './flags.ts';
import type { RunnerConfig } from '../disk/identity.ts';
import { LOG_LEVELS } from '../platform/log.ts';
import { errorText } from '../platform/errors.ts';

/** A setting has its key in the config file for a name, which its flag and its variable follow. */
interface Setting<T> extends Omit<FlagSpec, 'name' | 'env'> {
  /** Reads what was given, if anything was. */
  readonly read: (given: unknown, flag: string) => T;
}

export const EXECUTORS: readonly ExecutorName[] = ['podman', 'docker', 'namespaces'];
const EDGES = ['none', 'nginx'] as const;
const APP_NETWORKS = ['contained', 'open'] as const;

const SETTINGS = {
  slots: whole('runs at a time', [1, 256], 1),
  buildSlots: whole('builds at a time where a container engine works, none with 0', [0, 64], 1),
  deployAddress: text('address of this machine that deployed containers are bound to', {
    value: 'ip',
    fallback: '127.0.0.1',
    read: ipAddress,
  }),
  deployMemoryMb: whole('memory of each deployed container, without swap', [16, 4_194_304], 1_024),
  deployCpus: whole('processors of each deployed container, at most what the machine has', [1, 1_024], 1),
  deployPids: whole('processes and threads of each deployed container', [4, 4_194_304], 512),
  allowInsecureGit: onOff('clone by plain http, from loopback addresses only'),
  allowEgress: endpoints(
    "what builds, deployed apps, and git on the service's pool reach besides public addresses, such as a mirror of packages of this site",
  ),
  allowRegistry: endpoints(
    'registries on private addresses that pulls and pushes of builds reach, and steps of builds do not',
  ),
  allowUncontainedBuilds: onOff(
    'build for many teams although builds are not contained on this machine: a Dockerfile is then root on it',
  ),
  appNetwork: choice(
    "network of deployed apps: one of their own that leads to public addresses alone, or open, the engine's, from which they reach this machine and its site; the service's pool does not honour open",
    APP_NETWORKS,
    'contained',
  ),
  allowMount: folders(
    "folders, between commas, below which environments of the team may mount paths of this machine into their apps; the service's pool does not honour it",
  ),
  databases: onOff(
    'bring up databases beside apps, and test databases of builds: containers on the networks of their apps; needs podman',
  ),
  backupDir: optional(
    'folder of the backups of databases, which are made every day',
    { value: 'dir', fallback: 'backups, in the data folder' },
    (given, flag) => {
      if (!given.startsWith('/')) throw wrong(flag, given, 'an absolute path of a folder');
      return given;
    },
  ),
  edge: choice(
    'serve deployed apps under their names, by an nginx of its own that goes on while the runner restarts',
    EDGES,
    'none',
  ),
  edgeHttpPort: whole('of the edge, for plain HTTP', [1, 65_535], 80),
  edgeHttpsPort: whole('of the edge, for HTTPS', [1, 65_535], 443),
  edgeAddress: addresses(
    'public addresses of this machine, between commas: names that lead elsewhere get no certificate, and their team is told',
  ),
  edgeDns: optional("name server that the edge asks, instead of the machine's own", { value: 'host:port' }),
  acmeDirectory: text(
    'directory of the authority whose certificates the edge gets; by using the default you accept the terms of Let’s Encrypt',
    {
      value: 'url',
      fallback: 'https://acme-v02.api.letsencrypt.org/directory',
      read: httpsUrl,
    },
  ),
  acmeContact: optional('address of mail that the authority may write to', { value: 'mail' }),
  acmeCaFile: optional("certificates of the authority's own server, where it is no public one", {
    value: 'pem',
  }),
  acmeDnsKey: optional(
    'key file of nsupdate, with which the edge sets records that prove names: wildcards have no other proof',
    { value: 'path' },
  ),
  acmeDnsZones: zones('zones whose records that key may change; names elsewhere are proved by HTTP'),
  acmeDnsServer: optional(
    'name server that takes those changes',
    { value: 'host:port', fallback: 'the primary of each zone' },
    (given, flag) => endpoint(given, flag, 53),
  ),
  acmeEabFile: optional('account that the authority asks for, in JSON: {"kid": "…", "hmacKey": "…"}', {
    value: 'path',
  }),
  allowUncontainedApps: onOff(
    'deploy for many teams although apps are not contained on this machine: they then reach it and each other',
  ),
  maxStoreMb: whole(
    'images and caches of all builds together; beyond it those of the teams that built least lately go',
    [1, 104_857_600],
    20_480,
  ),
  executor: {
    help: 'only this one',
    value: EXECUTORS.join('|'),
    fallback: 'the first that works here',
    read: (given: unknown, flag: string) => (given === undefined ? undefined : oneOf(flag, given, EXECUTORS)),
  },
  defaultImage: optional('for runs that name none', {
    value: 'image',
    fallback: "made from this machine's own tools",
  }),
  caFile: optional('authorities to trust besides the usual ones', { value: 'pem' }),
  drainTimeout: text('how long SIGTERM waits for running work, such as 90s, 15m or 3h, at most 168h', {
    value: 'time',
    fallback: '1h',
    read: timeMs,
  }),
  minFreeMb: whole(
    'takes no work below this much free disk, and goes on a tenth above it',
    [0, 1_048_576],
    1_024,
  ),
  maxSpoolMb: whole('takes no work while more output than this waits to be delivered', [1, 1_048_576], 4_096),
  maxOutbox: whole('takes no work while more results than this wait to be delivered', [1, 100_000], 200),
  metricsFile: optional(
    "rewritten every 15 s in Prometheus' text format, for node_exporter's textfile collector; its name ends with .prom",
    { value: 'path' },
    promFile,
  ),
  exitWhenOutdated: onOff(
    'once idle, end with exit code 7 when the control plane gives this version no work any more',
  ),
  logLevel: choice('least level of what is logged', LOG_LEVELS, 'info'),
} as const satisfies Record<string, Setting<unknown>>;

type Settings = { readonly [Key in keyof typeof SETTINGS]: ReturnType<(typeof SETTINGS)[Key]['read']> };

/** The keys of the settings in the config file. */
export const SETTING_KEYS = Object.keys(SETTINGS);

const flagName = (key: string): string => key.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);

function flagOf(
  name: string,
  { read: _read, ...more }: Omit<FlagSpec, 'name' | 'env'> & { read?: unknown },
): FlagSpec {
  return { name, env: `SVC_RUNNER_${name.toUpperCase().replaceAll('-', '_')}`, ...more };
}

export const DATA_DIR_FLAG = flagOf('data-dir', {
  help: 'where key, config and journal live',
  value: 'dir',
  fallback: '/var/lib/svc-runner for root, else ~/.local/state/svc-runner',
});
export const CA_FILE_FLAG = flagOf('ca-file', SETTINGS.caFile);
export const EXECUTOR_FLAG = flagOf('executor', SETTINGS.executor);
export const DEFAULT_IMAGE_FLAG = flagOf('default-image', SETTINGS.defaultImage);

export const RUN_FLAGS: readonly FlagSpec[] = [
  DATA_DIR_FLAG,
  ...Object.entries(SETTINGS).map(([key, setting]) => flagOf(flagName(key), setting)),
];

export function runSettings(flags: Flags, config: Partial<RunnerConfig>): RunSettings {
  const valueOf = ([key, { value, read }]: readonly [string, Setting<unknown>]) => {
    const flag = flagName(key);
    const given =
      value === undefined ? flags.on(flag) || config[key] : (flags.text(flag) ?? config[key] ?? undefined);
    return [key, read(given, flag)] as const;
  };
  // Each key has what its `read` returns.
  const read = Object.fromEntries(Object.entries(SETTINGS).map(valueOf)) as Settings;
  const {
    deployMemoryMb: memoryMb,
    deployCpus: cpus,
    deployPids: pids,
    drainTimeout,
    caFile,
    acmeDnsKey,
    acmeDnsZones,
    acmeDnsServer,
    ...more
  } = read;
  return {
    ...more,
    acmeDns: dnsKey(acmeDnsKey, acmeDnsZones, acmeDnsServer),
    deployLimits: { memoryMb, cpus, pids },
    drainTimeoutMs: drainTimeout,
    caFile,
    ca: caFile === undefined ? undefined : readCa(caFile),
  };
}

function dnsKey(
  keyFile: string | undefined,
  zones: readonly string[],
  server: Endpoint | undefined,
): DnsKey | undefined {
  if (keyFile === undefined && zones.length === 0 && server === undefined) return undefined;
  if (keyFile === undefined || zones.length === 0)
    throw new UsageError(
      '--acme-dns-key and --acme-dns-zones go together: a key, and the zones that it is for',
    );
  return { keyFile, zones, ...(server !== undefined && { server }) };
}

function whole(help: string, bounds: readonly [min: number, max: number], fallback: number): Setting<number> {
  const [min, max] = bounds;
  const read = (given: unknown, flag: string): number => {
    const number = typeof given === 'string' && /^\d+$/.test(given) ? Number(given) : (given ?? fallback);
    if (typeof number !== 'number' || !Number.isInteger(number) || number < min || number > max)
      throw wrong(flag, given, `a whole number from ${min} to ${max}`);
    return number;
  };
  return { help, value: 'n', bounds, fallback: String(fallback), read };
}

/** Takes apart what stands between commas and spaces. */
function listed(given: unknown): string[] {
  return String(given ?? '')
    .split(/[\s,]+/)
    .filter((part) => part !== '');
}

function onOff(help: string): Setting<boolean> {
  return { help, read: (given) => given === true };
}

function text<T>(
  help: string,
  { value, fallback, read }: { value: string; fallback: string; read: (given: string, flag: string) => T },
): Setting<T> {
  return { help, value, fallback, read: (given, flag) => read(String(given ?? fallback), flag) };
}

function choice<T extends string>(help: string, allowed: readonly T[], fallback: T): Setting<T> {
  const read = (given: string, flag: string): T => oneOf(flag, given, allowed);
  return text(help, { value: allowed.join('|'), fallback, read });
}

type OptionalSpec = Pick<FlagSpec, 'value' | 'fallback'>;

function optional(help: string, more: OptionalSpec): Setting<string | undefined>;
function optional<T>(
  help: string,
  more: OptionalSpec,
  check: (given: string, flag: string) => T,
): Setting<T | undefined>;
function optional(
  help: string,
  more: OptionalSpec,
  check: (given: string, flag: string) => unknown = (given) => given,
): Setting<unknown> {
  const read = (given: unknown, flag: string) =>
    given === undefined ? undefined : check(String(given), flag);
  return { help, ...more, read };
}

/** Makes the setting of a list of addresses. */
function addresses(help: string): Setting<readonly string[]> {
  const read = (given: unknown, flag: string): string[] => listed(given).map((part) => ipAddress(part, flag));
  return { help, value: 'ip,…', fallback: 'none', read };
}

function httpsUrl(given: string, flag: string): string {
  if (!URL.canParse(given) || new URL(given).protocol !== 'https:') throw wrong(flag, given, 'an https URL');
  return given;
}

/** Makes the setting of a list of zones. */
function zones(help: string): Setting<readonly string[]> {
  const read = (given: unknown, flag: string): string[] =>
    listed(given).map((part) => {
      const parsed = parseHostName(part, { allowTestDomains: true });
      if ('problem' in parsed || isWildcardName(parsed.ascii))
        throw wrong(flag, part, 'a domain like example.com');
      return parsed.ascii;
    });
  return { help, value: 'domain,…', fallback: 'none', read };
}

/** Makes the setting of a list of absolute paths. */
function folders(help: string): Setting<readonly string[]> {
  const read = (given: unknown, flag: string): string[] => {
    const paths = String(given ?? '')
      .split(',')
      .map((path) => path.trim())
      .filter((path) => path !== '');
    const wrongOne = paths.find(
      (path) => path === '/' || hostPathProblem(path) !== undefined || !path.startsWith('/'),
    );
    if (wrongOne !== undefined) throw wrong(flag, wrongOne, 'absolute paths of folders, such as /srv/data');
    return paths;
  };
  return { help, value: 'dir,…', fallback: 'none', read };
}

/** Makes the setting of a list of addresses; the port of registries and mirrors is commonly left out. */
function endpoints(help: string): Setting<readonly Endpoint[]> {
  const read = (given: unknown, flag: string): Endpoint[] =>
    listed(given).map((part) => endpoint(part, flag, 443));
  return { help, value: 'host:port,…', read };
}

function endpoint(given: string, flag: string, defaultPort: number): Endpoint {
  const read = endpointOf(given, defaultPort);
  if (read !== undefined) return read;
  throw new UsageError(`--${flag} holds ${JSON.stringify(given)}, expected host or host:port`);
}

function wrong(flag: string, given: unknown, expected: string): UsageError {
  return new UsageError(`--${flag} is ${JSON.stringify(given)}, expected ${expected}`);
}

function oneOf<T extends string>(flag: string, given: unknown, allowed: readonly T[]): T {
  const found = allowed.find((known) => known === given);
  if (found === undefined) throw wrong(flag, given, `one of ${allowed.join(', ')}`);
  return found;
}

function ipAddress(given: string, flag: string): string {
  if (isIP(given) === 0) throw wrong(flag, given, 'an address like 127.0.0.1');
  return given;
}

/** node_exporter reads files with this suffix only. */
function promFile(given: string, flag: string): string {
  if (!given.endsWith('.prom')) throw wrong(flag, given, 'a name that ends with .prom');
  return given;
}

export function readCa(path: string): string {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    throw new UsageError(`--ca-file cannot be read: ${errorText(error)}`);
  }
  if (!text.includes('-----BEGIN CERTIFICATE-----'))
    throw new UsageError(`--ca-file ${path} holds no PEM certificate`);
  return text;
}

const UNIT_MS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 };
/** Timers fire at once beyond 2^31 ms. */
const TIME_MS_MAX = 7 * 24 * 3_600_000;

export function timeMs(given: string, flag: string): number {
  const [, amount, unit = 's'] = /^(\d+)(ms|s|m|h)?$/.exec(given) ?? [];
  const ms = Number(amount) * (UNIT_MS[unit] ?? Number.NaN);
  if (amount === undefined || !(ms <= TIME_MS_MAX))
    throw wrong(flag, given, 'a time like 90s, 15m or 3h, at most 168h');
  return ms;
}
