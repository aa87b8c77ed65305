/**
 * This file lists the packages of an image from the tar stream of its files. Each kind of database has a
 * reader, chosen by the path; all else is skipped. The stream comes from a customer's image: whatever it
 * holds makes the catalogue shorter and says so in `unread` or `dropped`, and never makes it fail.
 */
import { errorText } from '../../platform/errors.ts';
import { Collection, type Catalogue } from './collection.ts';
import type { Findings } from './finding.ts';
import { readGoProgram } from './go-build-info.ts';
import { readPackageJson, readPythonMetadata } from './language-packages.ts';
import { readLaunchSbom } from './launch-sbom.ts';
import { readApk, readDpkg, readOsRelease } from './system-packages.ts';
import { BODY_BYTES_MAX, readTar, type TarEntry } from './tar-reader.ts';

const MIB = 1_048_576;

interface Reader {
  readonly path: RegExp;
  readonly bytesMax: number;
  readonly read: (text: string) => Findings;
  /** A file with text but without packages is none of this kind then. */
  readonly isDatabase?: true;
}

export type { Catalogue, FoundPackage } from './collection.ts';

/** JSON takes many times its length in memory, so documents have lower limits than tables of lines. */
const READERS: readonly Reader[] = [
  {
    // Images whose `var` is made when they start keep it below `usr`.
    path: /^(?:var|usr)\/lib\/dpkg\/(?:status|status\.d\/[^/]+(?<!\.md5sums))$/,
    bytesMax: BODY_BYTES_MAX,
    read: readDpkg,
    isDatabase: true,
  },
  {
    path: /^(?:usr\/)?lib\/apk\/db\/installed$/,
    bytesMax: BODY_BYTES_MAX,
    read: readApk,
    isDatabase: true,
  },
  {
    path: /(?:^|\/)node_modules\/(?:@[^/]+\/)?[^@./][^/]*\/package\.json$/,
    bytesMax: MIB,
    read: readPackageJson,
  },
  { path: /\.(?:dist-info\/METADATA|egg-info|egg-info\/PKG-INFO)$/, bytesMax: MIB, read: readPythonMetadata },
  { path: /^layers\/sbom\/launch\/.+\.cdx\.json$/, bytesMax: 8 * MIB, read: readLaunchSbom },
];
const OS_RELEASE = /^(?:etc|usr\/lib)\/os-release$/;
const OS_RELEASE_BYTES_MAX = 65_536;
/** Kinds of packages without a reader: the catalogue names them, for it would look complete otherwise. */
const UNKNOWN: readonly [what: string, path: RegExp][] = [
  ['rpm database', /^(?:var\/lib\/rpm|usr\/lib\/sysimage\/rpm)\/(?:Packages(?:\.db)?|rpmdb\.sqlite)$/],
  ['Java archives', /\.[jwe]ar$/],
  ['Ruby gems', /\/specifications\/[^/]+\.gemspec$/],
  ['Composer packages', /(?:^|\/)vendor\/composer\/installed\.json$/],
  ['opkg database', /(?:^|\/)lib\/opkg\/(?:status|info\/[^/]+\.control)$/],
  ['pacman database', /^(?:var|usr)\/lib\/pacman\/local\/[^/]+\/desc$/],
  ['Portage database', /^var\/db\/pkg\/[^/]+\/[^/]+\/PF$/],
  ['XBPS database', /^var\/db\/xbps\/pkgdb-[^/]+\.plist$/],
  ['Nix store', /^nix\/var\/nix\/db\/db\.sqlite$/],
  ['conda packages', /(?:^|\/)conda-meta\/[^/]+\.json$/],
  ['.NET packages', /\.deps\.json$/],
  ['R packages', /\/library\/[^/]+\/DESCRIPTION$/],
];

const readerOf = (path: string) => READERS.find((reader) => reader.path.test(path));

/** Rejects only when the signal is aborted. */
export async function catalogue(
  tar: AsyncIterable<Uint8Array>,
  { signal }: { signal: AbortSignal },
): Promise<Catalogue> {
  const collection = new Collection(signal);
  try {
    for await (const entry of readTar(tar, { signal, onDropped: () => collection.drop() }))
      await readEntry(entry, collection);
  } catch (error) {
    signal.throwIfAborted();
    collection.miss(`the rest of the image: ${errorText(error)}`);
  }
  return collection.close();
}

async function readEntry(entry: TarEntry, collection: Collection): Promise<void> {
  const { path, type, linkPath } = entry;
  for (const [what, unknown] of UNKNOWN) if (unknown.test(path)) collection.miss(what);
  const reader = readerOf(path);
  if (type === 'hard link' && reader !== undefined && readerOf(linkPath ?? '') !== reader)
    collection.miss(`${path} is a hard link to ${linkPath}`);
  if (type !== 'file') return;
  if (OS_RELEASE.test(path)) {
    const text = await readText(entry, OS_RELEASE_BYTES_MAX, collection);
    if (text !== undefined) collection.noteSystem(readOsRelease(text), path);
  } else if (reader !== undefined) {
    const text = await readText(entry, reader.bytesMax, collection);
    if (text === undefined) return;
    const count = await collection.addAll(reader.read(text));
    if (reader.isDatabase === true && count === 0 && text.trim() !== '')
      collection.miss(`${path}: it names no installed package`);
  } else if (entry.executable) {
    const found = await readGoProgram(entry.pieces());
    if (found === undefined) return;
    if ('problem' in found) collection.miss(`Go modules of ${path}: ${found.problem}`);
    else await collection.addAll(found);
  }
}

async function readText(
  entry: TarEntry,
  bytesMax: number,
  collection: Collection,
): Promise<string | undefined> {
  const bytes = await entry.read(bytesMax);
  if (bytes === undefined) collection.miss(`${entry.path} is longer than ${bytesMax / 1_024} KiB`);
  return bytes === undefined ? undefined : new TextDecoder().decode(bytes);
}
