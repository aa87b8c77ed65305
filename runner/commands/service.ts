/**
 * `svc-runner service print|install` prints or writes the systemd unit for this machine. It starts nothing.
 */
import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, realpathSync, writeFileSync } from 'node:fs';
import { isAbsolute, join } from 'node:path';
import type { CommandIo } from './command-io.ts';
import { flagsHelp, readFlags, UsageError, type FlagSpec, type Flags } from './flags.ts';
import { DATA_DIR_FLAG, timeMs } from './settings.ts';
import { unitText, WATCHDOG_SECONDS_MIN } from './systemd-unit.ts';

const FLAGS: readonly FlagSpec[] = [
  DATA_DIR_FLAG,
  {
    name: 'exec',
    value: 'path',
    help: 'svc-runner itself; default: this program, with the node that runs it',
  },
  { name: 'user', value: 'name', help: 'run as this user, with rootless podman; default: root' },
  { name: 'drain-timeout', value: 'time', help: 'how long a stop waits for running work; default 1h' },
  {
    name: 'watchdog',
    value: 'time',
    help: `systemd starts a daemon anew that has been silent for so long, at least ${WATCHDOG_SECONDS_MIN}s; default 3m`,
  },
  { name: 'slots', value: 'n', help: 'as of run' },
  { name: 'build-slots', value: 'n', help: 'as of run' },
  { name: 'metrics-file', value: 'path', help: 'as of run' },
  { name: 'exit-when-outdated', help: 'as of run' },
  { name: 'unit-dir', value: 'dir', help: 'where install writes; default /etc/systemd/system' },
  { name: 'force', help: 'install over a unit that is there already' },
  { name: 'help', help: 'this text' },
];

const HELP = `Usage: svc-runner service print|install [flags]

print shows a systemd unit; install writes it to svc-runner.service and says how to start it. Other settings of run belong into <data-dir>/config.json.

${flagsHelp(FLAGS)}
`;

const UNIT = 'svc-runner.service';

export async function service(io: CommandIo): Promise<number> {
  const [verb, ...rest] = io.args;
  if (verb === '--help' || verb === undefined) {
    (verb === undefined ? io.note : io.print)(HELP);
    return verb === undefined ? 2 : 0;
  }
  if (verb !== 'print' && verb !== 'install')
    throw new UsageError(`service ${JSON.stringify(verb)} is unknown, expected print or install`);
  const flags = readFlags(FLAGS, HELP, { ...io, args: rest });
  if (flags === undefined) return 0;
  const text = unitOf(flags);
  if (verb === 'print') io.print(text);
  else install(text, flags, io);
  return await Promise.resolve(0);
}

function unitOf(flags: Flags): string {
  const drainTimeout = flags.text('drain-timeout') ?? '1h';
  const watchdogSeconds = Math.ceil(timeMs(flags.text('watchdog') ?? '3m', 'watchdog') / 1000);
  if (watchdogSeconds < WATCHDOG_SECONDS_MIN)
    throw new UsageError(
      `--watchdog is ${watchdogSeconds} s, at least ${WATCHDOG_SECONDS_MIN} s: heartbeats may be 70 s apart while the control plane serves no runners`,
    );
  const name = flags.text('user');
  const exec = flags.text('exec') ?? realpathSync(process.argv[1] ?? '');
  const dataDir = flags.text('data-dir') ?? '/var/lib/svc-runner';
  for (const [flag, path] of [
    ['exec', exec],
    ['data-dir', dataDir],
  ] as const)
    if (!isAbsolute(path))
      throw new UsageError(`--${flag} is ${JSON.stringify(path)}, expected an absolute path`);
  const passed = ['slots', 'build-slots', 'metrics-file'].flatMap((flag) => {
    const value = flags.text(flag);
    return value === undefined ? [] : [`--${flag}`, value];
  });
  return unitText({
    // systemd's PATH may not have the node that this program was started with.
    exec: flags.text('exec') === undefined || isNodeScript(exec) ? [process.execPath, exec] : [exec],
    dataDir,
    drainTimeout,
    drainTimeoutMs: timeMs(drainTimeout, 'drain-timeout'),
    watchdogSeconds,
    user: name === undefined ? undefined : { name, uid: uidOf(name) },
    flags: [...passed, ...(flags.on('exit-when-outdated') ? ['--exit-when-outdated'] : [])],
  });
}

/** A package manager's command is a link to such a script. */
function isNodeScript(path: string): boolean {
  try {
    return /^#!.*\bnode\b/.test(readFileSync(path, 'latin1').slice(0, 256));
  } catch {
    return false; // The unit may be for another machine.
  }
}

function uidOf(name: string): number | undefined {
  if (!/^[a-z_][a-z0-9_-]{0,31}$/i.test(name))
    throw new UsageError(`--user is ${JSON.stringify(name)}, expected a user name`);
  try {
    return Number(execFileSync('id', ['-u', name], { stdio: ['ignore', 'pipe', 'ignore'] }).toString());
  } catch {
    throw new UsageError(
      `--user ${name}: there is no such user here; make it first: useradd --system --create-home ${name}`,
    );
  }
}

function install(text: string, flags: Flags, io: CommandIo): void {
  const folder = flags.text('unit-dir') ?? '/etc/systemd/system';
  const path = join(folder, UNIT);
  mkdirSync(folder, { recursive: true });
  try {
    writeFileSync(path, text, { mode: 0o644, flag: flags.on('force') ? 'w' : 'wx' });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    throw new Error(
      `${path} exists; look at it, then repeat with --force, or see: svc-runner service print`,
      {
        cause: error,
      },
    );
  }
  io.print(`wrote ${path}\nto start it: systemctl daemon-reload && systemctl enable --now ${UNIT}\n`);
}
