/**
 * `svc-runner doctor` checks everything that a working runner needs, one line each, with advice. Exit code 1
 * when a check fails.
 */
import type { CommandIo } from './command-io.ts';
import { runChecks, type CheckResult } from '../doctor/checks.ts';
import { flagsHelp, readFlags, UsageError, type FlagSpec } from './flags.ts';
import { dataPaths, defaultDataDir, readConfig } from '../disk/identity.ts';
import { redact } from '../platform/log.ts';
import { CA_FILE_FLAG, DATA_DIR_FLAG, DEFAULT_IMAGE_FLAG, EXECUTOR_FLAG, runSettings } from './settings.ts';

const FLAGS: readonly FlagSpec[] = [
  {
    name: 'url',
    value: 'base url',
    env: 'SVC_RUNNER_URL',
    help: 'the control plane; default: the one that this machine is enrolled at',
  },
  DATA_DIR_FLAG,
  CA_FILE_FLAG,
  EXECUTOR_FLAG,
  DEFAULT_IMAGE_FLAG,
  {
    name: 'registry',
    value: 'host[/namespace]',
    help: "whether this machine may push there, by an upload that is begun and thrown away; default: the last build's",
  },
  { name: 'push-test', help: 'with --registry: push a tiny image there, for real, as svc-runner-doctor' },
  { name: 'json', help: 'as JSON' },
  { name: 'help', help: 'this text' },
];

const HELP = `Usage: svc-runner doctor [flags]

Checks data folder, disk, executors, control groups, namespaces, the way to the control plane (proxy, name, TLS, clock, registration, version), the registry,
git, pack and dokku, the edge where config.json switches it on, and what waits to be delivered. Changes nothing, but for --push-test. Exit code 1 when a check fails.

${flagsHelp(FLAGS)}
`;

const SIGNS: Readonly<Record<CheckResult['status'], string>> = {
  ok: 'ok  ',
  warn: 'warn',
  fail: 'FAIL',
  skip: 'skip',
};

export async function doctor(io: CommandIo): Promise<number> {
  const flags = readFlags(FLAGS, HELP, io);
  if (flags === undefined) return 0;
  const paths = dataPaths(flags.text('data-dir') ?? defaultDataDir(io.env));
  const config = readableConfig(paths);
  const settings = runSettings(flags, config ?? {});
  const baseUrl = flags.text('url') ?? config?.baseUrl;
  const json = flags.on('json');
  const registry = flags.text('registry');
  if (flags.on('push-test') && registry === undefined)
    throw new UsageError('--push-test needs --registry <host>[/<namespace>]');
  const results = await runChecks(
    {
      paths,
      ...(config === undefined ? {} : { config }),
      settings,
      ...(baseUrl === undefined ? {} : { baseUrl }),
      ...(registry === undefined ? {} : { registry }),
      pushTest: flags.on('push-test'),
      env: io.env,
    },
    json ? () => undefined : (result) => io.print(line(result)),
  );
  const failed = results.filter((result) => result.status === 'fail').length;
  if (json) io.print(`${redact(JSON.stringify({ ok: failed === 0, checks: results }))}\n`);
  else
    io.print(failed === 0 ? 'this machine can run work\n' : `${failed} of ${results.length} checks failed\n`);
  return failed === 0 ? 0 : 1;
}

function line(result: CheckResult): string {
  const advice = result.advice === undefined ? '' : `\n      → ${result.advice}`;
  return redact(`${SIGNS[result.status]}  ${result.name.padEnd(12)}${result.detail}${advice}\n`);
}

/** An unreadable config is a finding of the data folder's check, not the end of the doctor. */
function readableConfig(paths: ReturnType<typeof dataPaths>): ReturnType<typeof readConfig> {
  try {
    return readConfig(paths);
  } catch {
    return undefined;
  }
}
