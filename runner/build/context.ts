/** The context that every phase of one build works with. */
import { caEnv } from '../executor/ca-bundle.ts';
import { engineArgv } from '../executor/engine.ts';
import type { BuildEngine } from '../executor/executor.ts';
import type { BaseImages } from './base-images.ts';
import { containedCall, type ContainedHost } from './contained-engine.ts';
import type { TeamImages } from '../executor/team-images.ts';
import { ownerOf } from './containment.ts';
import type { Bind } from './containment-script.ts';
import type { BuildControl } from './control.ts';
import { UNREACHABLE, watchRefusals } from '../network/refusals.ts';
import { endpointOf, type EgressRules, type Endpoint, type HostNetwork } from '../network/egress.ts';
import { BuildFailed, MachineFailed } from './failure.ts';
import { MARK } from './marked.ts';
import type { BuildPlan } from './plan.ts';
import { runProcess, lastLines, type ProcessOptions, type ProcessResult } from './process.ts';
import type { TeamStore } from './team-store.ts';
import type { Workspace } from './workspace.ts';

export interface BuildContext {
  plan: BuildPlan;
  workspace: Workspace;
  control: BuildControl;
  engine: BuildEngine;
  runnerId: string;
  /** The daemon's own environment: PATH, proxies, and the engine's configuration. */
  env: NodeJS.ProcessEnv;
  /** Certificate authorities, the usual ones among them; undefined for the usual ones alone. */
  caFile: string | undefined;
  /** The contained engine; absent where this machine cannot contain builds. */
  contained: ContainedBuild | undefined;
  /** Writes a line of the runner itself. */
  writeLine: (line: string) => Promise<void>;
  /** Writes output of a command. */
  output: (stream: 'stdout' | 'stderr', chunk: Uint8Array) => Promise<void>;
}

/** The parts of a contained build. */
export interface ContainedBuild {
  host: ContainedHost;
  store: TeamStore;
  baseImages: BaseImages;
  /** They know what is in the machine's engine, and whose it is. */
  images: TeamImages;
  /** Destinations besides public addresses that the operator allows to builds. */
  allowedEgress: readonly Endpoint[];
  /** Registries besides the build's own that pulls and pushes may reach, at any address. */
  allowedRegistries: readonly Endpoint[];
  /** Pulls and pushes may reach it too: the service's local registry sends them there for their tokens. */
  controlPlane?: Endpoint | undefined;
  /** Replaced in tests. */
  hostNetwork?: HostNetwork;
}

/** The daemon's proxy variables; builds get nothing else of its environment. */
const PROXY_NAMES = ['HTTP_PROXY', 'HTTPS_PROXY', 'NO_PROXY', 'ALL_PROXY'];
/** Variables by which the engine's client finds the engine and this user's registry credentials. */
const ENGINE_NAMES =
  'XDG_RUNTIME_DIR DBUS_SESSION_BUS_ADDRESS DOCKER_HOST CONTAINER_HOST CONTAINERS_CONF CONTAINERS_STORAGE_CONF CONTAINERS_REGISTRIES_CONF REGISTRY_AUTH_FILE DOCKER_CONFIG USER'.split(
    ' ',
  );
const PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

function base(context: BuildContext, names: readonly string[]): Record<string, string> {
  const env: Record<string, string> = {
    PATH: context.env['PATH'] ?? PATH,
    LANG: 'C.UTF-8',
    TMPDIR: context.workspace.temporary,
    [MARK]: context.workspace.name,
  };
  for (const name of names) {
    const value = context.env[name];
    if (value !== undefined) env[name] = value;
  }
  return env;
}

/** The environment, with an empty home, of tools that must not see this user's files. */
export function cleanEnv(context: BuildContext): Record<string, string> {
  const proxies = PROXY_NAMES.flatMap((name) => [name, name.toLowerCase()]);
  return {
    ...base(context, proxies),
    HOME: context.workspace.home,
    ...(context.caFile === undefined ? {} : caEnv(context.caFile)),
  };
}

/** The environment of the engine's client, which uses this user's configuration. */
export function engineEnv(context: BuildContext): Record<string, string> {
  const home = context.env['HOME'];
  return {
    ...cleanEnv(context),
    ...base(context, ENGINE_NAMES),
    ...(home === undefined ? {} : { HOME: home }),
    DOCKER_BUILDKIT: '1',
    // Docker would push its own attestations with an index, whose digest is not that of the image that runs.
    // Old ones ignore the name.
    BUILDX_NO_DEFAULT_ATTESTATIONS: '1',
  };
}

export async function call(
  context: BuildContext,
  options: Omit<ProcessOptions, 'cwd'> & { cwd?: string },
): Promise<ProcessResult> {
  return await runProcess({ cwd: context.workspace.folder, ...options }, context.control);
}

const HTTPS_PORT = 443;
const CHOWN_MS = 300_000;

/**
 * Gives files and folders of the build to the contained commands' user, where that is another one. Links are
 * not followed.
 */
export async function giveToContainment(context: BuildContext, paths: readonly string[]): Promise<void> {
  const owner = containedOwner(context);
  if (owner !== undefined) await chown(context, owner, paths);
}

/** Takes back what contained commands have written: nothing of the build runs meanwhile. */
export async function takeFromContainment(context: BuildContext, paths: readonly string[]): Promise<void> {
  if (containedOwner(context) === undefined) return;
  await chown(context, { uid: process.geteuid?.() ?? 0, gid: process.getegid?.() ?? 0 }, paths);
}

function containedOwner({ contained }: BuildContext): { uid: number; gid: number } | undefined {
  return contained === undefined ? undefined : ownerOf(contained.host.containment.users);
}

async function chown(
  context: BuildContext,
  { uid, gid }: { uid: number; gid: number },
  paths: readonly string[],
): Promise<void> {
  const argv = ['chown', '--recursive', '--no-dereference', `${uid}:${gid}`, '--', ...paths];
  const changed = await call(context, { argv, env: cleanEnv(context), timeoutMs: CHOWN_MS });
  if (changed.code !== 0)
    throw new MachineFailed(`files of the build cannot be given to another user: ${lastLines(changed)}`);
}

export interface EngineCallOptions {
  args: readonly string[];
  /** Files and folders of the build that the call reads. */
  binds: readonly Bind[];
  /**
   * `public`: code of the build runs meanwhile; `registry`: none does, and the build's registry may be
   * reached, too.
   */
  network: 'none' | 'public' | 'registry';
  /** Ports besides the usual ones. */
  ports?: readonly number[];
  /** The call sees the images of the team's store alone, without the operator's, where it is false. */
  bases?: boolean;
  /** Used for an engine that is not contained. */
  env?: Readonly<Record<string, string>>;
  onOutput?: ProcessOptions['onOutput'];
}

export interface EngineCallResult extends ProcessResult {
  /** It failed because it called what calls of this machine may not reach; trying again does not help. */
  isUnreachable?: boolean;
}

/** Calls the engine for this build, contained where this machine can do that. */
export async function engineCall(
  context: BuildContext,
  options: EngineCallOptions,
): Promise<EngineCallResult> {
  const { contained, engine, plan, workspace, control, caFile } = context;
  const onOutput = options.onOutput === undefined ? {} : { onOutput: options.onOutput };
  if (contained === undefined)
    return await call(context, {
      argv: engineArgv(engine.engine, ...options.args),
      env: { ...engineEnv(context), ...options.env },
      ...onOutput,
    });
  const bases = options.bases === false ? undefined : await contained.baseImages.store();
  const { network } = options;
  const watch = network === 'none' ? undefined : watchRefusals(rulesOf(context, contained, options));
  const result = await containedCall(
    contained.host,
    {
      engine: engine.engine,
      args: options.args,
      store: contained.store,
      ...(bases === undefined ? {} : { bases }),
      binds: options.binds,
      name: workspace.name,
      caFile,
      limits: plan.limits,
      ...(watch === undefined ? {} : { egress: watch.rules }),
      ...onOutput,
    },
    control,
  );
  if (result.overMemory)
    throw new BuildFailed(`the build was over the memory limit of ${plan.limits.memoryMb} MiB`, 137);
  const isUnreachable = result.code !== 0 && watch?.isUnreachable(result.tail) === true;
  return { ...result, isUnreachable };
}

function rulesOf(
  context: BuildContext,
  contained: ContainedBuild,
  { network, ports = [] }: EngineCallOptions,
): EgressRules {
  const rules = egressOf(context, contained, network === 'registry' ? 'registry' : 'public');
  return { ...rules, ports: [...(rules.ports ?? []), ...ports] };
}

/**
 * Throws BuildFailed for a registry that a machine which builds for many teams may not reach: whatever is
 * there, the text is the same.
 */
export function refuseUnreachable(
  { plan }: BuildContext,
  { isUnreachable }: EngineCallResult,
  what: string,
): void {
  if (isUnreachable !== true || !plan.shared) return;
  throw new BuildFailed(
    `${what}: ${UNREACHABLE}: on a machine that builds for many teams, registries are reached at public addresses alone`,
  );
}

export function egressOf(
  context: BuildContext,
  contained: ContainedBuild,
  network: 'public' | 'registry',
): EgressRules {
  const { plan, env } = context;
  const host = plan.image === undefined ? undefined : endpointOf(plan.image.host, HTTPS_PORT);
  const isRegistry = network === 'registry' && host !== undefined;
  // In the service's pool a customer could name any address of the machine or its network as his registry:
  // only the service's own, which is guarded, is meant so.
  const isTrusted = !plan.shared || plan.image?.guarded === true;
  return {
    allowed: [...contained.allowedEgress, ...(network === 'registry' ? registriesOf(contained) : [])],
    env,
    ...(contained.hostNetwork === undefined ? {} : { hostNetwork: contained.hostNetwork }),
    refused: (line) => void context.writeLine(line).catch(() => undefined),
    ...(isRegistry ? { ports: [host.port] } : {}),
    ...(isRegistry && isTrusted ? { registry: { ...host, privateToo: !plan.shared } } : {}),
  };
}

function registriesOf({ allowedRegistries, controlPlane }: ContainedBuild): Endpoint[] {
  return [...allowedRegistries, ...(controlPlane === undefined ? [] : [controlPlane])];
}
