/**
 * Merge queues build what a branch would be once a pull request is merged, on a branch of their own: the run
 * is one of that base.
 */

/**
 * The base that is in the name of GitHub's branches of a merge queue, whichever system builds them; null: the
 * branch is none of a queue.
 */
export function baseOfQueue(branch: string | null): string | null {
  return /^gh-readonly-queue\/(.+)\/pr-\d+-[0-9a-f]{7,64}$/.exec(branch ?? '')?.[1] ?? null;
}
