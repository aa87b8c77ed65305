/**
 * Reads `.svc.yaml`, by which a folder says where its work belongs. The file may be a stranger's, as whatever
 * else was cloned: it names places of the platform, which the credential reaches or does not, and no key of
 * it can be an address or a credential.
 */
import { constants } from 'node:fs';
import { access, open, type FileHandle } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { UsageError } from './errors.ts';
import type { Io } from './io.ts';
import { isRecord } from './paths.ts';
import { PLACE_KINDS, type PlaceNames } from './place-kind.ts';
import { neutraliseLine } from './text.ts';

export const PLACE_FILE = '.svc.yaml';
const BYTES_MAX = 4_096;
const NAME_CHARACTERS_MAX = 200;

export interface PlaceFile {
  readonly path: string;
  readonly names: PlaceNames;
}

/** Finds the nearest one, from the working folder upward. */
export async function findPlaceFile(
  io: Pick<Io, 'workFolder' | 'homeFolder'>,
): Promise<PlaceFile | undefined> {
  for (const folder of await foldersOf(io)) {
    const path = join(folder, PLACE_FILE);
    const text = await readIfThere(path);
    if (text !== undefined) return { path, names: await namesIn(text, path) };
  }
  return undefined;
}

/**
 * It goes up to the root of the repository or to the home folder. Where neither is above, the folder stands
 * alone: anybody may put a file into `/tmp`.
 */
async function foldersOf({
  workFolder,
  homeFolder,
}: Pick<Io, 'workFolder' | 'homeFolder'>): Promise<readonly string[]> {
  const folders: string[] = [];
  for (let folder = workFolder; ; folder = dirname(folder)) {
    folders.push(folder);
    if (folder === homeFolder || (await isThere(join(folder, '.git')))) return folders;
    if (dirname(folder) === folder) return [workFolder];
  }
}

async function isThere(path: string): Promise<boolean> {
  return await access(path).then(
    () => true,
    () => false,
  );
}

async function readIfThere(path: string): Promise<string | undefined> {
  let file: FileHandle | undefined;
  try {
    // A named pipe in its place must not hold the command up.
    file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
    if (!(await file.stat()).isFile()) throw refusal(path, 'it is no file');
    const { bytesRead, buffer } = await file.read(Buffer.alloc(BYTES_MAX + 1), 0, BYTES_MAX + 1, 0);
    if (bytesRead > BYTES_MAX) throw refusal(path, `it has more than ${BYTES_MAX} bytes, which is the limit`);
    return buffer.toString('utf8', 0, bytesRead);
  } catch (error) {
    if (error instanceof UsageError) throw error;
    const { code = 'unknown error' } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined;
    throw refusal(path, code);
  } finally {
    await file?.close();
  }
}

async function namesIn(text: string, path: string): Promise<PlaceNames> {
  const { parse } = await import('yaml');
  let value: unknown;
  try {
    // Every scalar is text by this schema: a team may be called 007, or "no".
    value = parse(text, { schema: 'failsafe', maxAliasCount: 0 });
  } catch (error) {
    throw refusal(path, `it is not YAML: ${(error as Error).message.split('\n')[0] ?? ''}`);
  }
  if (value === null || value === '') return {};
  if (!isRecord(value)) throw refusal(path, `it must hold ${PLACE_KINDS.join(', ')} and a name of each`);
  const known: readonly string[] = PLACE_KINDS;
  for (const [key, name] of Object.entries(value)) {
    if (!known.includes(key))
      throw refusal(path, `it has the key "${key}", and may have ${PLACE_KINDS.join(', ')} alone`);
    if (typeof name !== 'string' || name === '' || name.length > NAME_CHARACTERS_MAX)
      throw refusal(path, `"${key}" must be a name of 1 to ${NAME_CHARACTERS_MAX} characters`);
  }
  return value as PlaceNames;
}

function refusal(path: string, why: string): UsageError {
  return new UsageError(neutraliseLine(`cannot use ${path}: ${why}`));
}
