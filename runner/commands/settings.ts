/**
 * This file reads the settings of `svc-runner run`: each is taken from the flag, else the environment
 * variable, else the config file, else the default, and checked here.
 */
import { readFileSync } from 'node:fs';
import { isIP } from 'node:net';
import type { RunSettings } from '../daemon/run-settings.ts';
import { endpointOf, type Endpoint } from '../network/egress.ts';
import type { ExecutorName } from '../executor/executor.ts';
import { UsageError, type FlagSpec, type Flags } from './flags.ts';
import type { RunnerConfig } from '../disk/identity.ts';
import { LOG_LEVELS } from '../platform/log.ts';
import { errorText } from '../platform/errors.ts';

/** Makes a setting of `run`: a flag, and the variable of its name. */
function setting(name: string, help: string, more: Partial<FlagSpec> = {}): FlagSpec {
  return { name, env: `SVC_RUNNER_${name.toUpperCase().replaceAll('-', '_')}`, help, ...more };
}

export const DATA_DIR_FLAG = setting('data-dir', 'where key, config and journal live', {
  value: 'dir',
  fallback: '/var/lib/svc-runner for root, else ~/.local/state/svc-runner',
});

export const CA_FILE_FLAG = setting('ca-file', 'authorities to trust besides the usual ones', {
  value: 'pem',
});

export const EXECUTOR_FLAG = setting('executor', 'only this one', {
  value: 'podman|docker|namespaces',
  fallback: 'the first that works here',
});

export const DEFAULT_IMAGE_FLAG = setting('default-image', 'for runs that name none', {
  value: 'image',
  fallback: "made from this machine's own tools",
});

/** Whole numbers, by their keys in the config file. */
const NUMBERS = {
  slots: { help: 'runs at a time', bounds: [1, 256], fallback: '1' },
  buildSlots: {
    help: 'builds at a time where a container engine works, none with 0',
    bounds: [0, 64],
    fallback: '1',
  },
  deployMemoryMb: {
    help: 'memory of each deployed container, without swap',
    bounds: [16, 4_194_304],
    fallback: '1024',
  },
  deployCpus: {
    help: 'processors of each deployed container, at most what the machine has',
    bounds: [1, 1_024],
    fallback: '1',
  },
  deployPids: {
    help: 'processes and threads of each deployed container',
    bounds: [4, 4_194_304],
    fallback: '512',
  },
  maxStoreMb: {
    help: 'images and caches of all builds together; beyond it those of the teams that built least lately go',
    bounds: [1, 104_857_600],
    fallback: '20480',
  },
  minFreeMb: {
    help: 'takes no work below this much free disk, and goes on a tenth above it',
    bounds: [0, 1_048_576],
    fallback: '1024',
  },
  maxSpoolMb: {
    help: 'takes no work while more output than this waits to be delivered',
    bounds: [1, 1_048_576],
    fallback: '4096',
  },
  maxOutbox: {
    help: 'takes no work while more results than this wait to be delivered',
    bounds: [1, 100_000],
    fallback: '200',
  },
} as const satisfies Record<string, { help: string; bounds: readonly [number, number]; fallback: string }>;

/** Makes the name of the flag of a key in the config file. */
const flagName = (key: string): string => key.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);

function numberFlag(key: keyof typeof NUMBERS): FlagSpec {
  const { help, ...more } = NUMBERS[key];
  return setting(flagName(key), help, { value: 'n', ...more });
}

const DEPLOY_ADDRESS = '127.0.0.1';
const DRAIN_TIMEOUT = '1h';
const APP_NETWORKS = ['contained', 'open'] as const;

export const RUN_FLAGS: readonly FlagSpec[] = [
  numberFlag('slots'),
  numberFlag('buildSlots'),
  setting('deploy-address', 'address of this machine that deployed containers are bound to', {
    value: 'ip',
    fallback: DEPLOY_ADDRESS,
  }),
  numberFlag('deployMemoryMb'),
  numberFlag('deployCpus'),
  numberFlag('deployPids'),
  setting('allow-insecure-git', 'clone by plain http, from loopback addresses only'),
  setting(
    'allow-egress',
    "what builds, deployed apps, and git on the service's pool reach besides public addresses, such as a mirror of packages of this site",
    { value: 'host:port,…' },
  ),
  setting(
    'allow-registry',
    'registries on private addresses that pulls and pushes of builds reach, and steps of builds do not',
    { value: 'host:port,…' },
  ),
  setting(
    'allow-uncontained-builds',
    'build for many teams although builds are not contained on this machine: a Dockerfile is then root on it',
  ),
  setting(
    'app-network',
    "network of deployed apps: one of their own that leads to public addresses alone, or open, the engine's, from which they reach this machine and its site; the service's pool does not honour open",
    { value: APP_NETWORKS.join('|'), fallback: 'contained' },
  ),
  setting(
    'allow-uncontained-apps',
    'deploy for many teams although apps are not contained on this machine: they then reach it and each other',
  ),
  numberFlag('maxStoreMb'),
  EXECUTOR_FLAG,
  DEFAULT_IMAGE_FLAG,
  DATA_DIR_FLAG,
  CA_FILE_FLAG,
  setting('drain-timeout', 'how long SIGTERM waits for running work, such as 90s, 15m or 3h, at most 168h', {
    value: 'time',
    fallback: DRAIN_TIMEOUT,
  }),
  numberFlag('minFreeMb'),
  numberFlag('maxSpoolMb'),
  numberFlag('maxOutbox'),
  setting(
    'metrics-file',
    "rewritten every 15 s in Prometheus' text format, for node_exporter's textfile collector; its name ends with .prom",
    { value: 'path' },
  ),
  setting(
    'exit-when-outdated',
    'once idle, end with exit code 7 when the control plane gives this version no work any more',
  ),
  setting('log-level', 'least level of what is logged', { value: LOG_LEVELS.join('|'), fallback: 'info' }),
];

export const EXECUTORS: readonly ExecutorName[] = ['podman', 'docker', 'namespaces'];

export function runSettings(flags: Flags, config: Partial<RunnerConfig>): RunSettings {
  const caFile = flags.text('ca-file') ?? config.caFile;
  const executor = oneOf('executor', flags.text('executor') ?? config.executor, EXECUTORS);
  const defaultImage = flags.text('default-image') ?? config.defaultImage;
  const metricsFile = promFile(flags.text('metrics-file') ?? config.metricsFile);
  const number = (key: keyof typeof NUMBERS): number =>
    wholeNumber(key, flags.text(flagName(key)) ?? config[key] ?? NUMBERS[key].fallback);
  return {
    slots: number('slots'),
    buildSlots: number('buildSlots'),
    deployAddress: ipAddress(flags.text('deploy-address') ?? config.deployAddress ?? DEPLOY_ADDRESS),
    deployLimits: {
      memoryMb: number('deployMemoryMb'),
      cpus: number('deployCpus'),
      pids: number('deployPids'),
    },
    allowInsecureGit: flags.on('allow-insecure-git') || config.allowInsecureGit === true,
    allowEgress: endpoints('allow-egress', flags.text('allow-egress') ?? config.allowEgress ?? ''),
    allowRegistry: endpoints('allow-registry', flags.text('allow-registry') ?? config.allowRegistry ?? ''),
    allowUncontainedBuilds: flags.on('allow-uncontained-builds') || config.allowUncontainedBuilds === true,
    allowUncontainedApps: flags.on('allow-uncontained-apps') || config.allowUncontainedApps === true,
    appNetwork:
      oneOf('app-network', flags.text('app-network') ?? config.appNetwork, APP_NETWORKS) ?? 'contained',
    maxStoreMb: number('maxStoreMb'),
    ...(executor === undefined ? {} : { executor }),
    ...(defaultImage === undefined ? {} : { defaultImage }),
    ...(caFile === undefined ? {} : { caFile, ca: readCa(caFile) }),
    drainTimeoutMs: timeMs(
      'drain-timeout',
      flags.text('drain-timeout') ?? config.drainTimeout ?? DRAIN_TIMEOUT,
    ),
    minFreeMb: number('minFreeMb'),
    maxSpoolMb: number('maxSpoolMb'),
    maxOutbox: number('maxOutbox'),
    ...(metricsFile === undefined ? {} : { metricsFile }),
    exitWhenOutdated: flags.on('exit-when-outdated') || config.exitWhenOutdated === true,
    logLevel: oneOf('log-level', flags.text('log-level') ?? config.logLevel, LOG_LEVELS) ?? 'info',
  };
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

function ipAddress(value: string): string {
  if (isIP(value) === 0)
    throw new UsageError(`--deploy-address is ${JSON.stringify(value)}, expected an address like 127.0.0.1`);
  return value;
}

/** The port of registries and mirrors is commonly left out. */
function endpoints(name: string, text: string): Endpoint[] {
  return text
    .split(/[\s,]+/)
    .filter((part) => part !== '')
    .map((part) => {
      const endpoint = endpointOf(part, 443);
      if (endpoint === undefined)
        throw new UsageError(`--${name} holds ${JSON.stringify(part)}, expected host or host:port`);
      return endpoint;
    });
}

/** node_exporter reads files with this suffix only. */
function promFile(path: string | undefined): string | undefined {
  if (path !== undefined && !path.endsWith('.prom'))
    throw new UsageError(`--metrics-file is ${JSON.stringify(path)}, expected a name that ends with .prom`);
  return path;
}

function wholeNumber(key: keyof typeof NUMBERS, value: string | number): number {
  const [min, max] = NUMBERS[key].bounds;
  const number = typeof value === 'number' ? value : /^\d+$/.test(value) ? Number(value) : Number.NaN;
  if (!Number.isInteger(number) || number < min || number > max) {
    throw new UsageError(
      `--${flagName(key)} is ${JSON.stringify(value)}, expected a whole number from ${min} to ${max}`,
    );
  }
  return number;
}

function oneOf<T extends string>(
  name: string,
  value: string | undefined,
  allowed: readonly T[],
): T | undefined {
  if (value === undefined) return undefined;
  const found = allowed.find((known) => known === value);
  if (found === undefined)
    throw new UsageError(`--${name} is ${JSON.stringify(value)}, expected one of ${allowed.join(', ')}`);
  return found;
}

const UNIT_MS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 };
/** Timers fire at once beyond 2^31 ms. */
const TIME_MS_MAX = 7 * 24 * 3_600_000;

export function timeMs(name: string, text: string): number {
  const [, amount, unit = 's'] = /^(\d+)(ms|s|m|h)?$/.exec(text) ?? [];
  const ms = Number(amount) * (UNIT_MS[unit] ?? Number.NaN);
  if (amount === undefined || !(ms <= TIME_MS_MAX)) {
    throw new UsageError(
      `--${name} is ${JSON.stringify(text)}, expected a time like 90s, 15m or 3h, at most 168h`,
    );
  }
  return ms;
}
