/** Groups a page by commit. */

interface Groupable {
  readonly id: string;
  readonly commitSha: string | null;
}

/**
 * Entries come newest first; each commit goes where its newest entry stands. Entries without a commit stand
 * alone.
 */
export function groupByCommit<T extends Groupable>(entries: readonly T[]): readonly T[] {
  const groups = new Map<string, T[]>();
  for (const entry of entries) {
    const key = entry.commitSha ?? entry.id;
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [entry]);
    else group.push(entry);
  }
  return [...groups.values()].flat();
}
