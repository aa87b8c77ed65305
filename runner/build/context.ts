/** What every phase of one build works with. */
import { caEnv } from '../ca-bundle.ts';
import type { BuildEngine } from '../executor/executor.ts';
import type { BuildControl } from './control.ts';
import { MARK } from './marked.ts';
import type { BuildPlan } from './plan.ts';
import { runProcess, type ProcessOptions, type ProcessResult } from './process.ts';
import type { Workspace } from './workspace.ts';

export interface BuildContext {
  plan: BuildPlan;
  workspace: Workspace;
  control: BuildControl;
  engine: BuildEngine;
  runnerId: string;
  /** The daemon's own environment: PATH, proxies, and the engine's configuration. */
  env: NodeJS.ProcessEnv;
  /** Authorities to trust, the usual ones among them; undefined: the usual ones alone. */
  caFile: string | undefined;
  /** A line of the runner itself. */
  say: (line: string) => Promise<void>;
  /** Output of a command. */
  output: (stream: 'stdout' | 'stderr', chunk: Uint8Array) => Promise<void>;
}

/** How this machine reaches the world; nothing else of the daemon's environment goes to a build. */
const PROXY_NAMES = ['HTTP_PROXY', 'HTTPS_PROXY', 'NO_PROXY', 'ALL_PROXY'];
/** How the engine's client finds the engine and this user's registry credentials. */
const ENGINE_NAMES = [
  'XDG_RUNTIME_DIR',
  'DBUS_SESSION_BUS_ADDRESS',
  'DOCKER_HOST',
  'CONTAINER_HOST',
  'CONTAINERS_CONF',
  'CONTAINERS_STORAGE_CONF',
  'CONTAINERS_REGISTRIES_CONF',
  'REGISTRY_AUTH_FILE',
  'DOCKER_CONFIG',
  'USER',
];
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

/** For tools that must see nothing of this user: an empty home. */
export function cleanEnv(context: BuildContext): Record<string, string> {
  const proxies = PROXY_NAMES.flatMap((name) => [name, name.toLowerCase()]);
  return {
    ...base(context, proxies),
    HOME: context.workspace.home,
    ...(context.caFile === undefined ? {} : caEnv(context.caFile)),
  };
}

/** For the engine's client, which has this user's configuration. */
export function engineEnv(context: BuildContext): Record<string, string> {
  const home = context.env['HOME'];
  return {
    ...cleanEnv(context),
    ...base(context, ENGINE_NAMES),
    ...(home === undefined ? {} : { HOME: home }),
    DOCKER_BUILDKIT: '1',
  };
}

export async function call(
  context: BuildContext,
  options: Omit<ProcessOptions, 'cwd'> & { cwd?: string },
): Promise<ProcessResult> {
  return await runProcess({ cwd: context.workspace.folder, ...options }, context.control);
}
