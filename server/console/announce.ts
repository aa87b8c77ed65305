/** What screen readers are told politely, and everybody else sees for a moment at the foot of the page. */
import { signal } from '@preact/signals';

const SHOWN_MS = 6_000;

export const announcement = signal('');

let timer: number | undefined;

/** Replaces the text before, because results of what somebody just did are never more than one at a time. */
export function announce(text: string): void {
  window.clearTimeout(timer);
  announcement.value = text;
  timer = window.setTimeout(() => {
    announcement.value = '';
  }, SHOWN_MS);
}
