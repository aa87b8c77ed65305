/** Secrets that a command takes: they never stand on a command line, where other users of the machine and the shell's history would see them. */
import { readFile } from 'node:fs/promises';
import { canAsk } from './confirm.ts';
import type { Context, OwnArgs } from './command.ts';
import { UsageError } from './errors.ts';

/** Kind of secret, such as `password`; its flags are `--password-stdin` and `--password-file`. */
export type SecretWord = 'password' | 'token';

export function secretArgs(word: SecretWord): OwnArgs {
  return {
    [`${word}Stdin`]: { type: 'boolean', description: `Read the ${word} from standard input.` },
    [`${word}File`]: { type: 'string', valueHint: 'path', description: `Read the ${word} from a file.` },
  };
}

/** One of the flags is there. */
export function isSecretNamed({ args }: Pick<Context, 'args'>, word: SecretWord): boolean {
  const { isStdin, path } = namedBy(args, word);
  return isStdin || path !== undefined;
}

/** From where the flags say, else asked for on the terminal. `reason` begins the refusal where there is none to ask on. */
export async function readSecret(
  { io, globals, args }: Pick<Context, 'io' | 'globals' | 'args'>,
  word: SecretWord,
  reason: string,
): Promise<string> {
  const { isStdin, path } = namedBy(args, word);
  if (isStdin && path !== undefined)
    throw new UsageError(`--${word}-stdin and --${word}-file name two ${word}s, one is expected`);
  const secret = await read();
  if (secret === '') throw new UsageError(`the ${word} is empty`);
  return secret;

  async function read(): Promise<string> {
    // One line end belongs to the file, anything else to the secret.
    if (isStdin) return (await io.stdin.readAll()).replace(/\r?\n$/, '');
    if (path !== undefined) {
      try {
        return (await readFile(path, 'utf8')).replace(/\r?\n$/, '');
      } catch (error) {
        throw new UsageError(`cannot read the file of --${word}-file: ${(error as Error).message}`);
      }
    }
    if (!canAsk(io, globals)) {
      throw new UsageError(`${reason}: --${word}-stdin or --${word}-file, as there is no terminal to ask on`);
    }
    return await io.stdin.ask(`${word[0]?.toUpperCase()}${word.slice(1)}: `, { hidden: true });
  }
}

function namedBy(args: Context['args'], word: SecretWord) {
  const path = args[`${word}File`];
  return { isStdin: args[`${word}Stdin`] === true, path: typeof path === 'string' ? path : undefined };
}
