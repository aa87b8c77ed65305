/** Commits as reports and id_tokens name them. */

/**
 * A symbolic `HEAD` and zeros, which stand for what is not there, name no commit: the run waits for a report
 * that does.
 */
export function commitOf(sha: string | undefined): string | undefined {
  const commit = sha?.toLowerCase();
  return commit === 'head' || /^0+$/.test(commit ?? '') ? undefined : commit;
}
