/** Each feature says what of its own waits for a person, and who can do something about it. */
import type { SqlTag } from '../base/db/index.ts';
import type { Fragment } from '../base/sql.ts';
import type { Caller } from './context.ts';
import { port } from './feature.ts';
import type { SeenBy } from './seen-by.ts';

export interface InboxOf {
  readonly teamId: string;
  /** Whoever asks. */
  readonly caller: Pick<Caller, 'userId' | 'scopes'>;
  readonly take: number;
  readonly nowMs: number;
}

/** It is seen by those who can do something about it. */
export interface InboxSource extends SeenBy {
  /** Selects the columns of `InboxItemRow`, in this order. All of it is a constant but for its values. */
  find(sql: SqlTag, of: InboxOf): Fragment;
}

export interface InboxItemRow {
  /** Reason, such as `deploy_approval`. */
  readonly kind: string;
  /** Id of what waits. */
  readonly id: string;
  /** One line for people. */
  readonly text: string;
  readonly since: Date;
  readonly projectId: string | null;
  readonly environmentId: string | null;
}

export const inboxSources = port<InboxSource>('what waits for people');
