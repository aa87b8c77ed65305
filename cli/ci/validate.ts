/**
 * `svc ci validate`: what discovery would find in this working tree. Nothing is asked of anybody: the readers are the
 * very ones of the server.
 */
import { readdir, readFile, stat } from 'node:fs/promises';
import { dirname, join, relative, resolve, sep } from 'node:path';
import {
  CI_DEFINITION_PROVIDERS,
  isCandidatePath,
  isDefinition,
  isDefinitionFolder,
  parseDefinition,
  providerOfPath,
  TEXT_MAX,
  type CiDefinitionProvider,
  type DefinitionProblem,
  type ParsedDefinition,
} from '@svc/sdk/ci-definitions';
import { describeCommand, describeFlag, type Command, type Context } from '../shell/command.ts';
import { UsageError } from '../shell/errors.ts';
import { EXIT } from '../shell/exit.ts';
import { neutraliseLine } from '../shell/text.ts';

/** A character takes 4 bytes at most. */
const BYTES_MAX = 4 * TEXT_MAX;

export const command: Command = {
  spec: describeCommand({
    group: 'ci',
    words: ['validate'],
    summary: 'Shows what discovery finds in the CI files of a working tree, offline',
    description:
      'Shows what discovery finds in the CI files of a working tree: pipelines, jobs, triggers, whether they deploy and why. Needs no server and no credential. Ends with 1 when nothing would be found or a file has errors.',
    locals: [
      describeFlag({
        flag: 'file',
        type: 'string',
        placeholder: 'path',
        description: 'This file alone. Default: every file at a path where a CI system looks for one.',
      }),
      describeFlag({
        flag: 'dir',
        type: 'string',
        placeholder: 'path',
        description:
          'The working tree. Default: the Git repository around the current folder, or that folder.',
      }),
      describeFlag({
        flag: 'provider',
        type: 'enum',
        values: [...CI_DEFINITION_PROVIDERS],
        placeholder: 'provider',
        description: 'Whose file it is, where its path is a setting of the CI system. Goes with --file.',
      }),
    ],
    examples: [
      { title: 'Everything in this repository', cli: 'ci validate' },
      { title: 'One file', cli: 'ci validate --file .github/workflows/deploy.yml' },
    ],
  }),
  run: validate,
};

interface Checked extends ParsedDefinition {
  readonly path: string;
}

async function validate({ locals, output }: Context): Promise<number> {
  const { file, dir } = locals;
  const provider = locals['provider'] as CiDefinitionProvider | undefined;
  if (provider !== undefined && typeof file !== 'string')
    throw new UsageError('--provider says whose file --file is, and --file is absent');
  const root =
    typeof dir === 'string'
      ? resolve(dir)
      : await repositoryAround(typeof file === 'string' ? file : undefined);
  const files = typeof file === 'string' ? [await checkNamed(root, file, provider)] : await checkAll(root);
  const found = files.filter(({ pipelines }) => pipelines.length > 0);
  const errors = files.flatMap(({ problems }) => problems).filter(({ severity }) => severity === 'error');
  const valid = found.length > 0 && errors.length === 0;
  if (output.format === 'json' || output.format === 'jsonl') await output.value({ valid, files });
  else await output.raw(files.map(describe).join('\n'));
  if (files.length === 0)
    await output.note(
      `no file of a CI system in ${root}: looked at the root and at the folders of CI systems`,
    );
  return valid ? EXIT.ok : EXIT.failed;
}

/** Around the file that is named, else around the current folder; without a repository, the current folder. */
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
  const text = await read(absolute);
  const checked = check(path, text, provider);
  const isFound =
    provider !== undefined || (isCandidatePath(path) && (text === undefined || isDefinition({ path, text })));
  if (isFound) return checked;
  const reason =
    providerOfPath(path) === undefined ? 'no CI system has its file there' : 'its content is no pipeline';
  const message = `discovery does not look at ${path}: ${reason}`;
  return { ...checked, problems: [errorAtStart(message), ...checked.problems] };
}

/** Like discovery: the root and the folders of CI systems, no links. */
async function checkAll(root: string): Promise<readonly Checked[]> {
  const top = await readdir(root, { withFileTypes: true }).catch((error: unknown) => {
    throw new UsageError(
      `${root} cannot be listed: ${error instanceof Error ? error.message : String(error)}`,
    );
  });
  const folders = top.filter((entry) => entry.isDirectory()).map(({ name }) => name);
  if (folders.includes('.github')) folders.push('.github/workflows');
  const paths = top.filter((entry) => entry.isFile()).map(({ name }) => name);
  for (const folder of folders.filter(isDefinitionFolder)) {
    const entries = await readdir(join(root, folder), { withFileTypes: true }).catch(() => []);
    paths.push(...entries.filter((entry) => entry.isFile()).map(({ name }) => `${folder}/${name}`));
  }
  const checked: Checked[] = [];
  for (const path of paths.filter(isCandidatePath).sort()) {
    const text = await read(join(root, path));
    const provider = providerOfPath(path);
    const isHelper = text === undefined ? provider === undefined : !isDefinition({ path, text });
    if (isHelper) continue;
    checked.push(check(path, text, provider ?? 'azure'));
  }
  return checked;
}

/** Undefined for what is too large to be read. */
async function read(path: string): Promise<string | undefined> {
  try {
    const { size } = await stat(path);
    return size > BYTES_MAX ? undefined : await readFile(path, 'utf8');
  } catch (error) {
    throw new UsageError(`${path} cannot be read: ${error instanceof Error ? error.message : String(error)}`);
  }
}

function check(path: string, text: string | undefined, provider: CiDefinitionProvider | undefined): Checked {
  if (text === undefined)
    return {
      path,
      pipelines: [],
      problems: [errorAtStart(`larger than ${BYTES_MAX} bytes, which is the limit`)],
    };
  return { path, ...parseDefinition({ path, text, ...(provider && { provider }) }) };
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
