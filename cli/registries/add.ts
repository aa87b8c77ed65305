/** `svc registries add` reads the password from where nobody else sees it. */
import type { Context, GeneratedSpec, Own } from '../shell/command.ts';
import { canAsk } from '../shell/confirm.ts';
import { UsageError } from '../shell/errors.ts';
import { runOperation } from '../shell/operation.ts';
import { unspoken } from '../shell/secret.ts';
import { ask } from '../shell/sources.ts';

export function add(generated: GeneratedSpec): Own {
  return {
    description: `${generated.description} A password goes with --username, and is read from standard input, from a file, or asked for on a terminal.`,
    ...unspoken(generated, 'password'),
    examples: [
      ...generated.examples,
      {
        title: 'With credentials',
        cli: 'registries add --team team_01 --host registry.example.com --username ci --password-stdin < token.txt',
      },
    ],
    run: addRegistry,
  };
}

async function addRegistry(context: Context): Promise<void> {
  const { input } = context;
  const isNamed = input['username'] !== undefined;
  if (!isNamed && input['password'] !== undefined)
    throw new UsageError('a password needs --username beside it');
  if (input['password'] === '') throw new UsageError('the password is empty');
  const password = isNamed ? (input['password'] ?? (await askPassword(context))) : undefined;
  await runOperation(password === undefined ? context : { ...context, input: { ...input, password } });
}

async function askPassword({ spec, io, globals }: Context): Promise<string> {
  const field = spec.flags.find(({ name }) => name === 'password');
  if (field !== undefined && canAsk(io, globals)) return await ask(field, io);
  throw new UsageError(
    '--username needs a password beside it: --password-stdin or --password-file, as there is no terminal to ask on',
  );
}
