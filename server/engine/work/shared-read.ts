/**
 * One statement for callers that ask the same in the same turn of the event loop: everybody who follows one
 * output is woken by the same append and then asks the same two questions. Nobody joins a statement that was
 * sent already, so an answer is never older than the question.
 */
import type { SqlTag } from '../../base/db/index.ts';

const gathering = new WeakMap<SqlTag, Map<string, Promise<unknown>>>();

/** `key` names the question; the same key means the same answer. */
export async function sharedRead<T>(sql: SqlTag, key: string, read: () => Promise<T>): Promise<T> {
  let open = gathering.get(sql);
  if (open === undefined) gathering.set(sql, (open = new Map()));
  const asked = open.get(key);
  if (asked !== undefined) return (await asked) as T;
  const mine = open;
  const answer = new Promise<void>((resolve) => setImmediate(resolve)).then(async () => {
    mine.delete(key);
    return await read();
  });
  mine.set(key, answer);
  return await answer;
}
