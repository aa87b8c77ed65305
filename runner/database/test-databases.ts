/**
 * Gives each attempt of a build that has steps an empty database of its own: in memory, under a password of
 * its own, on a network of its own, gone with the attempt.
 */
import { DATABASES } from '@svc/proto/hosting/databases.ts';
import type { AppLimits } from '../build/deployer.ts';
import { MachineFailed } from '../build/failure.ts';
import type { BuildPlan } from '../build/plan.ts';
import type { TestDatabase, TestDatabases } from '../build/test-database.ts';
import { failureText } from '../executor/command.ts';
import { runEngine, type Engine } from '../executor/engine.ts';
import { removeContainer } from '../deploy/app-containers.ts';
import type { AppNetworks } from '../network/app-network.ts';
import { runnerLabel } from '../network/engine-networks.ts';
import { errorText } from '../platform/errors.ts';
import type { Log } from '../platform/log.ts';
import { bringDatabaseImage, runDatabase, untilReady } from './containers.ts';
import { KINDS } from './kinds.ts';
import type { Passwords } from './passwords.ts';
import type { PreparedFiles } from './prepared.ts';

const CALL_MS = 30_000;
const READY_MS = 120_000;
const LOOK_MS = 100;
/** The rest of the container's memory is for its processes. */
const SHARE_OF_MEMORY = 0.5;
const testLabel = 'svc.test-database';

export interface TestDatabasesOptions {
  readonly engine: Engine;
  readonly runnerId: string;
  readonly limits: AppLimits;
  readonly networks: Pick<AppNetworks, 'enterDatabase' | 'leave'>;
  readonly passwords: Passwords;
  readonly prepared: PreparedFiles;
  readonly log: Log;
}

type Ref = Pick<BuildPlan, 'id' | 'epoch'>;

const secretOf = ({ id, epoch }: Ref): string => `of build ${id} ${epoch}`;

export function createTestDatabases(options: TestDatabasesOptions): TestDatabases {
  const { engine, runnerId, passwords } = options;
  return {
    secretsOf: (ref) => [passwords(secretOf(ref))],
    open: async (plan, isContained) => {
      const { testDatabase: wanted } = plan;
      if (wanted === undefined) return undefined;
      const app = `test-${plan.id}-${plan.epoch}`;
      try {
        return await open(options, { plan, wanted, app, isContained });
      } catch (error) {
        await close(options, app);
        throw new MachineFailed(`the test database of the build cannot be brought up: ${errorText(error)}`);
      }
    },
    async sweep() {
      const filters = [`--filter=label=${testLabel}`, `--filter=label=${runnerLabel}=${runnerId}`];
      const listed = await runEngine(engine, CALL_MS, 'ps', '--all', ...filters, '--format={{.Names}}');
      if (listed.code !== 0) throw new Error(`test databases cannot be listed: ${failureText(listed)}`);
      for (const name of listed.stdout.split('\n').filter((each) => each !== ''))
        await removeContainer(engine, name);
    },
  };
}

interface Opening {
  readonly plan: BuildPlan;
  readonly wanted: NonNullable<BuildPlan['testDatabase']>;
  readonly app: string;
  readonly isContained: boolean;
}

async function open(
  options: TestDatabasesOptions,
  { plan, wanted, app, isContained }: Opening,
): Promise<TestDatabase> {
  const { engine, runnerId, limits, networks, passwords, prepared } = options;
  const { type } = wanted;
  const kind = KINDS[type];
  const password = passwords(secretOf(plan));
  const image = await bringDatabaseImage(engine, wanted);
  const network = isContained ? await networks.enterDatabase(app) : undefined;
  const size = Math.floor(limits.memoryMb * SHARE_OF_MEMORY);
  const start = {
    plan: wanted,
    runnerId,
    app,
    environment: '',
    imageId: image.id,
    limits,
    hasUsers: false,
    labels: { [testLabel]: `${plan.id}-${plan.epoch}` },
  };
  const files = await prepared.of(start, image);
  const name = nameOf(app);
  await runDatabase(engine, {
    ...start,
    name,
    network: network?.args ?? [],
    data: [`--tmpfs=${kind.folder}:rw,size=${size}m,mode=0755`, ...(files?.data ?? [])],
    ...(files?.begin ?? { command: kind.testCommand }),
    password,
  });
  const host = network?.address ?? (await addressOf(engine, name));
  const wait = { password, withinMs: READY_MS, everyMs: LOOK_MS };
  await (files === undefined ? untilReady(engine, { name, type }, wait) : files.takeOver({ name }, wait));
  const url = kind.url(password, host);
  return {
    env: { [DATABASES[type].variable]: url, TEST_DATABASE_URL: url },
    endpoint: { host, port: kind.port },
    close: async () => await close(options, app),
  };
}

const nameOf = (app: string): string => `svc-db-${app}`;

async function addressOf(engine: Engine, name: string): Promise<string> {
  const format = '--format={{range .NetworkSettings.Networks}}{{.IPAddress}} {{end}}';
  const found = await runEngine(engine, CALL_MS, 'inspect', '--type=container', format, name);
  const [address = ''] = found.stdout.trim().split(' ');
  if (address === '') throw new Error(`the engine says no address of it: ${failureText(found)}`);
  return address;
}

/** Never rejects: what cannot be removed now is swept at the next start of the daemon. */
async function close({ engine, networks, log }: TestDatabasesOptions, app: string): Promise<void> {
  try {
    await removeContainer(engine, nameOf(app));
  } catch (error) {
    log.error({ container: nameOf(app), problem: errorText(error) }, 'a test database is not removed');
  }
  await networks.leave(app);
}
