/** Keeps what is asked at the moment. */
import { signal } from '@preact/signals';
import type { Build, Environment } from '@svc/sdk';
import { onForget } from '../../session.ts';

/**
 * Time between two readings of what no stream tells: builds that others begin, and a state while the build's
 * own stream is down.
 */
export const POLL_MS = 5_000;

export type Dialog =
  | { readonly kind: 'build' | 'unlock'; readonly environment: Environment }
  | { readonly kind: 'cancel' | 'rollback' | 'approve' | 'reject' | 'again'; readonly build: Build };

export const dialog = signal<Dialog | undefined>(undefined);

export function ask(next: Dialog): void {
  dialog.value = next;
}

export function closeDialog(): void {
  dialog.value = undefined;
}

onForget(closeDialog);
