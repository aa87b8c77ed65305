/** `svc ci connections set-token` reads the token from where nobody else sees it. */
import type { GeneratedSpec, Own } from '../shell/command.ts';
import { runOperation } from '../shell/operation.ts';
import { unspoken } from '../shell/secret.ts';

export function setToken(generated: GeneratedSpec): Own {
  return {
    description: `${generated.description} The token is read from standard input, from a file, or asked for on a terminal.`,
    ...unspoken(generated, 'token'),
    run: runOperation,
  };
}
