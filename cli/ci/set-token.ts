/** `svc ci connections set-token`: the token is read from where nobody else sees it. */
import type { CiConnection } from '@svc/sdk';
import type { Context, GeneratedSpec, Own } from '../shell/command.ts';
import { operationOf } from '../shell/operation.ts';
import { readSecret, secretArgs } from '../shell/secret.ts';

export function setToken(generated: GeneratedSpec): Own {
  return {
    description: `${generated.description} The token is read from standard input, from a file, or asked for on a terminal.`,
    flags: generated.flags.filter(({ name }) => name !== 'token'),
    locals: [],
    args: secretArgs('token'),
    run: setConnectionToken,
  };
}

async function setConnectionToken(context: Context): Promise<void> {
  const { input, output, signal } = context;
  const token = await readSecret(context, 'token', 'a token is needed');
  const client = await context.client();
  await output.value(await client.call<CiConnection>(operationOf(context), { ...input, token }, { signal }));
}
