/** Hosts of repositories take the status of a commit in this form. */
import { createHash } from 'node:crypto';
import type { ForgeApi } from './forges/call.ts';

export type CommitState = 'pending' | 'success' | 'failure' | 'error' | 'cancelled';

export interface CommitStatus {
  readonly sha: string;
  /** `svc/<pipeline>`: our own statuses are recognised by it when they come back as webhooks. */
  readonly context: string;
  readonly state: CommitState;
  readonly description: string;
  readonly targetUrl: string | undefined;
  readonly branch: string | undefined;
  readonly tag: string | undefined;
  /** The run at the repository's host, when the host itself runs it. */
  readonly ownRunId: string | undefined;
}

/** Everything but 2xx is thrown as a ForgeError. */
export type PostStatus = (api: ForgeApi, status: CommitStatus) => Promise<void>;

export function digest(text: string, length: number): string {
  return createHash('sha256').update(text).digest('hex').slice(0, length);
}
