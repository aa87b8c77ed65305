/** Storage, state and end of apps of Dokku go through its own commands. */
import type { DeployPlan } from '../build/plan.ts';
import { systemClock } from '@svc/proto/process/clock.ts';
import type { WireHostApp } from '../control-plane/wire.ts';
import { failureText, findProgram, runCommand } from '../executor/command.ts';
import type { Log } from '../platform/log.ts';
import { createDokkuDomains, hasLetsencrypt, type Dokku } from './dokku-domains.ts';
import { createDokkuLogs } from './dokku-logs.ts';
import { volumeName } from './mounts.ts';

const QUICK_MS = 60_000;
/** Variable of an app: the environment that deployed it. */
export const ENVIRONMENT_VARIABLE = 'SVC_DEPLOYED_ENVIRONMENT';
/** Dokku keeps folders of apps there. */
const STORAGE = '/var/lib/dokku/data/storage';

type Storage = Pick<DeployPlan['mounts'][number], 'kind' | 'hostPath' | 'containerPath'>;

const folderOf = (environment: string, { kind, hostPath }: Storage): string =>
  kind === 'path' ? hostPath : `${STORAGE}/${volumeName(environment, hostPath)}`;

/** Makes the line of it that `storage:list` prints. */
const pairOf = (environment: string, mount: Storage): string =>
  `${folderOf(environment, mount)}:${mount.containerPath}`;

const linesOf = (listed: string): string[] => listed.split('\n').map((line) => line.trim());

/**
 * Makes the calls that bring an app the storage that it should have. What a person has mounted stays.
 *
 * @param listed Output of `storage:list`.
 */
export function changesOfStorage(
  { app, environment = '', mounts }: DeployPlan,
  listed: string,
): ReadonlyArray<readonly string[]> {
  const there = linesOf(listed);
  const wanted = mounts.map((mount) => pairOf(environment, mount));
  const ours = there.filter((pair) => pair.startsWith(`${STORAGE}/svc-vol-`));
  const missing = mounts.filter((mount) => !there.includes(pairOf(environment, mount)));
  return [
    ...ours.filter((pair) => !wanted.includes(pair)).map((pair) => ['storage:unmount', app, pair]),
    ...missing.flatMap((mount) => [
      ...(mount.kind === 'volume'
        ? [['storage:ensure-directory', volumeName(environment, mount.hostPath)]]
        : []),
      ['storage:mount', app, pairOf(environment, mount)],
    ]),
  ];
}

export interface DokkuHost {
  /** Stops an app of an environment. It is not destroyed: what its owner has linked to it is his. */
  stop(app: string, environment: string): Promise<void>;
  /** Says whether an app runs, and which of this storage it has; undefined for an app that is not there. */
  look(
    app: string,
    environment: string,
    mounts: readonly Storage[],
  ): Promise<{ readonly isRunning: boolean; readonly has: readonly Storage[] } | undefined>;
  /** Has Dokku serve the names of an app, and says how they stand. */
  readonly serve: ReturnType<typeof createDokkuDomains>['serve'];
  /** Reads what nginx has logged of the apps of these documents that are Dokku's. */
  logs(documents: () => Iterable<WireHostApp>): ReturnType<typeof createDokkuLogs>;
}

const dokkuOf =
  (env: NodeJS.ProcessEnv): Dokku =>
  async (args, timeoutMs = QUICK_MS) =>
    await runCommand([findProgram('dokku') ?? 'dokku', ...args], { timeoutMs, env });

/** Says what the machine's Dokku can do for names; undefined where there is none. */
export async function readDokku(env: NodeJS.ProcessEnv): Promise<{ getsCertificates: boolean } | undefined> {
  if (findProgram('dokku') === undefined) return undefined;
  return { getsCertificates: await hasLetsencrypt(dokkuOf(env)) };
}

export function createDokkuHost(
  env: NodeJS.ProcessEnv,
  { dataDir, log }: { readonly dataDir: string; readonly log: Log },
): DokkuHost {
  const call = dokkuOf(env);
  const dokku = async (...args: readonly string[]) => await call(args);
  const { serve } = createDokkuDomains({ dokku: call, dataDir, clock: systemClock, log });
  const isOf = async (app: string, environment: string): Promise<boolean> =>
    (await dokku('apps:exists', app)).code === 0 &&
    (await dokku('config:get', app, ENVIRONMENT_VARIABLE)).stdout.trim() === environment;
  return {
    serve,
    async stop(app, environment) {
      if (!(await isOf(app, environment))) return;
      const stopped = await dokku('ps:stop', app);
      if (stopped.code !== 0) throw new Error(`dokku ps:stop failed: ${failureText(stopped)}`);
    },
    async look(app, environment, mounts) {
      if (!(await isOf(app, environment))) return undefined;
      const listed = linesOf((await dokku('storage:list', app)).stdout);
      const running = (await dokku('ps:report', app, '--running')).stdout.trim();
      return {
        isRunning: running === 'true' || running === 'mixed',
        has: mounts.filter((mount) => listed.includes(pairOf(environment, mount))),
      };
    },
    logs: (documents) =>
      createDokkuLogs(
        async ({ app, environmentId }) => {
          if (!(await isOf(app, environmentId))) return undefined;
          const [access, error] = [
            await dokku('nginx:access-logs', app),
            await dokku('nginx:error-logs', app),
          ];
          const isRead = access.code === 0 && error.code === 0;
          return isRead ? { access: access.stdout, error: error.stdout } : undefined;
        },
        () => [...documents()].filter(({ kind }) => kind === 'dokku'),
        systemClock,
      ),
  };
}
