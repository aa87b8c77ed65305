/** `node gateway/dist/main.js`: one gateway, until SIGTERM or SIGINT. The settings are in config.ts. */
import { readdirSync } from 'node:fs';
import { setPriority } from 'node:os';
import { setFlagsFromString } from 'node:v8';
import { readConfig, type Config } from './config.ts';
import { createLog } from './log.ts';
import { startProcess } from './process.ts';

/**
 * A parked poll keeps 14 KB alive, but by default V8 lets the old generation grow to a multiple of what lives in it before it looks for
 * the dead, and polls that arrive by the thousand leave much behind that died too late for the nursery: 34 to 39 KB of resident
 * memory a poll. A collection at each half of growth gives 20 (`npm run bench polls`).
 *
 * Each of them marks what 10,000 polls keep alive, 200 ms of work. V8 does most of it on the main thread, in tasks between ours, so that
 * everything waits; without those tasks a helper thread does it and the main thread's share is 4 ms. One helper, so that on two cores
 * the other core stays free for what cannot wait.
 */
const V8_FLAGS = [
  '--heap-growing-percent=50',
  '--no-incremental-marking-task',
  '--concurrent-marking-max-worker-num=1',
];

/** Of 19: the helpers get a tenth of a core that others want, and a whole one that nobody wants. */
const HELPERS_NICENESS = 10;

/**
 * Marking can wait and dispatch cannot, here or in the processes beside this one: beside 10,000 polls offers took 100 to 200 ms whenever the helper thread
 * marked. Every thread but this one serves V8, or files and names, which a gateway looks up seldom. On Linux a priority is that of one thread; elsewhere, and
 * where it is forbidden, all stay as they are.
 */
function letHelpersYield(): void {
  try {
    for (const thread of readdirSync('/proc/self/task'))
      if (Number(thread) !== process.pid) setPriority(Number(thread), HELPERS_NICENESS);
  } catch {
    // Slower beside many polls, and right all the same.
  }
}

async function main(): Promise<void> {
  for (const flag of V8_FLAGS) setFlagsFromString(flag);
  letHelpersYield();
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
  const host = ['0.0.0.0', '::'].includes(config.host) ? 'localhost' : config.host;
  process.stdout.write(`listening on http://${host}:${running.port}\n`);

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
