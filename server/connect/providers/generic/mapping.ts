/** Checks a mapping that somebody sets, before a webhook meets it. */
import { CI_STATUSES } from '../words.ts';
import type { GenericMapping } from '../types.ts';
import { DEPTH_MAX, POINTERS } from './events.ts';

/** Returns the problem of a mapping as a sentence, or nothing. */
export function mappingProblem({ pointers = {}, words = {} }: GenericMapping): string | undefined {
  for (const [field, pointer] of Object.entries(pointers)) {
    if (!Object.hasOwn(POINTERS, field))
      return `no field "${field}", expected one of ${Object.keys(POINTERS).join(', ')}`;
    // Each character matches in one way only, because with several a text takes exponential time.
    if (!/^(?:\/(?:[^~/]|~[01])*)*$/.test(pointer))
      return `the pointer of ${field} is "${pointer}", expected a JSON pointer such as /build/id`;
    if (pointer.split('/').length > DEPTH_MAX + 1)
      return `the pointer of ${field} has more than ${DEPTH_MAX} steps`;
  }
  for (const [word, status] of Object.entries(words))
    if (!CI_STATUSES.some((known) => known === status))
      return `the word "${word}" stands for "${status}", expected one of ${CI_STATUSES.join(', ')}`;
  return undefined;
}
