/**
 * Here is how a platform is started for the stories: its processes, the bootstrap accounts, and a team that
 * runs its own work.
 */
import { execFileSync } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createSvcSDK } from '@svc/sdk';
import type { Bootstrap } from '../../server/bootstrap.ts';
import { createMigratedDatabase } from '../setup/database.ts';
import { AMQP_URL, has } from '../setup/needs.ts';
import { runsItself } from '../setup/own-runners.ts';
import { waitFor } from '../setup/wait-for.ts';
import { startProgram, type Program } from './processes.ts';

const root = new URL('../..', import.meta.url).pathname;

export type Sdk = ReturnType<typeof createSvcSDK>;

export type Platform = Awaited<ReturnType<typeof startPlatform>>;

/**
 * Without a DATABASE_URL the server makes a cluster of its own, which costs more than all else of its start.
 * `machine`: a database at the machine's PostgreSQL instead, where there is one; for stories that are not
 * about that. `flags`: Node's own.
 */
export async function startPlatform(
  env: Record<string, string> = {},
  where: 'own' | 'machine' = 'own',
  flags: readonly string[] = [],
) {
  const folder = await mkdtemp(join(tmpdir(), 'svc-e2e-'));
  const database =
    where === 'machine' && (await has('postgres')) ? await createMigratedDatabase() : undefined;
  const [first, ...rest] = [...flags, 'server/dist/main.js'] as const;
  const server = startProgram(first ?? '', rest, {
    PORT: '0',
    DATA_DIR: join(folder, 'platform'),
    LOG_LEVEL: 'warn',
    // Named, and there for the stories that start it: `auto` would start one for each platform.
    LOCAL_REGISTRY: '127.0.0.1:5000',
    ...(database === undefined ? {} : { DATABASE_URL: database.url }),
    ...env,
  });
  const url = (await server.says(/listening on (http:\/\/\S+)/, 60_000))[1] ?? '';
  const bootstrap = JSON.parse(
    await readFile(join(folder, 'platform', 'bootstrap.json'), 'utf8'),
  ) as Bootstrap;
  const sdk = createSvcSDK({ baseUrl: url, apiKey: bootstrap.apiKey });
  const staff = createSvcSDK({ baseUrl: url, apiKey: bootstrap.staffApiKey });
  const runners: Program[] = [];

  return {
    url,
    bootstrap,
    /** Address of the database of `machine`, and else empty. */
    databaseUrl: database?.url ?? '',
    /** It acts as the developer of the bootstrap team. */
    sdk,
    staff,
    folder,
    server,

    /** Makes a team of the bootstrap account whose work goes to its own runners. */
    async customerTeam(name: string): Promise<string> {
      const team = await sdk.teams.create(name);
      await runsItself(staff, team.id);
      return team.id;
    },

    /** Makes an environment in a project of its own, which builds this repository. */
    async environment(teamId: string, repository: string, more: object = {}) {
      const { id: projectId } = await sdk.projects.create({ name: 'web', teamId });
      return await sdk.environments.create(projectId, { name: 'production', repository, ...more });
    },

    /** The end of a build is waited for. */
    endedBuild: async (environmentId: string, buildId: string, withinMs = 120_000) =>
      await waitFor(`${buildId} to end`, async () => await sdk.builds.get(environmentId, buildId), {
        holds: ({ finishedAt }) => finishedAt !== undefined,
        withinMs,
      }),

    /** Enrolls and starts a real daemon; resolves when it is live. */
    async startRunner(
      teamId: string,
      name: string,
      args: readonly string[] = [],
    ): Promise<Program & { readonly runnerId: string; readonly dataDir: string }> {
      const { token } = await sdk.runners.createEnrollToken(teamId);
      const dataDir = join(folder, name);
      const enroll = startProgram(
        'runner/bin/svc-runner.mjs',
        ['enroll', '--url', url, '--name', name, '--data-dir', dataDir],
        { SVC_ENROLL_TOKEN: token },
      );
      const code = await enroll.exited;
      if (code !== 0) throw new Error(`enrollment ended with ${code}:\n${enroll.output()}`);
      const daemon = startProgram('runner/bin/svc-runner.mjs', ['run', '--data-dir', dataDir, ...args]);
      runners.push(daemon);
      for (let tries = 0; ; tries += 1) {
        const runner = (await sdk.runners.list(teamId)).find((found) => found.name === name);
        if (runner?.health === 'live') return Object.assign(daemon, { runnerId: runner.id, dataDir });
        if (tries > 600 || daemon.child.exitCode !== null)
          throw new Error(`runner ${name} is ${runner?.health ?? 'unknown'}:\n${daemon.output()}`);
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
    },

    svc(...args: string[]): { readonly stdout: string; readonly status: number; readonly stderr: string } {
      try {
        const stdout = execFileSync(process.execPath, ['cli/bin/svc.mjs', ...args], {
          cwd: root,
          env: {
            ...process.env,
            SVC_API_KEY: bootstrap.apiKey,
            SVC_BASE_URL: url,
            XDG_CONFIG_HOME: folder,
            NO_COLOR: '1',
          },
          stdio: ['ignore', 'pipe', 'pipe'],
        }).toString();
        return { stdout, status: 0, stderr: '' };
      } catch (error) {
        const failed = error as { status: number; stdout: Buffer; stderr: Buffer };
        return { stdout: failed.stdout.toString(), status: failed.status, stderr: failed.stderr.toString() };
      }
    },

    async stop(): Promise<void> {
      await Promise.all(runners.map((runner) => runner.stop('SIGKILL')));
      await server.stop('SIGTERM');
      await database?.drop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** A server without a gateway of its own, whose internal port is this one. */
export async function startSplit(internalPort: number, internalToken: string): Promise<Platform> {
  const env = {
    AMQP_URL,
    SVC_MODE: 'split',
    INTERNAL_PORT: String(internalPort),
    INTERNAL_TOKEN: internalToken,
    LOG_LEVEL: 'error',
  };
  return await startPlatform(env, 'machine');
}
