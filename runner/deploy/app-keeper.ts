/**
 * Starts apps again that have ended. The runner does it, and not the engine, because it does so after the
 * rules of their networks are made: an app is never up without them, after a reboot of the machine neither.
 * podman does not say reliably whether somebody stopped a container, so it starts those too: an app is held
 * by `podman pause`, and ended by the removal of its container.
 */
import { runEngine, type Engine } from '../executor/engine.ts';
import { failureText } from '../executor/command.ts';
import { errorText } from '../platform/errors.ts';
import type { Log } from '../platform/log.ts';
import { appLabel, runnerLabel } from '../network/engine-networks.ts';
import { appNames, engineCall } from './app-containers.ts';
import { keptLabel, startArgs } from './app-args.ts';

const CALL_MS = 30_000;
const ENDED = new Set(['exited', 'stopped', 'created', 'configured', 'initialized']);

interface ListedApp {
  Id: string;
  Names: string[];
  State: string;
  Labels: Record<string, string> | null;
  Networks?: string[] | null;
}

export interface KeeperOptions {
  engine: Engine;
  runnerId: string;
  /** The app is being deployed. */
  isBusy: (app: string) => boolean;
  log: Log;
}

export function createKeeper({ engine, runnerId, isBusy, log }: KeeperOptions) {
  /** Containers of which the log says already that they end. */
  const told = new Set<string>();
  const startOne = async (app: string, id: string): Promise<void> => {
    const started = await engineCall(engine, ...startArgs(engine, id));
    const level = told.has(id) ? 'debug' : started.code === 0 ? 'warn' : 'error';
    told.add(id);
    if (started.code === 0) log[level]({ app }, 'an app had ended, and is started again');
    else
      log[level](
        { app, problem: failureText(started) },
        'an app has ended and cannot be started again; the runner goes on trying',
      );
  };
  return {
    /** Returns the apps that have containers. */
    async startEnded() {
      const all = await listApps(engine, runnerId);
      for (const listed of all) {
        const app = listed.Labels?.[appLabel] ?? '';
        const serves = listed.Names.includes(appNames(app).current);
        const kept = listed.Labels?.[keptLabel] !== undefined;
        if (serves && kept && ENDED.has(listed.State.toLowerCase()) && !isBusy(app))
          await startOne(app, listed.Id);
      }
      const ids = new Set(all.map(({ Id }) => Id));
      for (const id of told) if (!ids.has(id)) told.delete(id);
      return new Set(all.map(({ Labels }) => Labels?.[appLabel] ?? ''));
    },
  };
}

export type Keeper = ReturnType<typeof createKeeper>;

/**
 * Apps that serve outside of a network of their own: of an earlier version, or deployed where none can be
 * made.
 */
export async function appsOutside(engine: Engine, runnerId: string): Promise<string[]> {
  return (await listApps(engine, runnerId)).flatMap(({ Names, Labels, Networks }) => {
    const app = Labels?.[appLabel] ?? '';
    const inside = (Networks ?? []).some((name) => name.startsWith(`svc-app-${app}-`));
    return !inside && Names.includes(appNames(app).current) ? [app] : [];
  });
}

async function listApps(engine: Engine, runnerId: string): Promise<ListedApp[]> {
  // docker prints lines of another form; its daemon starts apps again by itself.
  if (engine.name !== 'podman') return [];
  const filters = [`--filter=label=${runnerLabel}=${runnerId}`, `--filter=label=${appLabel}`];
  const listed = await runEngine(engine, CALL_MS, 'ps', '--all', ...filters, '--format=json');
  if (listed.code !== 0) throw new Error(`apps cannot be listed: ${failureText(listed)}`);
  try {
    return JSON.parse(listed.stdout.trim() || '[]') as ListedApp[];
  } catch (error) {
    throw new Error(`apps cannot be listed: ${errorText(error)}`, { cause: error });
  }
}
