/**
 * The ledger in the database, as far as it is read. Entries are streamed in pieces, so that a chain of any
 * length costs the same memory.
 */
// No TeamScope: a chain of the ledger, whose right is checked by its name.
import type { SqlTag } from '../../base/db/index.ts';
import type { AuditActor, AuditRow } from '../../kit/ledger/entry.ts';

export interface Head {
  readonly seq: number;
  readonly hash: string;
}

interface FlatRow extends Omit<AuditRow, 'actor'> {
  readonly kind: AuditActor['kind'];
  readonly actorId: string;
  readonly display: string;
  readonly place: string;
}

const PIECE = 200;

const columns = (sql: SqlTag) => sql`
  chain, seq, at, actor_kind as kind, actor_id as "actorId", actor_display as display, action, target, details,
  request_id as "requestId", previous_hash as "previousHash", hash, ctid::text as place`;

/**
 * It goes member by member: the rest of an object has a hidden class of its own, which stays until the next
 * great collection.
 */
function fromFlat(row: FlatRow): AuditRow {
  const { chain, seq, at, action, target, details, requestId, previousHash, hash } = row;
  const actor = { kind: row.kind, id: row.actorId, display: row.display };
  return { chain, seq, at, action, target, details, requestId, previousHash, hash, actor };
}

export async function findHead(sql: SqlTag, chain: string): Promise<Head | undefined> {
  const [row] = await sql<Head[]>`select seq, hash from audit_heads where chain = ${chain}`;
  return row;
}

/** Reads entries newest first; `before` is the last one of the page before. */
export async function listEntries(
  sql: SqlTag,
  { chain, before, take }: { readonly chain: string; readonly before: number; readonly take: number },
): Promise<readonly AuditRow[]> {
  const rows = await sql<FlatRow[]>`
    select ${columns(sql)} from audit_entries where chain = ${chain} and seq < ${before}::bigint
    order by seq desc limit ${take}::int`;
  return rows.map(fromFlat);
}

/** Restricts a list to some entries; what is undefined restricts nothing. */
export interface EntryFilter {
  /** With a dot at its end it stands for all actions that begin so. */
  readonly action?: string | undefined;
  readonly target?: string | undefined;
  readonly actorId?: string | undefined;
  readonly since?: Date | undefined;
  readonly until?: Date | undefined;
  readonly seq?: number | undefined;
}

/**
 * Entries that one search looks at. There is no index for filters, so that a filter that nothing matches
 * would read a chain of any length.
 */
const LOOKED_AT_MAX = 10_000;

interface Searching {
  readonly chain: string;
  readonly before: number;
  readonly take: number;
  readonly filter: EntryFilter;
}

/** Reads entries that a filter takes, newest first. Those before `lookedTo` were not looked at. */
export async function searchEntries(
  sql: SqlTag,
  { chain, before, take, filter }: Searching,
): Promise<{ readonly rows: readonly AuditRow[]; readonly lookedTo: number }> {
  const { action = null, target = null, actorId = null, seq } = filter;
  const last = seq ?? (await findHead(sql, chain))?.seq ?? 0;
  const end = Math.min(before, last + 1);
  const lookedTo = seq ?? Math.max(1, end - LOOKED_AT_MAX);
  const since = filter.since?.getTime() ?? null;
  const until = filter.until?.getTime() ?? null;
  const rows = await sql<FlatRow[]>`
    select ${columns(sql)} from audit_entries
    where chain = ${chain} and seq >= ${lookedTo}::bigint and seq < ${end}::bigint
      and (${action}::text is null or action = ${action}::text
        or (right(${action}::text, 1) = '.' and starts_with(action, ${action}::text)))
      and (${target}::text is null or target = ${target}::text)
      and (${actorId}::text is null or actor_id = ${actorId}::text)
      and (${since}::bigint is null or at >= ${since}::bigint)
      and (${until}::bigint is null or at < ${until}::bigint)
    order by seq desc limit ${take}::int`;
  return { rows: rows.map(fromFlat), lookedTo: seq === undefined ? lookedTo : 1 };
}

/**
 * Reads entries oldest first, in pieces, from behind `after` on. The order is total even where somebody has
 * taken the primary key away and put rows in twice: no row is left out at the end of a piece. A piece is
 * emptied when the next one is asked for. Dead promises would hold its rows until the next great collection:
 * 100 MB of a chain of 100,000 entries.
 */
export async function* streamEntries(
  sql: SqlTag,
  chain: string,
  { after, signal }: { readonly after: number; readonly signal: AbortSignal },
): AsyncGenerator<readonly AuditRow[]> {
  let last: Pick<FlatRow, 'seq' | 'hash' | 'place'> | undefined;
  for (;;) {
    signal.throwIfAborted();
    const rows: FlatRow[] =
      last === undefined
        ? await sql<FlatRow[]>`
            select ${columns(sql)} from audit_entries where chain = ${chain} and seq > ${after}::bigint
            order by seq, hash, ctid limit ${PIECE}::int`
        : await sql<FlatRow[]>`
            select ${columns(sql)} from audit_entries
            where chain = ${chain} and seq >= ${last.seq}::int and (seq, hash, ctid) > (${last.seq}::int, ${last.hash}, ${last.place}::text::tid)
            order by seq, hash, ctid limit ${PIECE}::int`;
    last = rows.at(-1);
    const piece = rows.splice(0).map(fromFlat);
    const isLast = piece.length < PIECE;
    yield piece;
    piece.length = 0;
    if (isLast) return;
  }
}

const CHAINS = 1_000;

/**
 * Every chain that has a head or an entry. Of the entries each chain is looked up once, however long it is.
 */
export async function* streamChains(sql: SqlTag): AsyncGenerator<string> {
  for (let last = ''; ;) {
    const rows = await sql<Array<{ chain: string }>>`
      with recursive written(chain, n) as (
        (select chain, 1 from audit_entries where chain > ${last} order by chain limit 1)
        union all
        select (select e.chain from audit_entries e where e.chain > w.chain order by e.chain limit 1), w.n + 1
        from written w where w.chain is not null and w.n < ${CHAINS}::int
      )
      select chain from (
        select chain from written where chain is not null
        union
        (select chain from audit_heads where chain > ${last} order by chain limit ${CHAINS}::int)
      ) every
      order by chain limit ${CHAINS}::int`;
    for (const { chain } of rows) yield chain;
    const end = rows.at(-1);
    if (end === undefined || rows.length < CHAINS) return;
    last = end.chain;
  }
}
