/**
 * One search reads the branch's commit, a bounded listing of it, and its files. It sends requests to the
 * repository's host alone and stores nothing.
 */
import { JobFailed } from '../../kit/jobs/index.ts';
import {
  treeOf,
  type CiDefinitionProvider,
  type ForgeApi,
  type ForgeError,
  type FoundProblem,
  type ReadFile,
  type Reading,
  type Snapshot,
} from '../providers/index.ts';
import { look } from './listing.ts';
import { readFiles } from './reading.ts';

export interface Search {
  readonly branch: string;
  /** Systems whose files are the connection's own. */
  readonly own: readonly CiDefinitionProvider[];
  /** The files that the last search read. */
  readonly known: readonly ReadFile[];
  /** Reads its files. */
  readonly reading: Reading;
}

/** The branch that was looked for is not there. */
export class NoBranch extends JobFailed {
  constructor(message: string) {
    super(message, { isFinal: true });
  }
}

export async function search(api: ForgeApi, { branch, own, known, reading }: Search): Promise<Snapshot> {
  const tree = treeOf(api);
  const { commit, defaultBranch, ciFile } = await tree.head(branch);
  if (commit === undefined) throw new NoBranch(missing(api, branch, defaultBranch));
  const setting = settingOf(ciFile);
  const wanted = { own, ciFile: setting.path };
  const { files, scanned, truncated, reasons, problems } = await look(tree, commit, wanted);
  const isAbsent = setting.isHere && !truncated && !files.some(({ path }) => path === setting.path);
  const read = await readFiles(tree, commit, { ...wanted, files, known, reading });
  const why = [...reasons, ...read.reasons, ...setting.problems.map(({ message }) => message)];
  return {
    commit,
    scanned,
    truncated,
    incompleteReason: why.length === 0 ? undefined : why.join('; '),
    files: read.files,
    problems: [...problems, ...setting.problems, ...(isAbsent ? [notThere(setting.path)] : [])].sort((a, b) =>
      a.path < b.path ? -1 : 1,
    ),
  };
}

function missing({ repositoryPath }: ForgeApi, branch: string, defaultBranch: string | undefined): string {
  const hint = defaultBranch === undefined ? 'it has none' : `its default branch is ${defaultBranch}`;
  return `${repositoryPath} has no branch ${branch}; ${hint}`;
}

interface Setting {
  /** It is empty when nothing is set. */
  readonly path: string;
  /** It is a file of this repository. */
  readonly isHere: boolean;
  readonly problems: readonly FoundProblem[];
}

/**
 * Reads `ci_config_path`, which is a file of the repository, `file@group/project` of another one, or an
 * address.
 */
function settingOf(ciFile = ''): Setting {
  if (ciFile === '') return { path: '', isHere: false, problems: [] };
  if (!/^https?:\/\//i.test(ciFile) && !ciFile.includes('@'))
    return { path: ciFile.replace(/^\.?\//, ''), isHere: true, problems: [] };
  const message = `the project's CI file is ${ciFile}, which is not in this repository and was not read`;
  return { path: ciFile, isHere: false, problems: [{ path: ciFile, line: 0, message, fatal: true }] };
}

function notThere(path: string): FoundProblem {
  const message = "the project's settings name this CI file, and it is not in the repository";
  return { path, line: 0, message, fatal: true };
}

/** The error as the contract documents it: a code, a colon, a sentence. */
export function failureOf(error: ForgeError | NoBranch, hasToken: boolean): string {
  if (error instanceof NoBranch) return `branch_not_found: ${error.message}`;
  const { problem, message } = error;
  if (problem === 'not_found')
    return `repository_not_found: ${message}${hasToken ? '' : '; a private repository needs a token'}`;
  return `${problem === 'refused' ? 'answer_invalid' : problem}: ${message}`;
}
