/**
 * The entry of svc-runner picks the command, prints its errors in one place, and ends the process with its
 * exit code.
 */
import type { Command, CommandIo } from './commands/command-io.ts';
import { suggestion, UsageError } from './commands/flags.ts';
import { redact } from './platform/log.ts';
import { EXIT } from './daemon/shutdown.ts';
import { VERSION } from './platform/version.ts';
import { errorText } from './platform/errors.ts';

/** Each is loaded on demand: `status` need not load an executor. */
const COMMANDS: Readonly<Record<string, { summary: string; load: () => Promise<Command> }>> = {
  enroll: {
    summary: 'make a key on this machine and register it with a one-shot token',
    load: async () => (await import('./commands/enroll.ts')).enroll,
  },
  run: { summary: 'take work until stopped', load: async () => (await import('./commands/run.ts')).run },
  doctor: {
    summary: 'check this machine and say what to do',
    load: async () => (await import('./commands/doctor.ts')).doctor,
  },
  status: {
    summary: 'what the daemon on this machine is doing',
    load: async () => (await import('./commands/status.ts')).status,
  },
  hosting: {
    summary: 'what is deployed on this machine, by whichever of its runners',
    load: async () => (await import('./commands/hosting.ts')).hosting,
  },
  database: {
    summary: 'databases on this machine: list, shell, backup, restore',
    load: async () => (await import('./commands/database.ts')).database,
  },
  service: {
    summary: 'a systemd unit for this machine: print or install',
    load: async () => (await import('./commands/service.ts')).service,
  },
};

const HELP = `svc-runner ${VERSION}: runs your team's work on this machine. It only dials out; nothing listens on the network here.

Usage: svc-runner <command> [flags]

${Object.entries(COMMANDS)
  .map(([name, { summary }]) => `  ${name.padEnd(9)}${summary}`)
  .join('\n')}

svc-runner <command> --help shows its flags. A flag wins over its environment variable, that over <data-dir>/config.json, that over the default.

Exit codes: 0 done or drained, 1 failed, 2 wrong command line, 5 this runner was revoked, 6 another process took it over, 7 idle and outdated.
`;

async function main(argv: readonly string[], io: Omit<CommandIo, 'args'>): Promise<number> {
  const [name, ...args] = argv;
  if (name === undefined || name === 'help' || name === '--help' || name === '-h') {
    (name === undefined ? io.note : io.print)(HELP);
    return name === undefined ? EXIT.usage : EXIT.ok;
  }
  if (name === '--version' || name === '-v' || name === 'version') {
    io.print(`${VERSION}\n`);
    return EXIT.ok;
  }
  try {
    const command = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;
    if (command === undefined)
      throw new UsageError(
        `unknown command ${JSON.stringify(name)}${suggestion(name, Object.keys(COMMANDS))}`,
      );
    return await (
      await command.load()
    )({ ...io, args });
  } catch (error) {
    io.note(`svc-runner: ${redact(errorText(error))}\n`);
    if (!(error instanceof UsageError)) return EXIT.failed;
    io.note(`see: svc-runner ${Object.hasOwn(COMMANDS, name) ? `${name} ` : ''}--help\n`);
    return EXIT.usage;
  }
}

/** Connects the command to the process. */
async function start(): Promise<void> {
  // A reader that has ended (`svc-runner status | head`) is not an error.
  process.stdout.on('error', () => undefined);
  process.exitCode = await main(process.argv.slice(2), {
    env: process.env,
    print: (text) => void process.stdout.write(text),
    note: (text) => void process.stderr.write(text),
    onStopSignal(listener) {
      process.on('SIGTERM', listener);
      process.on('SIGINT', listener);
    },
  });
  // Whatever a library left open must not keep an ended daemon alive; printed text is flushed first.
  await new Promise<void>((resolve) => process.stdout.write('', () => resolve()));
  process.exit();
}

await start();
