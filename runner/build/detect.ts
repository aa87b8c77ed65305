/**
 * Chooses how the image is made, and from which folder, in the clone after the build steps. Every path is
 * resolved and must lie in the clone.
 */
import { readdir, realpath, stat } from 'node:fs/promises';
import { join, relative, sep } from 'node:path';
import { errorCode } from '../platform/errors.ts';
import { BuildFailed } from './failure.ts';
import type { WireBuildType } from '../control-plane/wire.ts';

const DOCKERFILES = ['Dockerfile', 'Containerfile'];
/** So many names are shown in a message. */
const NAMES_SHOWN = 12;

export interface Recipe {
  type: Exclude<WireBuildType, 'auto'>;
  /** Real path of the folder that is built: by a Dockerfile, the one that it copies from. */
  folder: string;
  /** Its real path, for builds with a Dockerfile. */
  dockerfile?: string;
}

export interface DetectOptions {
  clone: string;
  buildPath: string;
  /** It is undefined for the one at the build path. */
  dockerfile?: string | undefined;
  /** It is undefined for the build path. */
  context?: string | undefined;
  wanted: WireBuildType;
  /** It is true where `pack` is installed on this machine. */
  pack: boolean;
}

export async function detectRecipe(options: DetectOptions): Promise<Recipe> {
  const { buildPath, wanted } = options;
  const folder = await folderOf(options.clone, buildPath, 'the build path');
  if (wanted === 'buildpack') {
    if (options.pack) return { type: 'buildpack', folder };
    throw new BuildFailed(
      `the build type is buildpack and this runner has no pack program; install pack on it, or add a Dockerfile and use dockerfile`,
    );
  }
  const { clone } = options;
  const context =
    options.context === undefined ? folder : await folderOf(clone, options.context, 'the context');
  if (options.dockerfile !== undefined)
    return { type: 'dockerfile', folder: context, dockerfile: await named(options.dockerfile, options) };
  const tried = DOCKERFILES.map((name) => join(buildPath, name));
  for (const path of tried) {
    const dockerfile = await file(clone, path);
    if (dockerfile !== undefined) return { type: 'dockerfile', folder: context, dockerfile };
  }
  if (wanted === 'dockerfile')
    throw new BuildFailed(
      `there is no ${tried[0]} in the repository (${tried[1]} was tried too); ${buildPath} holds ${await listed(folder)}`,
    );
  if (options.pack) return { type: 'buildpack', folder };
  throw new BuildFailed(
    `there is no ${tried[0]} in the repository: auto tried ${tried.join(', then ')}, then buildpacks, for which this runner has no pack program; ` +
      `add ${tried[0]}, set the build path, or install pack on the runner; ${buildPath} holds ${await listed(folder)}`,
  );
}

/** Finds the Dockerfile that the environment names. */
async function named(path: string, { clone, buildPath }: DetectOptions): Promise<string> {
  const found = await file(clone, path);
  if (found !== undefined) return found;
  const below = join(buildPath, path);
  const meant =
    (await file(clone, below)) === undefined ? '' : `; ${below} is there, and the path begins at the root`;
  throw new BuildFailed(
    `there is no Dockerfile ${path} in the repository; it holds ${await listed(clone)}${meant}`,
  );
}

async function file(clone: string, path: string): Promise<string | undefined> {
  const real = await inside(clone, path, 'the Dockerfile');
  return real !== undefined && (await stat(real)).isFile() ? real : undefined;
}

async function folderOf(clone: string, path: string, what: string): Promise<string> {
  const real = await inside(clone, path, what);
  if (real !== undefined && (await stat(real)).isDirectory()) return real;
  throw new BuildFailed(`${what} ${path} is no folder of the repository; it holds ${await listed(clone)}`);
}

/**
 * Finds the real path of an entry of the clone. It is undefined when the entry does not exist. A path that
 * leaves the clone fails the build.
 */
async function inside(clone: string, path: string, what: string): Promise<string | undefined> {
  const root = await realpath(clone);
  let real: string;
  try {
    real = await realpath(join(root, path));
  } catch (error) {
    if (['ENOENT', 'ENOTDIR', 'ELOOP'].includes(errorCode(error) ?? '')) return undefined;
    throw error;
  }
  const way = relative(root, real);
  if (way === '..' || way.startsWith(`..${sep}`))
    throw new BuildFailed(`${what} ${path} leads out of the repository`);
  return real;
}

async function listed(folder: string): Promise<string> {
  const names = (await readdir(folder)).filter((name) => name !== '.git').sort();
  const more = names.length - NAMES_SHOWN;
  return names.length === 0
    ? 'nothing'
    : `${names.slice(0, NAMES_SHOWN).join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}
