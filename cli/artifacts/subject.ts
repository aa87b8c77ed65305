/** Reads how the command line names an artifact: as a file, or as an image with its digest. */
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { UsageError } from '../shell/errors.ts';

const DIGEST = /^sha256:[0-9a-f]{64}$/;

export const isDigest = (text: string): boolean => DIGEST.test(text);

export interface Image {
  /** Name without its tag, because the digest says more. */
  readonly name: string;
  readonly digest: string;
}

/** Reads `name@sha256:…`, with or without a tag; returns undefined for any other text. */
export function imageOf(text: string): Image | undefined {
  const [, reference = '', digest = ''] = /^([^@]+)@(.+)$/.exec(text) ?? [];
  if (!isDigest(digest)) return undefined;
  return { name: reference.replace(/:\w[\w.-]*$/, ''), digest };
}

/** Returns the digest, `sha256:…`, of a file of any length. */
export async function digestOfFile(path: string, signal: AbortSignal): Promise<string> {
  const hash = createHash('sha256');
  try {
    for await (const chunk of createReadStream(path, { signal })) hash.update(chunk as Buffer);
  } catch (error) {
    signal.throwIfAborted();
    throw new UsageError(`cannot read the file "${path}": ${(error as Error).message}`, {
      hints: ['an image is given with its digest: name@sha256:<64 lower-case hexadecimal digits>'],
    });
  }
  return `sha256:${hash.digest('hex')}`;
}
