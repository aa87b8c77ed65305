/** Writes `an environment` or `a budget`, for sentences about a word that only the call knows. */
export function withArticle(noun: string): string {
  // The sound decides: an undefined value, a user.
  return `${/^(?:[aeio]|un)/i.test(noun) ? 'an' : 'a'} ${noun}`;
}
