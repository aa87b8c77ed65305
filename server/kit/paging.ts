/**
 * Lists are paged by key. A page asks for one row more than the page holds; the extra row only says that
 * there is a next page.
 */
import type { Ctx } from './context.ts';
import type { CursorKey } from './cursor.ts';

export interface PageRequest {
  /** Limit of the request, which the contract has validated. */
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
  /** The cursor behind a row with this sort key. */
  cursorOf(key: CursorKey): string;
}

export interface PageResult<T> {
  readonly items: readonly T[];
  /** Cursor of the next page; its absence is the only sign of the end. */
  readonly nextCursor?: string;
}

/** Opens a page; `of` is the filter of the list in a fixed spelling, to which the RPC's id is added. */
export function openPage(
  { call: { rpc }, cursors }: Pick<Ctx, 'call' | 'cursors'>,
  of: string,
  request: PageRequest,
): Page {
  const limit = request.limit ?? rpc.page?.defaultLimit ?? 50;
  const binding = `${rpc.id}|${of}`;
  const after = request.cursor === undefined ? undefined : cursors.decode(binding, request.cursor);
  return { limit, take: limit + 1, after, cursorOf: (key) => cursors.encode(binding, key) };
}

export function closePage<T>(page: Page, rows: readonly T[], keyOf: (row: T) => CursorKey): PageResult<T> {
  const items = rows.slice(0, page.limit);
  const last = items.at(-1);
  if (rows.length <= page.limit || last === undefined) return { items };
  return { items, nextCursor: page.cursorOf(keyOf(last)) };
}
