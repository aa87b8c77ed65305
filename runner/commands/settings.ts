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

/** A number with its bounds and its default. */
interface NumberFlag extends FlagSpec {
  readonly bounds: readonly [min: number, max: number];
  readonly fallback: string;
}

export const DATA_DIR_FLAG: FlagSpec = {
  name: 'data-dir',
  value: 'dir',
  env: 'SVC_RUNNER_DATA_DIR',
  help: 'where key, config and journal live',
  fallback: '/var/lib/svc-runner for root, else ~/.local/state/svc-runner',
};
export const CA_FILE_FLAG: FlagSpec = {
  name: 'ca-file',
  value: 'pem',
  env: 'SVC_RUNNER_CA_FILE',
  help: 'authorities to trust besides the usual ones',
};
export const EXECUTOR_FLAG: FlagSpec = {
  name: 'executor',
  value: 'podman|docker|namespaces',
  env: 'SVC_RUNNER_EXECUTOR',
  help: 'only this one',
  fallback: 'the first that works here',
};
export const DEFAULT_IMAGE_FLAG: FlagSpec = {
  name: 'default-image',
  value: 'image',
  env: 'SVC_RUNNER_DEFAULT_IMAGE',
  help: 'for runs that name none',
  fallback: "made from this machine's own tools",
};

const NUMBERS = {
  slots: {
    name: 'slots',
    value: 'n',
    env: 'SVC_RUNNER_SLOTS',
    help: 'runs at a time',
    bounds: [1, 256],
    fallback: '1',
  },
  buildSlots: {
    name: 'build-slots',
    value: 'n',
    env: 'SVC_RUNNER_BUILD_SLOTS',
    help: 'builds at a time where a container engine works, none with 0',
    bounds: [0, 64],
    fallback: '1',
  },
  deployMemoryMb: {
    name: 'deploy-memory-mb',
    value: 'n',
    env: 'SVC_RUNNER_DEPLOY_MEMORY_MB',
    help: 'memory of each deployed container, without swap',
    bounds: [16, 4_194_304],
    fallback: '1024',
  },
  deployCpus: {
    name: 'deploy-cpus',
    value: 'n',
    env: 'SVC_RUNNER_DEPLOY_CPUS',
    help: 'processors of each deployed container, at most what the machine has',
    bounds: [1, 1_024],
    fallback: '1',
  },
  deployPids: {
    name: 'deploy-pids',
    value: 'n',
    env: 'SVC_RUNNER_DEPLOY_PIDS',
    help: 'processes and threads of each deployed container',
    bounds: [4, 4_194_304],
    fallback: '512',
  },
  maxStoreMb: {
    name: 'max-store-mb',
    value: 'n',
    env: 'SVC_RUNNER_MAX_STORE_MB',
    help: 'images and caches of all builds together; beyond it those of the teams that built least lately go',
    bounds: [1, 104_857_600],
    fallback: '20480',
  },
  minFreeMb: {
    name: 'min-free-mb',
    value: 'n',
    env: 'SVC_RUNNER_MIN_FREE_MB',
    help: 'takes no work below this much free disk, and goes on a tenth above it',
    bounds: [0, 1_048_576],
    fallback: '1024',
  },
  maxSpoolMb: {
    name: 'max-spool-mb',
    value: 'n',
    env: 'SVC_RUNNER_MAX_SPOOL_MB',
    help: 'takes no work while more output than this waits to be delivered',
    bounds: [1, 1_048_576],
    fallback: '4096',
  },
  maxOutbox: {
    name: 'max-outbox',
    value: 'n',
    env: 'SVC_RUNNER_MAX_OUTBOX',
    help: 'takes no work while more results than this wait to be delivered',
    bounds: [1, 100_000],
    fallback: '200',
  },
} as const satisfies Record<string, NumberFlag>;

const DEPLOY_ADDRESS = '127.0.0.1';
const DRAIN_TIMEOUT = '1h';
const APP_NETWORKS = ['contained', 'open'] as const;

export const RUN_FLAGS: readonly FlagSpec[] = [
  NUMBERS.slots,
  NUMBERS.buildSlots,
  {
    name: 'deploy-address',
    value: 'ip',
    env: 'SVC_RUNNER_DEPLOY_ADDRESS',
    help: 'address of this machine that deployed containers are bound to',
    fallback: DEPLOY_ADDRESS,
  },
  NUMBERS.deployMemoryMb,
  NUMBERS.deployCpus,
  NUMBERS.deployPids,
  {
    name: 'allow-insecure-git',
    env: 'SVC_RUNNER_ALLOW_INSECURE_GIT',
    help: 'clone by plain http, from loopback addresses only',
  },
  {
    name: 'allow-egress',
    value: 'host:port,…',
    env: 'SVC_RUNNER_ALLOW_EGRESS',
    help: "what builds, deployed apps, and git on the service's pool reach besides public addresses, such as a mirror of packages of this site",
  },
  {
    name: 'allow-registry',
    value: 'host:port,…',
    env: 'SVC_RUNNER_ALLOW_REGISTRY',
    help: 'registries on private addresses that pulls and pushes of builds reach, and steps of builds do not',
  },
  {
    name: 'allow-uncontained-builds',
    env: 'SVC_RUNNER_ALLOW_UNCONTAINED_BUILDS',
    help: 'build for many teams although builds are not contained on this machine: a Dockerfile is then root on it',
  },
  {
    name: 'app-network',
    value: APP_NETWORKS.join('|'),
    env: 'SVC_RUNNER_APP_NETWORK',
    help: "network of deployed apps: one of their own that leads to public addresses alone, or open, the engine's, from which they reach this machine and its site; the service's pool does not honour open",
    fallback: 'contained',
  },
  {
    name: 'allow-uncontained-apps',
    env: 'SVC_RUNNER_ALLOW_UNCONTAINED_APPS',
    help: 'deploy for many teams although apps are not contained on this machine: they then reach it and each other',
  },
  NUMBERS.maxStoreMb,
  EXECUTOR_FLAG,
  DEFAULT_IMAGE_FLAG,
  DATA_DIR_FLAG,
  CA_FILE_FLAG,
  {
    name: 'drain-timeout',
    value: 'time',
    env: 'SVC_RUNNER_DRAIN_TIMEOUT',
    help: 'how long SIGTERM waits for running work, such as 90s, 15m or 3h, at most 168h',
    fallback: DRAIN_TIMEOUT,
  },
  NUMBERS.minFreeMb,
  NUMBERS.maxSpoolMb,
  NUMBERS.maxOutbox,
  {
    name: 'metrics-file',
    value: 'path',
    env: 'SVC_RUNNER_METRICS_FILE',
    help: "rewritten every 15 s in Prometheus' text format, for node_exporter's textfile collector; its name ends with .prom",
  },
  {
    name: 'exit-when-outdated',
    env: 'SVC_RUNNER_EXIT_WHEN_OUTDATED',
    help: 'once idle, end with exit code 7 when the control plane gives this version no work any more',
  },
  {
    name: 'log-level',
    value: LOG_LEVELS.join('|'),
    env: 'SVC_RUNNER_LOG_LEVEL',
    help: 'least level of what is logged',
    fallback: 'info',
  },
];

export const EXECUTORS: readonly ExecutorName[] = ['podman', 'docker', 'namespaces'];

export function runSettings(flags: Flags, config: Partial<RunnerConfig>): RunSettings {
  const caFile = flags.text('ca-file') ?? config.caFile;
  const executor = oneOf('executor', flags.text('executor') ?? config.executor, EXECUTORS);
  const defaultImage = flags.text('default-image') ?? config.defaultImage;
  const metricsFile = promFile(flags.text('metrics-file') ?? config.metricsFile);
  const number = (key: keyof typeof NUMBERS): number => {
    const flag = NUMBERS[key];
    return wholeNumber(flag, flags.text(flag.name) ?? config[key] ?? flag.fallback);
  };
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
    throw new UsageError(
      `--ca-file cannot be read: ${error instanceof Error ? error.message : String(error)}`,
    );
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

function wholeNumber({ name, bounds: [min, max] }: NumberFlag, value: string | number): number {
  const number = typeof value === 'number' ? value : /^\d+$/.test(value) ? Number(value) : Number.NaN;
  if (!Number.isInteger(number) || number < min || number > max) {
    throw new UsageError(
      `--${name} is ${JSON.stringify(value)}, expected a whole number from ${min} to ${max}`,
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
