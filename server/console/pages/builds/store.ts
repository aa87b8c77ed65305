/** Keeps what is asked at the moment. */
import type { Build, Environment } from '@svc/sdk';
import { createQuestion } from '../../question.ts';

/**
 * Time between two readings of what no stream tells: builds that others begin, and a state while the build's
 * own stream is down.
 */
export const POLL_MS = 5_000;

export type Dialog =
  | { readonly kind: 'build' | 'unlock'; readonly environment: Environment }
  | { readonly kind: 'cancel' | 'rollback' | 'approve' | 'reject' | 'again'; readonly build: Build };

export const { dialog, ask, closeDialog } = createQuestion<Dialog>();
