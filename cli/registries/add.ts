/** `svc registries add`: the password is read from where nobody else sees it. */
import type { Registry } from '@svc/sdk';
import type { Context, GeneratedSpec, Own } from '../shell/command.ts';
import { UsageError } from '../shell/errors.ts';
import { operationOf } from '../shell/operation.ts';
import { isSecretNamed, readSecret, secretArgs } from '../shell/secret.ts';

export function add(generated: GeneratedSpec): Own {
  return {
    description: `${generated.description} A password goes with --username, and is read from standard input, from a file, or asked for on a terminal.`,
    flags: generated.flags.filter(({ name }) => name !== 'password'),
    locals: [],
    args: secretArgs('password'),
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

async function readPassword(context: Context): Promise<string | undefined> {
  if (context.input['username'] === undefined) {
    if (isSecretNamed(context, 'password')) throw new UsageError('a password needs --username beside it');
    return undefined;
  }
  return await readSecret(context, 'password', '--username needs a password beside it');
}
