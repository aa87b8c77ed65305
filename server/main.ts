/** `npm start` runs the platform, until SIGTERM or SIGINT. The settings are in config.ts. */
import { startGateway } from '@svc/gateway/index.ts';
import { boundWords } from '@svc/proto/process/bound.ts';
import type { Bootstrap } from './bootstrap.ts';
import { ConfigError, readConfig, type Config } from './config.ts';
import { examine } from './doctor.ts';
import { diskFull, isConnectionError, isWrongDatabase, SessionRefused } from './base/db/index.ts';
import { createLog, scrub } from '@svc/proto/process/log.ts';
import { stopOnSignals } from '@svc/proto/process/stop-on-signals.ts';
import { migrateOnly, startSystem, type RunningServer } from './system.ts';

function readOrExplain(): Config | undefined {
  try {
    return readConfig(process.env);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    process.stderr.write(`${error.message}\n`);
    return undefined;
  }
}

/** The banner is for people; scripts read the line that begins with `listening on`. */
function banner(config: Config, { baseUrl, port, internalPort, localRegistry }: RunningServer): string {
  const rows: ReadonlyArray<readonly [string, string]> = [
    ['bound to', boundWords(config.host, port)],
    [
      'serving',
      config.mode === 'all-in-one'
        ? 'API and machine endpoints'
        : 'API; gateways serve the machine endpoints',
    ],
    ['database', config.databaseUrl === undefined ? `embedded, in ${config.dataDir}` : 'DATABASE_URL'],
    ['queue', config.amqpUrl === undefined ? 'in this process' : 'RabbitMQ'],
    [
      'registry',
      localRegistry === '' ? 'none: teams need one of their own, see LOCAL_REGISTRY' : localRegistry,
    ],
    ...(internalPort === undefined
      ? []
      : [['internal', `gRPC, ${boundWords(config.internalHost, internalPort)}`] as const]),
    ['console', `${baseUrl}/console/`],
    ['contract', `${baseUrl}/openapi.json`],
  ];
  return rows.map(([name, value]) => `  ${name.padEnd(10)}${value}\n`).join('');
}

/** Secrets go to a person at a terminal alone: whatever else reads this output may keep it. */
function welcome(config: Config, first: Bootstrap): string {
  const file = `${config.dataDir}/bootstrap.json`;
  const lines = process.stdout.isTTY
    ? [
        'first start: an account, a team and keys were made. This is shown once; it is also in',
        `${file}, which only you can read.`,
        `  sign in   ${first.staffEmail}  ${first.staffPassword}`,
        `  team      ${first.teamId}`,
        `  API key   ${first.apiKey}`,
        `  staff key ${first.staffApiKey}`,
      ]
    : [
        'first start: an account, a team and keys were made. They are in',
        `${file}, which only its owner can read.`,
        `  team      ${first.teamId}`,
      ];
  return ['', ...lines, '', ''].join('\n');
}

async function main(): Promise<void> {
  const config = readOrExplain();
  if (config === undefined) {
    process.exitCode = 2;
    return;
  }
  const [command] = process.argv.slice(2);
  if (command === 'doctor') {
    process.exitCode = (await examine(config, (line) => void process.stdout.write(scrub(line)))) ? 0 : 1;
    return;
  }
  if (command !== undefined) {
    process.stderr.write(`there is no command "${command}", expected doctor or none\n`);
    process.exitCode = 2;
    return;
  }
  const log = createLog({ level: config.logLevel });
  if (config.migrate === 'only') {
    await migrateOnly(config, log);
    process.stdout.write('the database has all migrations of this version\n');
    return;
  }
  const server = await startSystem(config, { log, startGateway });
  stopOnSignals(() => server.stop(), log);
  if (server.firstStart !== undefined) process.stdout.write(welcome(config, server.firstStart));
  process.stdout.write(`listening on ${server.baseUrl}\n${banner(config, server)}`);
}

/** A database that is not there needs no stack; anything unknown does. */
function explain(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error instanceof ConfigError || error instanceof SessionRefused || isWrongDatabase(error))
    return error.message;
  const full =
    diskFull(error) ?? (/no space left on device/i.test(error.message) ? 'a disk is full' : undefined);
  if (full !== undefined) return `${full} (${error.message})`;
  if (isConnectionError(error))
    return `the database cannot be reached (${error.message}): check DATABASE_URL and that it runs`;
  return error.stack ?? error.message;
}

main().catch((error: unknown) => {
  process.stderr.write(`server did not start: ${scrub(explain(error))}\n`);
  process.exit(1);
});
