/**
 * Here is how a platform is started for the stories: its processes, the bootstrap accounts, and a team that
 * runs its own work.
 */
import { execFileSync } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createSvcSDK } from '@svc/sdk';
import { createMigratedDatabase } from '../setup/database.ts';
import { has } from '../setup/needs.ts';
import { startProgram, type Program } from './processes.ts';

const root = new URL('../..', import.meta.url).pathname;

export interface Bootstrap {
  readonly baseUrl: string;
  readonly staffEmail: string;
  readonly staffPassword: string;
  readonly staffApiKey: string;
  readonly teamId: string;
  readonly apiKey: string;
}

export type Sdk = ReturnType<typeof createSvcSDK>;

export interface Platform {
  readonly url: string;
  readonly bootstrap: Bootstrap;
  /** The bootstrap team's developer. */
  readonly sdk: Sdk;
  readonly staff: Sdk;
  readonly folder: string;
  readonly server: Program;
  /** Makes a team of the bootstrap account whose work goes to its own runners. */
  customerTeam(name: string): Promise<string>;
  /** Enrolls and starts a real daemon; resolves when it is live. */
  startRunner(
    teamId: string,
    name: string,
    args?: readonly string[],
  ): Promise<Program & { readonly runnerId: string; readonly dataDir: string }>;
  svc(...args: string[]): { readonly stdout: string; readonly status: number; readonly stderr: string };
  stop(): Promise<void>;
}

/**
 * Without a DATABASE_URL the server makes a cluster of its own, which costs more than all else of its start.
 * `machine`: a database at the machine's PostgreSQL instead, where there is one; for stories that are not
 * about that. `flags`: Node's own.
 */
export async function startPlatform(
  env: Record<string, string> = {},
  where: 'own' | 'machine' = 'own',
  flags: readonly string[] = [],
): Promise<Platform> {
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
    sdk,
    staff,
    folder,
    server,

    async customerTeam(name) {
      const team = await sdk.teams.create(name);
      const region = (await staff.regions.list()).find(({ operator }) => operator === 'customer');
      if (region === undefined) throw new Error('no customer-operated region after the first start');
      await staff.adminTeams.setRegion(team.id, region.id);
      return team.id;
    },

    async startRunner(teamId, name, args = []) {
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

    svc(...args) {
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

    async stop() {
      await Promise.all(runners.map((runner) => runner.stop('SIGKILL')));
      await server.stop('SIGTERM');
      await database?.drop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
