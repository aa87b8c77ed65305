/** Keeps the question that the page asks at the moment, with what was typed into it. */
import { signal } from '@preact/signals';
import type { Runner } from '@svc/sdk';
import { createQuestion } from '../../question.ts';
import { onForget } from '../../session.ts';

export type Dialog =
  | { readonly kind: 'enroll' }
  | { readonly kind: 'pause' | 'revoke' | 'clear'; readonly runner: Runner };

const question = createQuestion<Dialog>();
export const { dialog, ask } = question;
export const pauseNote = signal('');
export const pauseMinutes = signal('');

export function closeDialog(): void {
  question.closeDialog();
  pauseNote.value = '';
  pauseMinutes.value = '';
}

onForget(closeDialog);
