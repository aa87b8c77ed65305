/** `svc-runner run` runs the daemon in the foreground, for a service manager or a terminal. */
import type { CommandIo } from './command-io.ts';
import { startDaemon } from '../daemon/daemon.ts';
import { errorText } from '../platform/errors.ts';
import type { DetectOptions, Executor } from '../executor/executor.ts';
import { detectExecutor } from '../executor/detect.ts';
import { flagsHelp, readFlags, type FlagSpec } from './flags.ts';
import { dataPaths, defaultDataDir, requireConfig } from '../disk/identity.ts';
import { createLog, type Log } from '../platform/log.ts';
import { EXECUTORS, RUN_FLAGS, runSettings, SETTING_KEYS } from './settings.ts';
import type { RunSettings } from '../daemon/run-settings.ts';
import { createProblems } from '../daemon/problems.ts';
import { readState } from '../daemon/state-file.ts';
import { ownSecrets } from '../output/secrets.ts';

const FLAGS: readonly FlagSpec[] = [...RUN_FLAGS, { name: 'help', help: 'this text' }];

const HELP = `Usage: svc-runner run [flags]

Takes work until it is stopped. SIGTERM or Ctrl-C drains: no new work, running work is finished. A second one cancels what runs; it goes back to
the queue. Results that could not be delivered wait in the data folder for the next start.

${flagsHelp(FLAGS)}

A flag wins over its environment variable, that over the same setting in <data-dir>/config.json (${SETTING_KEYS.join(', ')}), that over the default. HTTPS_PROXY, HTTP_PROXY and NO_PROXY are honoured.
Exit codes: 0 drained, 1 failed, 2 wrong command line, 5 revoked, 6 another process took this runner over, 7 idle and outdated (--exit-when-outdated).
`;

/** Opens the daemon's executor; tests pass their own. */
export type OpenExecutor = (
  settings: RunSettings,
  context: { dataDir: string; runnerId: string; log: Log },
) => Promise<Executor>;

export async function run(io: CommandIo): Promise<number> {
  return await runWith(io, openDetected);
}

export async function runWith(io: CommandIo, openExecutor: OpenExecutor): Promise<number> {
  const flags = readFlags(FLAGS, HELP, io);
  if (flags === undefined) return 0;
  const { dataDir } = dataPaths(flags.text('data-dir') ?? defaultDataDir(io.env));
  const config = requireConfig(dataPaths(dataDir));
  const settings = runSettings(flags, config);
  const problems = createProblems();
  const log = problems.listen(
    createLog({ level: settings.logLevel, human: process.stderr.isTTY, write: io.note }),
  );
  // Starting takes a second or two; a signal in between must neither be lost nor leave a half-started daemon.
  let early = 0;
  let onSignal = (): void => {
    early += 1;
  };
  io.onStopSignal(() => onSignal());
  const daemon = await startDaemon({
    dataDir,
    config,
    settings,
    openExecutor: async () => await openExecutor(settings, { dataDir, runnerId: config.runnerId, log }),
    secrets: ownSecrets(io.env),
    log,
    problems,
    env: io.env,
  });
  onSignal = () => daemon.onSignal();
  for (; early > 0; early -= 1) onSignal();
  return await daemon.done;
}

const openDetected: OpenExecutor = async (settings, { dataDir, runnerId, log }) => {
  const common = {
    ...(settings.defaultImage === undefined ? {} : { defaultImage: settings.defaultImage }),
    dataDir,
    runnerId,
    log: (message: string, fields?: object) => log.info({ ...fields }, message),
  };
  const executor = await detectExecutor({
    ...common,
    ...(settings.executor === undefined ? {} : { wanted: settings.executor }),
  });
  if (executor.sharedUsers !== undefined)
    log.warn({ problem: executor.sharedUsers }, 'tasks have no users of their own on this machine');
  const before = EXECUTORS.find((name) => name === readState(dataPaths(dataDir).state)?.executor);
  if (before !== undefined && before !== executor.name) await reapOther({ ...common, wanted: before }, log);
  return executor;
};

/** Reaps with the executor that the last daemon here used: the new one does not see its tasks. */
async function reapOther(options: DetectOptions, log: Log): Promise<void> {
  try {
    const other = await detectExecutor({ ...options, log: () => undefined });
    for (const { id, epoch } of await other.reap(() => false))
      log.warn({ id, epoch, executor: other.name }, 'killed what an earlier process left behind');
  } catch (error) {
    log.warn(
      { executor: options.wanted, problem: errorText(error) },
      'the executor that was used before cannot be looked at; tasks of an earlier process may still run in it',
    );
  }
}
