/** Keeps the question that a page asks at the moment. A session that ends takes nothing of it away. */
import { signal } from '@preact/signals';
import { onForget } from './session.ts';

export function createQuestion<T>() {
  const dialog = signal<T | undefined>(undefined);
  const closeDialog = (): void => {
    dialog.value = undefined;
  };
  const ask = (next: T): void => {
    dialog.value = next;
  };
  onForget(closeDialog);
  return { dialog, ask, closeDialog };
}
