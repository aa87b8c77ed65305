/** `svc registries add`: the password never stands on a command line, where other users of the machine and the shell's history would see it. */
import { readFile } from 'node:fs/promises';
import type { Registry } from '@svc/sdk';
import type { GeneratedSpec } from '../commands.ts';
import { canAsk } from '../shell/confirm.ts';
import { describeFlag } from '../shell/command.ts';
import type { Command, Context } from '../shell/command.ts';
import { UsageError } from '../shell/errors.ts';
import { operationOf } from '../shell/operation.ts';

export function add(generated: GeneratedSpec): Command {
  return {
    spec: {
      ...generated,
      summary: 'Adds a container registry',
      description: `${generated.description} A password goes with --username, and is read from standard input, from a file, or asked for on a terminal.`,
      flags: generated.flags.filter(({ name }) => name !== 'password'),
      locals: [
        describeFlag({
          flag: 'password-stdin',
          type: 'boolean',
          description: 'Read the password from standard input.',
        }),
        describeFlag({
          flag: 'password-file',
          type: 'string',
          placeholder: 'path',
          description: 'Read the password from a file.',
        }),
      ],
      examples: [
        ...generated.examples,
        {
          title: 'With credentials',
          cli: 'registries add --team team_01 --host registry.example.com --username ci --password-stdin < token.txt',
        },
      ],
    },
    run: addRegistry,
  };
}

async function addRegistry(context: Context): Promise<void> {
  const { input, output, signal } = context;
  const password = await readPassword(context);
  const client = await context.client();
  const registry = await client.call<Registry>(
    operationOf(context),
    password === undefined ? input : { ...input, password },
    { signal },
  );
  await output.value(registry);
}

async function readPassword({ io, globals, locals, input }: Context): Promise<string | undefined> {
  const { passwordStdin, passwordFile: path } = locals;
  const isNamed = passwordStdin === true || typeof path === 'string';
  if (passwordStdin === true && typeof path === 'string')
    throw new UsageError('--password-stdin and --password-file name two passwords, one is expected');
  if (input['username'] === undefined) {
    if (isNamed) throw new UsageError('a password needs --username beside it');
    return undefined;
  }
  const password = await read();
  if (password === '') throw new UsageError('the password is empty');
  return password;

  async function read(): Promise<string> {
    // One line end belongs to the file, anything else to the password.
    if (passwordStdin === true) return (await io.stdin.readAll()).replace(/\r?\n$/, '');
    if (typeof path === 'string') {
      try {
        return (await readFile(path, 'utf8')).replace(/\r?\n$/, '');
      } catch (error) {
        throw new UsageError(`cannot read the file of --password-file: ${(error as Error).message}`);
      }
    }
    if (!canAsk(io, globals)) {
      throw new UsageError(
        '--username needs a password beside it: --password-stdin or --password-file, as there is no terminal to ask on',
      );
    }
    return await io.stdin.ask('Password: ', { hidden: true });
  }
}
