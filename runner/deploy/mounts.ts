/**
 * Apps have volumes and paths on this machine. What a control plane says is checked here again: a name
 * becomes a volume of the engine, of which no container can write a part of the source's path, and a path
 * must be exactly what it says, below a folder that the operator lists.
 */
import { createHash } from 'node:crypto';
import { realpath, stat } from 'node:fs/promises';
import { isWithin } from '@svc/proto/hosting/mount-paths.ts';
import type { AppMounts } from '../build/deployer.ts';
import { BuildFailed } from '../build/failure.ts';
import type { Mount } from '../build/mount-plan.ts';
import { failureText } from '../executor/command.ts';
import { runEngine, type Engine } from '../executor/engine.ts';
import { errorText } from '../platform/errors.ts';
import { runnerLabel } from '../network/engine-networks.ts';
import { environmentLabel } from './app-containers.ts';
import type { UserRanges } from './user-ranges.ts';

const CALL_MS = 30_000;
/** The ids of the storage that a container has, between commas. */
export const mountsLabel = 'svc.mounts';
/** Paths of the machine that a container has, between commas. */
export const pathsLabel = 'svc.paths';
/** Name of the data that a volume is of. */
export const volumeLabel = 'svc.volume';
/** Place of the users of an environment's containers; see UserRanges. */
export const rangeLabel = 'svc.range';
const HASH_DIGITS = 16;

/** One environment has it, so that no container of another one can name it. */
export function volumeName(environment: string, hostPath: string): string {
  const digest = createHash('sha256').update(hostPath).digest('hex').slice(0, HASH_DIGITS);
  return `svc-vol-${environment}-${digest}`;
}

export interface MountsOptions {
  readonly engine: Engine;
  readonly runnerId: string;
  /** Folders below which paths may be mounted. */
  readonly roots: readonly string[];
  /** Neither they nor what is below or above them is mounted. */
  readonly kept: readonly string[];
  readonly ranges: UserRanges;
}

export function createMounts(options: MountsOptions): AppMounts {
  return {
    problemOf: async (mount: Mount): Promise<string | undefined> =>
      mount.kind === 'volume' ? undefined : await pathProblem(options, mount.hostPath),
    args: async (environment: string, mounts: readonly Mount[]): Promise<string[]> =>
      await mountArgs(options, environment, mounts),
    remove: async (environment: string, hostPath: string): Promise<void> =>
      await removeVolume(options.engine, volumeName(environment, hostPath)),
  };
}

async function pathProblem({ roots, kept }: MountsOptions, path: string): Promise<string | undefined> {
  if (!roots.some((root) => path !== root && isWithin(path, root)))
    return roots.length === 0
      ? `the machine mounts no paths: its operator lists folders with --allow-mount`
      : `${path} is not below ${roots.join(', ')}, which the operator of the machine lists`;
  try {
    // A link on the way may lead anywhere, and elsewhere tomorrow.
    const real = await realpath(path);
    if (real !== path) return `${path} is ${real} on the machine, and links are not followed`;
    if (!(await stat(path)).isDirectory()) return `${path} is no folder on the machine`;
  } catch (error) {
    return `${path} cannot be mounted: ${errorText(error)}`;
  }
  const near = kept.find((each) => isWithin(path, each) || isWithin(each, path));
  return near === undefined
    ? undefined
    : `${path} holds, or lies in, ${near}, which the machine keeps for itself`;
}

async function mountArgs(
  options: MountsOptions,
  environment: string,
  mounts: readonly Mount[],
): Promise<string[]> {
  if (mounts.length === 0) return [];
  const { engine, runnerId, ranges } = options;
  const paths = mounts.flatMap(({ kind, hostPath }) => (kind === 'path' ? [hostPath] : []));
  if (paths.length > 0) await refusePaths(options, environment, paths);
  const range = await ranges.of(environment);
  const args = [
    ...range.args,
    `--label=${mountsLabel}=${mounts.map(({ id }) => id).join(',')}`,
    ...(paths.length > 0 ? [`--label=${pathsLabel}=${paths.join(',')}`] : []),
  ];
  for (const { kind, hostPath, containerPath } of mounts) {
    if (kind === 'path') {
      args.push(`--mount=type=bind,source=${hostPath},destination=${containerPath}`);
      continue;
    }
    const name = volumeName(environment, hostPath);
    await makeVolume(engine, name, {
      [runnerLabel]: runnerId,
      [environmentLabel]: environment,
      [volumeLabel]: hostPath,
      ...(range.place !== undefined && { [rangeLabel]: String(range.place) }),
    });
    args.push(`--mount=type=volume,source=${name},destination=${containerPath}`);
  }
  return args;
}

/**
 * The last look before an engine gets paths: they may be others than at the beginning of the build, and no
 * other environment may write to a folder around them.
 */
async function refusePaths(
  options: MountsOptions,
  environment: string,
  paths: readonly string[],
): Promise<void> {
  const taken = await pathsOfOthers(options.engine, environment);
  for (const path of paths) {
    const near = taken.find((each) => isWithin(path, each) || isWithin(each, path));
    const problem =
      near === undefined
        ? await pathProblem(options, path)
        : `${path} is, holds or lies in ${near}, which is storage of another environment`;
    if (problem !== undefined) throw new BuildFailed(`storage ${path}: ${problem}`);
  }
}

async function pathsOfOthers(engine: Engine, environment: string): Promise<string[]> {
  const ids = await runEngine(engine, CALL_MS, 'ps', '--all', '--quiet', `--filter=label=${pathsLabel}`);
  if (ids.code !== 0) throw new Error(`${engine.name} cannot list containers: ${failureText(ids)}`);
  const names = ids.stdout.split('\n').filter((id) => id !== '');
  if (names.length === 0) return [];
  const format = '--format={{json .Config.Labels}}';
  // One that was removed meanwhile makes the call fail; the others are still printed.
  const { stdout } = await runEngine(engine, CALL_MS, 'inspect', '--type=container', format, ...names);
  return stdout
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line) as Record<string, string>)
    .filter((labels) => labels[environmentLabel] !== environment)
    .flatMap((labels) => (labels[pathsLabel] ?? '').split(','));
}

async function makeVolume(
  engine: Engine,
  name: string,
  labels: Readonly<Record<string, string>>,
): Promise<void> {
  if ((await runEngine(engine, CALL_MS, 'volume', 'inspect', name)).code === 0) return;
  const given = Object.entries(labels).map(([label, value]) => `--label=${label}=${value}`);
  const made = await runEngine(engine, CALL_MS, 'volume', 'create', ...given, name);
  if (made.code !== 0) throw new Error(`${engine.name} cannot make the volume ${name}: ${failureText(made)}`);
}

async function removeVolume(engine: Engine, name: string): Promise<void> {
  const removed = await runEngine(engine, CALL_MS, 'volume', 'rm', name);
  if (removed.code !== 0 && !/no such/i.test(removed.stderr))
    throw new Error(`${engine.name} cannot remove the volume ${name}: ${failureText(removed)}`);
}
