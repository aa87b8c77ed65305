/** `node gateway/dist/main.js` runs one gateway until SIGTERM or SIGINT. The settings are in config.ts. */
import { boundUrl, boundWords } from '@svc/proto/process/bound.ts';
import { stopOnSignals } from '@svc/proto/process/stop-on-signals.ts';
import { readConfig, type Config } from './config.ts';
import { ConfigError } from '@svc/proto/process/settings.ts';
import { createLog } from '@svc/proto/process/log.ts';
import { startProcess } from './process.ts';

async function main(): Promise<void> {
  let config: Config;
  try {
    config = readConfig(process.env);
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
    process.exitCode = 2;
    return;
  }
  const log = createLog({ level: config.logLevel, name: 'gateway' });
  const running = await startProcess(config, log);
  process.stdout.write(
    `listening on ${boundUrl(config.host, running.port)}\n  bound to  ${boundWords(config.host, running.port)}\n`,
  );
  stopOnSignals(() => running.stop(), log);
}

main().catch((error: unknown) => {
  process.stderr.write(
    `gateway did not start: ${error instanceof ConfigError ? error.message : error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`,
  );
  process.exit(1);
});
