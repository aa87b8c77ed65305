/**
 * Delivers answers of raw bytes: to standard output, or with `--output FILE` to a file that is whole or not
 * there. It is written as `FILE.part` and renamed when the last byte is on disk; what fails on the way takes
 * the part with it. A file that is there is replaced only by somebody who says so.
 */
import { open, rename, rm, stat } from 'node:fs/promises';
import type { ByteStream } from '@svc/sdk';
import { agree } from './confirm.ts';
import type { Context } from './command.ts';
import { CliError, UsageError } from './errors.ts';
import { operationOf } from './operation.ts';

/** On a terminal these are shown like the output of a command; everything else could do anything to it. */
const TEXT = /^(text\/|application\/([a-z.-]+\+)?(json|x-ndjson|xml)\b)/i;

export async function download(context: Context): Promise<void> {
  const { globals, input, signal } = context;
  await deliver(context, { flag: 'output', file: globals.output }, async () =>
    (await context.client()).byteStream(operationOf(context), input, { signal }),
  );
}

export interface Place {
  /** Name of the command's flag for the file: `output`. */
  readonly flag: string;
  /**
   * File to write. `-` is standard output, also on a terminal and whatever the bytes are. Where it is absent
   * it is the same, but a terminal is spared what is no text.
   */
  readonly file: string | undefined;
}

/** Writes the bytes of `open`, which is called when the place is free. */
export async function deliver(
  context: Context,
  { flag, file }: Place,
  open: () => Promise<ByteStream>,
): Promise<void> {
  if (file === undefined || file === '-') return await toStandardOutput(context, await open(), file === '-');
  await assertFree(context, { flag, file });
  await toFile(context, await open(), file);
}

async function toStandardOutput(
  { io, output }: Context,
  bytes: ByteStream,
  isWanted: boolean,
): Promise<void> {
  if (!io.stdout.isTerminal || isWanted) return bytes.forEach((chunk) => io.stdout.write(chunk));
  const contentType = await bytes.contentType();
  if (!TEXT.test(contentType)) {
    bytes.abort();
    throw new CliError('not_text', `the answer is ${contentType}, which is not for a terminal`, {
      hints: ['--output FILE writes it to a file, --output - to standard output all the same'],
    });
  }
  const decoder = new TextDecoder();
  for await (const chunk of bytes) await output.log('stdout', decoder.decode(chunk, { stream: true }));
  await output.log('stdout', decoder.decode());
}

async function toFile({ output }: Context, bytes: ByteStream, file: string): Promise<void> {
  const part = `${file}.part`;
  // Nothing is made for an answer that is a refusal.
  await bytes.contentType();
  let size = 0;
  const handle = await open(part, 'wx').catch((error: Error) => {
    bytes.abort();
    throw new CliError('file_failed', `cannot write ${part}: ${error.message}`, {
      hints: isCode(error, 'EEXIST')
        ? ['another download is writing it, or was cut off; remove it if it is the latter']
        : [],
    });
  });
  try {
    try {
      for await (const chunk of bytes) {
        await handle.writeFile(chunk);
        size += chunk.length;
      }
      // A rename may reach the disk before the bytes do.
      await handle.sync();
    } finally {
      await handle.close();
    }
    await rename(part, file);
  } catch (error) {
    await rm(part, { force: true });
    throw error;
  }
  await output.progress(`${file}: ${size} bytes`);
}

async function assertFree(
  { io, globals }: Context,
  { flag, file }: Place & { readonly file: string },
): Promise<void> {
  const found = await stat(file).catch(() => undefined);
  if (found === undefined) return;
  if (found.isDirectory()) throw new UsageError(`--${flag} names a file, and ${file} is a folder`);
  if (globals.yes) return;
  await agree(
    { io, globals },
    {
      refusal: `${file} is there already, and there is no terminal to ask on`,
      hint: 'add --yes to replace it',
      question: `${file} is there already. Replace it?`,
    },
  );
}

function isCode(error: Error, code: string): boolean {
  return 'code' in error && error.code === code;
}
