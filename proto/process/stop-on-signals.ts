/** The process ends with SIGTERM or SIGINT: with the first one in order, with the second one at once. */
import type { Logger } from 'pino';

export function stopOnSignals(stop: () => Promise<void>, log: Logger): void {
  let signals = 0;
  const onSignal = (signal: NodeJS.Signals): void => {
    signals += 1;
    if (signals > 1) process.exit(1);
    log.info({ signal }, 'stopping; a second signal ends at once');
    stop().then(
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
