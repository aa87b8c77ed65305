/** Names the calls of the ledger, and reads parts of it. */
import { Audit, type AuditEntry } from '@svc/sdk';
import { client } from '../../api.ts';
import type { Filter } from './filter.ts';

export const audit = new Audit(client);

/** Time between two readings of what no stream tells. */
export const POLL_MS = 20_000;
/** A search looks at 10,000 entries a page. So many pages are asked for what is not among the newest. */
const SEARCHES_MAX = 5;

/** An entry under the name that lists know it by. */
export interface Entry extends AuditEntry {
  readonly id: string;
}

export interface Part {
  readonly items: readonly Entry[];
  readonly nextCursor: string | undefined;
}

export async function readPart(teamId: string, filter: Filter, from?: string): Promise<Part> {
  let cursor = from;
  for (let searches = 1; ; searches += 1) {
    const { entries, nextCursor } = await audit.listPage(teamId, {
      ...filter,
      ...(cursor !== undefined && { cursor }),
    });
    if (entries.length > 0 || nextCursor === undefined || searches === SEARCHES_MAX)
      return { items: entries.map((entry) => ({ ...entry, id: String(entry.seq) })), nextCursor };
    cursor = nextCursor;
  }
}

/** It is undefined where there is none at that place. */
export const readEntry = async (teamId: string, seq: number): Promise<AuditEntry | undefined> =>
  (await audit.listPage(teamId, { seq })).entries[0];
