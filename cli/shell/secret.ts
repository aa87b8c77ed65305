/** Secrets that a command takes: they never stand on a command line, where other users of the machine and the shell's history would see them. */
import { readFile } from 'node:fs/promises';
import { canAsk } from './confirm.ts';
import { describeFlag } from './command.ts';
import type { Context } from './command.ts';
import { UsageError } from './errors.ts';

/** What is read, such as `password`; its flags are `--password-stdin` and `--password-file`. */
export type SecretWord = 'password' | 'token';

export function secretFlags(word: SecretWord) {
  return [
    describeFlag({
      flag: `${word}-stdin`,
      type: 'boolean',
      description: `Read the ${word} from standard input.`,
    }),
    describeFlag({
      flag: `${word}-file`,
      type: 'string',
      placeholder: 'path',
      description: `Read the ${word} from a file.`,
    }),
  ];
}

/** Whether one of the flags is there. */
export function isSecretNamed({ locals }: Pick<Context, 'locals'>, word: SecretWord): boolean {
  const { isStdin, path } = namedBy(locals, word);
  return isStdin || path !== undefined;
}

/** From where the flags say, else asked for on the terminal. `reason` begins the refusal where there is none to ask on. */
export async function readSecret(
  { io, globals, locals }: Pick<Context, 'io' | 'globals' | 'locals'>,
  word: SecretWord,
  reason: string,
): Promise<string> {
  const { isStdin, path } = namedBy(locals, word);
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

function namedBy(locals: Context['locals'], word: SecretWord) {
  const path = locals[`${word}File`];
  return { isStdin: locals[`${word}Stdin`] === true, path: typeof path === 'string' ? path : undefined };
}
