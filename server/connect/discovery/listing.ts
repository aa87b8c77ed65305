/**
 * One bounded look at a repository: its root and, of its folders, those alone in which CI systems look for
 * files. A whole listing, cut where the limit is, would lose what comes late in the order of Git:
 * `Jenkinsfile`, `azure-pipelines.yml`.
 */
import {
  ForgeError,
  isCandidatePath,
  isDefinitionFolder,
  isPlace,
  leadsTo,
  notFollowed,
  providerOfPath,
  unlessMissing,
  type CiDefinitionProvider,
  type FoundProblem,
  type Tree,
  type TreeEntry,
} from '../providers/index.ts';

/** Limit of the entries of all folders together. */
const ENTRIES_MAX = 2_000;
/** Entries that are left for the folders by a root that has more than its share. */
const ENTRIES_OF_FOLDERS = 500;
/** Limit of the folders, with the root. */
const FOLDERS_MAX = 8;

export interface WantedFiles {
  /** Systems whose files come first where not everything can be looked at. */
  readonly own: readonly CiDefinitionProvider[];
  /** Path of GitLab's file, as the repository's settings have it; empty: they have none. */
  readonly ciFile: string;
}

export interface LookedAt {
  /** Files that are, or may be, definitions. */
  readonly files: readonly TreeEntry[];
  readonly scanned: number;
  readonly truncated: boolean;
  /** Why something may be missing; sentences. */
  readonly reasons: readonly string[];
  readonly problems: readonly FoundProblem[];
}

export async function look(tree: Tree, commit: string, wanted: WantedFiles): Promise<LookedAt> {
  const found: TreeEntry[] = [];
  const reasons: string[] = [];
  const problems: FoundProblem[] = [];
  const folders: Array<TreeEntry | undefined> = [undefined];
  let scanned = 0;
  let truncated = false;
  const passedOver: string[] = [];
  for (let listed = 0; folders.length > 0; listed++) {
    const folder = folders.shift();
    const name = folder === undefined ? 'the root' : folder.path;
    const left = ENTRIES_MAX - scanned - (folder === undefined ? ENTRIES_OF_FOLDERS : 0);
    if (listed >= FOLDERS_MAX || left <= 0) {
      passedOver.push(name);
      continue;
    }
    const { entries, complete } = await list(tree, commit, { folder, left });
    const taken = [...entries].sort((a, b) => interest(b, wanted) - interest(a, wanted)).slice(0, left);
    scanned += taken.length;
    if (!complete || taken.length < entries.length) {
      truncated = true;
      reasons.push(`${name} has more than the ${taken.length} entries that were looked at`);
    }
    found.push(...taken.filter(({ kind, path }) => kind === 'file' && isWanted(path, wanted)));
    problems.push(...taken.flatMap((entry) => skipped(entry, wanted)));
    folders.push(...taken.filter((entry) => entry.kind === 'folder' && isWay(entry.path, wanted)));
    folders.sort((a, b) => rank(a, wanted) - rank(b, wanted));
  }
  if (passedOver.length > 0) reasons.push(passedOverText(passedOver));
  return { files: found, scanned, truncated: truncated || passedOver.length > 0, reasons, problems };
}

function passedOverText(names: readonly string[]): string {
  const shown = names.slice(0, 5).join(', ');
  const more = names.length > 5 ? ` and ${names.length - 5} more` : '';
  return `${shown}${more}: not looked into, ${FOLDERS_MAX} folders and ${ENTRIES_MAX} entries are the limit`;
}

/** A folder that a setting names need not be there; the root of a commit must, or the search fails. */
async function list(
  tree: Tree,
  commit: string,
  { folder, left }: { readonly folder: TreeEntry | undefined; readonly left: number },
) {
  return await unlessMissing(tree.list(commit, folder, left), async ({ message }) => {
    if (folder !== undefined) return { entries: [], complete: true };
    throw new ForgeError('answer_invalid', `the branch's commit is not there: ${message}`);
  });
}

function isWanted(path: string, { ciFile }: WantedFiles): boolean {
  if (path === ciFile) return true;
  // A setting that names another file is followed in place of the usual name, not beside it.
  return isCandidatePath(path) && !(ciFile !== '' && providerOfPath(path) === 'gitlab');
}

/** A folder to look into, or one on the way to it. */
function isWay(path: string, { ciFile }: WantedFiles): boolean {
  return isDefinitionFolder(path) || leadsTo(path) !== undefined || ciFile.startsWith(`${path}/`);
}

/** Folders of the connection's own system come first, where not all can be looked into. */
function rank(folder: TreeEntry | undefined, { own, ciFile }: WantedFiles): number {
  if (folder === undefined || ciFile.startsWith(`${folder.path}/`)) return 0;
  const inside = leadsTo(folder.path) ?? folder.path;
  const systems = ['x.yml', 'Jenkinsfile'].map((name) => providerOfPath(`${inside}/${name}`));
  return systems.some((system) => system !== undefined && own.includes(system)) ? 0 : 1;
}

/** Ranks entries: the higher ones are kept when an answer has more than can be taken. */
function interest(entry: TreeEntry, wanted: WantedFiles): number {
  if (entry.path === wanted.ciFile) return 4;
  if (entry.kind === 'folder') return isWay(entry.path, wanted) ? 3 : 0;
  const provider = providerOfPath(entry.path);
  if (provider !== undefined) return wanted.own.includes(provider) ? 3 : 2;
  return isCandidatePath(entry.path) ? 1 : 0;
}

/** Reports links and submodules at places of CI systems. */
function skipped({ kind, path }: TreeEntry, { ciFile }: WantedFiles): readonly FoundProblem[] {
  if (kind !== 'link' && kind !== 'module') return [];
  if (!isPlace(path) && path !== ciFile && !ciFile.startsWith(`${path}/`)) return [];
  return [{ path, line: 0, message: notFollowed(kind), fatal: true }];
}
