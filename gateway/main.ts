/** `node gateway/dist/main.js`: one gateway, until SIGTERM or SIGINT. The settings are in config.ts. */
import { boundUrl, boundWords } from '@svc/proto/process/bound.ts';
import { readConfig, type Config } from './config.ts';
import { createLog } from './log.ts';
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
  const log = createLog(config.logLevel);
  const running = await startProcess(config, log);
  process.stdout.write(
    `listening on ${boundUrl(config.host, running.port)}\n  bound to  ${boundWords(config.host, running.port)}\n`,
  );

  let signals = 0;
  const onSignal = (signal: NodeJS.Signals): void => {
    signals += 1;
    if (signals > 1) process.exit(1);
    log.info({ signal }, 'stopping; held polls are answered, a second signal ends at once');
    running.stop().then(
      () => process.exit(0),
      (error: unknown) => {
        log.error({ err: error }, 'stop failed');
        process.exit(1);
      },
    );
  };
  process.on('SIGTERM', onSignal);
  process.on('SIGINT', onSignal);
}

main().catch((error: unknown) => {
  process.stderr.write(
    `gateway did not start: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`,
  );
  process.exit(1);
});
