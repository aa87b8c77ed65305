/**
 * Runs `svc`. The version is answered before anything is loaded: it is what scripts and completion ask most,
 * and a table of commands is not needed for it.
 */
import { CLI_VERSION } from './version.ts';

const words = process.argv.slice(2);

if (words.length === 1 && (words[0] === '--version' || words[0] === '-V')) {
  process.stdout.write(`svc ${CLI_VERSION}\n`);
} else {
  const [{ run }, { processIo }] = await Promise.all([
    import('./shell/run.ts'),
    import('./shell/process-io.ts'),
  ]);
  // Every write was awaited, so nothing is lost; without this, idle connections would hold the process back.
  process.exit(await run(words, processIo()));
}
