/** Says what somebody may have meant, by the rule that the SDK has for its options. */
import { nearest } from '@svc/sdk';

export { nearest };

/** Says it as a hint, where there is a word to say; `shown` is how somebody types it. */
export function meantHints(
  word: string,
  known: readonly string[],
  shown = (meant: string): string => meant,
): readonly string[] {
  const meant = nearest(word, known);
  return meant === undefined ? [] : [`did you mean ${shown(meant)}?`];
}
