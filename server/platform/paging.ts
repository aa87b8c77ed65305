/** Keyset pages: ask for one row more than the page holds; the extra row only says that there is a next page. */
import type { RpcInfo } from '@svc/proto/http/rpc.ts';
import type { CursorKey, Cursors } from './cursor.ts';

export interface PageRequest {
  /** As in the request; validated by the contract. */
  readonly limit?: number | undefined;
  readonly cursor?: string | undefined;
}

export interface Page {
  /** Rows to show. */
  readonly limit: number;
  /** Rows to read. */
  readonly take: number;
  /** Sort key of the last row of the page before. */
  readonly after: CursorKey | undefined;
}

export interface PageResult<T> {
  readonly items: readonly T[];
  /** Absent on the last page: the only sign of the end. */
  readonly nextCursor?: string;
}

/** `binding`: the filter of the list in a fixed spelling; the RPC's id is added. */
export function openPage(rpc: RpcInfo, cursors: Cursors, binding: string, request: PageRequest): Page {
  const limit = request.limit ?? rpc.page?.defaultLimit ?? 50;
  const after =
    request.cursor === undefined ? undefined : cursors.decode(`${rpc.id}|${binding}`, request.cursor);
  return { limit, take: limit + 1, after };
}

export function closePage<T>(
  rpc: RpcInfo,
  cursors: Cursors,
  binding: string,
  page: Page,
  rows: readonly T[],
  keyOf: (row: T) => CursorKey,
): PageResult<T> {
  const items = rows.slice(0, page.limit);
  const last = items.at(-1);
  if (rows.length <= page.limit || last === undefined) return { items };
  return { items, nextCursor: cursors.encode(`${rpc.id}|${binding}`, keyOf(last)) };
}
