/** The real daemon with the fake executor, as a process of its own. FAKE_EXECUTOR_DIR is the fake's folder. */
import { runWith } from '../commands/run.ts';
import { createFakeExecutor } from './fake-executor.ts';

process.exitCode = await runWith(
  {
    args: process.argv.slice(2),
    env: process.env,
    print: (text) => void process.stdout.write(text),
    note: (text) => void process.stderr.write(text),
    onStopSignal(listener) {
      process.on('SIGTERM', listener);
      process.on('SIGINT', listener);
    },
  },
  async () => createFakeExecutor(process.env['FAKE_EXECUTOR_DIR'] ?? ''),
);
process.exit();
