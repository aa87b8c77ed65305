/**
 * This file runs the real daemon with the fake executor, as a process of its own. FAKE_EXECUTOR_DIR is the
 * fake's folder. CRASH_AFTER names a journal event: the process kills itself with SIGKILL as soon as that
 * line is on the disk and before any call reports it. SLOW_START names a file that the executor waits for.
 */
import { existsSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { pause } from '../../../runner/platform/clock.ts';
import { runWith } from '../../../runner/commands/run.ts';
import { createFakeExecutor } from './fake-executor.ts';

const crashAfter = process.env['CRASH_AFTER'];
if (crashAfter !== undefined) await crashWhenSynced(`"event":"${crashAfter}"`);

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
  async () => {
    const gate = process.env['SLOW_START'];
    if (gate !== undefined) process.stderr.write('starting slowly\n');
    while (gate !== undefined && !existsSync(gate)) await pause(10);
    return createFakeExecutor(process.env['FAKE_EXECUTOR_DIR'] ?? '');
  },
);
process.exit();

/**
 * Lines reach the journal by appendFile and count from datasync on; both are methods of every file handle.
 */
async function crashWhenSynced(mark: string): Promise<void> {
  const probe = await open('/dev/null');
  const handles = Object.getPrototypeOf(probe) as {
    appendFile: typeof probe.appendFile;
    datasync: typeof probe.datasync;
  };
  await probe.close();
  const { appendFile, datasync } = handles;
  let seen = false;
  handles.appendFile = async function append(this: typeof probe, data, options) {
    if (typeof data === 'string' && data.includes(mark)) seen = true;
    return await appendFile.call(this, data, options);
  };
  handles.datasync = async function sync(this: typeof probe) {
    await datasync.call(this);
    if (seen) process.kill(process.pid, 'SIGKILL');
  };
}
