/**
 * Fetches what a repository keeps by Git LFS, with git's own access rules: its network, its credentials, its
 * bounds of time and size. A pointer never reaches the image in place of its file: where git-lfs is missing
 * or leaves one, the build fails and names it.
 */
import { quoteShell } from '../executor/launcher.ts';
import type { BuildContext } from './context.ts';
import { BuildFailed } from './failure.ts';
import { accessHint, persistently, type CloneCalls } from './git-calls.ts';
import type { SourcePlan } from './plan.ts';
import { UNREACHABLE } from '../network/refusals.ts';

/** So many names are shown in a message. */
const NAMES_SHOWN = 3;
/** A pointer begins so; other files with the attribute were committed as they are. */
const POINTERS = [
  'grep',
  '--files-with-matches',
  '--extended-regexp',
  '^version https?://(git-lfs\\.github\\.com|hawser\\.github\\.com|git-media\\.io)/',
  '--',
  ':(attr:filter=lfs)',
];
const SETTINGS = {
  // git-lfs writes no files without it.
  'filter.lfs.clean': 'git-lfs clean -- %f',
  // The repository's own .lfsconfig could leave files out.
  'lfs.fetchinclude': '',
  'lfs.fetchexclude': '',
  'lfs.skipdownloaderrors': 'false',
};

export async function fetchLfs(context: BuildContext, source: SourcePlan, calls: CloneCalls): Promise<void> {
  const pointers = await pointersIn(source, calls);
  if (pointers.length === 0) return;
  const [first = '', ...rest] = pointers;
  const named = `${[first, ...rest].slice(0, NAMES_SHOWN).join(', ')}${pointers.length > NAMES_SHOWN ? ' and others' : ''}`;
  const version = await calls.attempt('lfs', 'version');
  if (version.code !== 0)
    throw new BuildFailed(
      `${named}: kept by Git LFS, and this runner has no git-lfs, so the image would hold a pointer in its place; install git-lfs on the runner`,
    );
  await refuseOtherEndpoints(source, calls);
  await context.writeLine(`fetching what is kept by Git LFS: ${named}`);
  const settings = Object.entries(SETTINGS).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  for (const args of everywhere(source, [...settings, 'lfs', 'pull', 'origin'])) {
    const result = await persistently(context, 'git lfs pull', async () => await calls.remote(...args));
    if (result.code === 0) continue;
    const hint = result.problem.startsWith(UNREACHABLE) ? '' : accessHint(source, source.url, result.tail);
    throw new BuildFailed(
      `what is kept by Git LFS cannot be fetched (${named}): ${result.problem}${hint}`,
      result.code ?? 128,
    );
  }
  const [left] = await pointersIn(source, calls);
  if (left !== undefined)
    throw new BuildFailed(`${left}: kept by Git LFS, and git-lfs left its pointer in its place`);
}

/** Names of files that are pointers; of each submodule the first. */
async function pointersIn(source: SourcePlan, { attempt }: CloneCalls): Promise<string[]> {
  const found = await attempt(...POINTERS);
  if (found.code !== 0 && found.code !== 1)
    throw new BuildFailed(`files of Git LFS cannot be looked for: ${found.problem}`, found.code ?? 128);
  const names = found.stdout.split('\n').filter((line) => line !== '');
  if (!source.submodules) return names;
  const search = `git ${POINTERS.map(quoteShell).join(' ')} | head -n 1 | while IFS= read -r f; do printf '%s/%s\\n' "$displaypath" "$f"; done`;
  const below = await attempt('submodule', 'foreach', '--quiet', '--recursive', search);
  if (below.code !== 0)
    throw new BuildFailed(`files of Git LFS cannot be looked for: ${below.problem}`, below.code ?? 128);
  return [...names, ...below.stdout.split('\n').filter((line) => line !== '')];
}

/** Makes the arguments for the repository, and those for all of its submodules. */
function everywhere({ submodules }: SourcePlan, args: readonly string[]): string[][] {
  const each = `git ${args.map(quoteShell).join(' ')}`;
  return [[...args], ...(submodules ? [['submodule', 'foreach', '--quiet', '--recursive', each]] : [])];
}

/** git-lfs would copy from paths of the machine, which git itself is not allowed to. */
async function refuseOtherEndpoints(source: SourcePlan, { attempt }: CloneCalls): Promise<void> {
  const read = ['config', '--blob=HEAD:.lfsconfig', '--get-regexp', 'url$'];
  const schemes = source.transport === 'http' ? /^https?:|^ssh:/i : /^https:|^ssh:/i;
  for (const args of everywhere(source, read)) {
    const [last = ''] = args.slice(-1);
    const found = await attempt(...args.slice(0, -1), args.length === read.length ? last : `${last} || :`);
    for (const line of found.stdout.split('\n').filter((each) => each !== '')) {
      const [name, url = ''] = line.split(' ');
      if (!schemes.test(url))
        throw new BuildFailed(`.lfsconfig: ${name} is ${url}, and Git LFS is fetched by https and ssh alone`);
    }
  }
}
