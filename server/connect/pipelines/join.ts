/**
 * Finds the known pipelines that a search has found again: by file and name, else by the file, else by the
 * name, so that runs that were reported under a name, and those from before a file was moved or its workflow
 * renamed, stay with their pipeline.
 */
import type { FoundPipeline } from '../providers/index.ts';

export interface KnownPipeline {
  readonly id: string;
  readonly name: string;
  /** It is empty for a pipeline that is known by its runs alone. */
  readonly path: string;
  readonly defined: boolean;
}

export interface SeenPipelines {
  /** Pipelines that were found for this connection, each name once a file. */
  readonly found: readonly FoundPipeline[];
  /** True says that a file that was not seen is gone. */
  readonly complete: boolean;
  /** Files that are there and define nothing that could be read: what was known of them stays. */
  readonly unreadable: ReadonlySet<string>;
}

export interface Joined {
  readonly matched: ReadonlyArray<{
    readonly id: string;
    readonly name: string;
    readonly found: FoundPipeline;
  }>;
  readonly made: readonly FoundPipeline[];
  /** Ids of the pipelines whose definition is gone. */
  readonly gone: readonly string[];
}

export function joinPipelines(
  known: readonly KnownPipeline[],
  { found, complete, unreadable }: SeenPipelines,
): Joined {
  const rows = new Set(known);
  const left = new Set(found);
  const matched: Array<Joined['matched'][number]> = [];
  const take = (row: KnownPipeline | undefined, pipeline: FoundPipeline): void => {
    if (row === undefined) return;
    rows.delete(row);
    left.delete(pipeline);
    // A definition without a name of its own leaves the one that its runs have.
    matched.push({ id: row.id, name: isNamed(pipeline) ? pipeline.name : row.name, found: pipeline });
  };
  const rowsWhere = (test: (row: KnownPipeline) => boolean) => [...rows].filter(test);
  const isAlone = (path: string) => [...left].filter((pipeline) => pipeline.path === path).length === 1;

  for (const pipeline of found)
    take(rowsWhere(({ name, path }) => path === pipeline.path && name === pipeline.name)[0], pipeline);
  // A pipeline that was renamed is recognised as long as it is the only one of its file.
  for (const pipeline of left) {
    const same = rowsWhere(({ path }) => path === pipeline.path);
    if (same.length === 1 && isAlone(pipeline.path)) take(same[0], pipeline);
  }
  for (const pipeline of left)
    take(rowsWhere(({ name, path }) => path === '' && name === pipeline.name)[0], pipeline);
  const paths = new Set([...found.map(({ path }) => path), ...unreadable]);
  const isMoved = ({ path }: KnownPipeline) => complete && path !== '' && !paths.has(path);
  for (const pipeline of left)
    if (isNamed(pipeline)) take(rowsWhere((row) => row.name === pipeline.name && isMoved(row))[0], pipeline);
  // One file without a name and one pipeline that runs were reported of: GitLab and Bitbucket have no more
  // than that.
  const [only, ...others] = left;
  const [reported, ...more] = rowsWhere(({ path }) => path === '');
  if (only !== undefined && found.length === 1 && others.length === 0 && more.length === 0 && !isNamed(only))
    take(reported, only);
  const gone = complete ? rowsWhere(({ defined, path }) => defined && !unreadable.has(path)) : [];
  return { matched, made: [...left], gone: gone.map(({ id }) => id) };
}

/** CI systems whose files have no names show the file. */
function isNamed({ name, path }: FoundPipeline): boolean {
  return name !== path;
}
