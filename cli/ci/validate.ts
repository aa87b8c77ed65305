/**
 * `svc ci validate` shows what discovery would find in this working tree. Nothing is asked of anybody: the
 * readers are the very ones of the server.
 */
import type { Dirent } from 'node:fs';
import { lstat, readdir, readFile, stat } from 'node:fs/promises';
import { dirname, join, relative, resolve, sep } from 'node:path';
import {
  BYTES_MAX,
  CI_DEFINITION_PROVIDERS,
  discoverDefinition,
  isCandidatePath,
  isDefinitionFolder,
  isPlace,
  leadsTo,
  notFollowed,
  parseDefinition,
  providerOfPath,
  tooManyBytes,
  type CiDefinitionProvider,
  type DefinitionProblem,
  type ParsedDefinition,
} from '@svc/sdk/ci-definitions';
import { defineOwn, type ContextOf, type OwnArgs, type ShapeOf } from '../shell/command.ts';
import { messageOf, UsageError } from '../shell/errors.ts';
import { EXIT } from '../shell/exit.ts';
import { neutraliseLine } from '../shell/text.ts';
import { isJson } from '../shell/output.ts';

const ARGS = {
  file: {
    type: 'string',
    valueHint: 'path',
    description: 'This file alone. Default: every file at a path where a CI system looks for one.',
  },
  dir: {
    type: 'string',
    valueHint: 'path',
    description: 'The working tree. Default: the Git repository around the current folder, or that folder.',
  },
  provider: {
    type: 'enum',
    options: [...CI_DEFINITION_PROVIDERS],
    description: 'Whose file it is, where its path is a setting of the CI system. Goes with --file.',
  },
} satisfies OwnArgs;

const PIPELINE = {
  provider: '',
  name: '',
  path: '',
  jobs: { name: '', line: '', stage: '', matrix: '', calls: '', disabled: '' },
  triggers: '',
  deployDetected: '',
  evidence: { line: '', text: '', why: '', strength: '' },
  partial: '',
  dynamic: '',
  opaque: '',
  matrix: '',
  includes: '',
} satisfies ShapeOf<ParsedDefinition['pipelines'][number]>;
const CHECKED = {
  path: '',
  provider: '',
  pipelines: PIPELINE,
  problems: { line: '', column: '', message: '', severity: '' } satisfies ShapeOf<DefinitionProblem>,
} satisfies ShapeOf<Checked>;

export const command = defineOwn({
  description:
    'Shows what discovery finds in the CI files of a working tree: pipelines, jobs, triggers, whether they deploy and why. Needs no server and no credential. The last line says which files failed. Ends with 1 when nothing would be found or a file has errors.',
  args: ARGS,
  answer: { valid: '', failed: '', files: CHECKED },
  examples: [
    { title: 'Everything in this repository', cli: 'ci validate' },
    { title: 'One file', cli: 'ci validate --file .github/workflows/deploy.yml' },
  ],
  run: validate,
});

interface Checked extends ParsedDefinition {
  readonly path: string;
}

async function validate({ args, output }: ContextOf<typeof ARGS>): Promise<number> {
  const { file, dir, provider } = args;
  if (provider !== undefined && file === undefined)
    throw new UsageError('--provider says whose file --file is, and --file is absent');
  const root = dir === undefined ? await repositoryAround(file) : resolve(dir);
  const files = file !== undefined ? [await checkNamed(root, file, provider)] : await checkAll(root);
  const found = files.filter(({ pipelines }) => pipelines.length > 0);
  const failed = files.filter(isFailed).map(({ path }) => path);
  const valid = found.length > 0 && failed.length === 0;
  if (isJson(output)) await output.value({ valid, failed, files });
  else {
    await output.raw(files.map(describe).join('\n'));
    if (files.length > 0) await output.raw(`\n${neutraliseLine(summaryOf(files.length, failed))}\n`);
  }
  if (files.length === 0)
    await output.note(
      `no file of a CI system in ${root}: looked at the root and at the folders of CI systems`,
    );
  return valid ? EXIT.ok : EXIT.failed;
}

const isFailed = ({ problems }: Checked): boolean => problems.some(({ severity }) => severity === 'error');

/** The last line, and all that somebody reads where there are many. */
function summaryOf(count: number, failed: readonly string[]): string {
  const all = count === 1 ? '1 file' : `${count} files`;
  return failed.length === 0
    ? `${all}, no errors`
    : `${failed.length} of ${all} failed: ${failed.join(', ')}`;
}

/**
 * Finds the repository around the file that is named, else around the current folder; without a repository it
 * is the current folder.
 */
async function repositoryAround(file: string | undefined): Promise<string> {
  for (let folder = file === undefined ? process.cwd() : dirname(resolve(file)); ; folder = dirname(folder)) {
    if (await exists(join(folder, '.git'))) return folder;
    if (dirname(folder) === folder) return process.cwd();
  }
}

async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}

/** A path that discovery does not look at is an error, unless a setting of the CI system names it. */
async function checkNamed(
  root: string,
  file: string,
  provider: CiDefinitionProvider | undefined,
): Promise<Checked> {
  const absolute = resolve(file);
  const path = relative(root, absolute).split(sep).join('/');
  const link = await linkOnTheWay(root, path);
  if (link !== undefined) {
    const message = link === path ? notFollowed('link') : `${link} is ${notFollowed('link')}`;
    return unread(path, message);
  }
  const text = await read(absolute);
  const isLookedAt = provider !== undefined || isCandidatePath(path);
  const discovered = isLookedAt ? check(path, text, provider) : undefined;
  if (discovered !== undefined) return discovered;
  const reason =
    providerOfPath(path) === undefined ? 'no CI system has its file there' : 'its content is no pipeline';
  const checked =
    text === undefined ? unread(path, tooManyBytes()) : { path, ...parseDefinition({ path, text }) };
  const message = `discovery does not look at ${path}: ${reason}`;
  return { ...checked, problems: [errorAtStart(message), ...checked.problems] };
}

/** Finds a link between the root and the file, or at the file itself. */
async function linkOnTheWay(root: string, path: string): Promise<string | undefined> {
  if (path.startsWith('../')) return undefined;
  const parts = path.split('/');
  for (let count = 1; count <= parts.length; count++) {
    const part = parts.slice(0, count).join('/');
    const found = await lstat(join(root, part)).catch(() => undefined);
    if (found?.isSymbolicLink() === true) return part;
  }
  return undefined;
}

/**
 * It looks like discovery into the root and the folders of CI systems; links and submodules there are errors,
 * for they are not followed.
 */
async function checkAll(root: string): Promise<readonly Checked[]> {
  const found: FoundFiles = { paths: [], skipped: [] };
  const top = await readdir(root, { withFileTypes: true }).catch((error: unknown) => {
    throw new UsageError(`${root} cannot be listed: ${messageOf(error)}`);
  });
  await lookThrough(root, { folder: '', entries: top }, found);
  const checked = found.skipped.map(({ path, kind }) => unread(path, notFollowed(kind)));
  for (const path of found.paths) {
    const one = check(path, await read(join(root, path)), undefined);
    if (one !== undefined) checked.push(one);
  }
  return checked.sort((a, b) => (a.path < b.path ? -1 : 1));
}

interface FoundFiles {
  readonly paths: string[];
  readonly skipped: Array<{ readonly path: string; readonly kind: 'link' | 'module' }>;
}

async function lookThrough(
  root: string,
  { folder, entries }: { readonly folder: string; readonly entries: readonly Dirent[] },
  found: FoundFiles,
): Promise<void> {
  for (const entry of entries) {
    const path = `${folder}${entry.name}`;
    if (entry.isFile() && isCandidatePath(path)) found.paths.push(path);
    if (entry.isSymbolicLink() && isPlace(path)) found.skipped.push({ path, kind: 'link' });
    if (!entry.isDirectory() || !(isDefinitionFolder(path) || leadsTo(path) !== undefined)) continue;
    if (await exists(join(root, path, '.git'))) found.skipped.push({ path, kind: 'module' });
    else await lookThrough(root, { folder: `${path}/`, entries: await listed(join(root, path)) }, found);
  }
}

async function listed(folder: string): Promise<readonly Dirent[]> {
  return await readdir(folder, { withFileTypes: true }).catch(() => []);
}

/** Returns undefined for what is too large to be read. */
async function read(path: string): Promise<Uint8Array | undefined> {
  try {
    const found = await stat(path);
    if (!found.isFile()) throw new Error('it is no file');
    return found.size > BYTES_MAX ? undefined : await readFile(path);
  } catch (error) {
    throw new UsageError(`${path} cannot be read: ${messageOf(error)}`);
  }
}

/** Returns undefined for what discovery passes over. */
function check(
  path: string,
  text: Uint8Array | undefined,
  provider: CiDefinitionProvider | undefined,
): Checked | undefined {
  const known = provider ?? providerOfPath(path);
  if (text === undefined) return known === undefined ? undefined : unread(path, tooManyBytes());
  const found = discoverDefinition({ path, text, ...(known && { provider: known }) });
  return found && { path, ...found };
}

/** A file that nothing was read of, and why. */
function unread(path: string, why: string): Checked {
  return { path, pipelines: [], problems: [errorAtStart(why)] };
}

function errorAtStart(message: string): DefinitionProblem {
  return { line: 1, column: 1, message, severity: 'error' };
}

function describe({ path, provider, pipelines, problems }: Checked): string {
  const lines = [`${path} (${provider ?? 'unknown'})`];
  for (const pipeline of pipelines) {
    const jobs = pipeline.jobs.map(({ name, matrix }) => `${name}${matrix ? ' (matrix)' : ''}`);
    lines.push(`  pipeline  ${pipeline.name}${remarks(pipeline)}`);
    lines.push(`  jobs      ${jobs.join(', ') || 'none'}`);
    lines.push(`  triggers  ${pipeline.triggers.join(', ') || 'not in the file'}`);
    lines.push(`  deploys   ${pipeline.deployDetected ? 'yes' : 'no'}`);
    for (const { line, text, why } of pipeline.evidence) lines.push(`    ${path}:${line}: ${why}: ${text}`);
  }
  for (const { line, column, severity, message } of problems)
    lines.push(`  ${path}:${line}:${column}: ${severity}: ${message}`);
  return lines.map((line) => `${neutraliseLine(line)}\n`).join('');
}

function remarks({ partial, dynamic, opaque }: ParsedDefinition['pipelines'][number]): string {
  if (opaque === true) return ' (nothing of it is in this file)';
  if (dynamic === true) return ' (more is added while it runs)';
  return partial === true ? ' (a part is in other files)' : '';
}
