/**
 * The statement that submits work, without what it asks of spending and plans: the same text, less these
 * pieces.
 */
import { createSql } from '../../../server/base/db/statement.ts';
import type { SqlTag } from '../../../server/base/db/index.ts';

const PIECES: ReadonlyArray<readonly [RegExp, string]> = [
  [/held as materialized \([\s\S]*?\(select from spend_gates\)\),/, ''],
  [/and a\.n not in \(select n from held\)/, ''],
  [/left join held h on h\.n = a\.n/, ''],
  [/h\.cause, h\.details/, 'null as cause, null as details'],
  [/, l\.queued_max\)/g, ')'],
  [/l\.run_timeout_seconds_max as timeout_max/, 'null::int as timeout_max'],
  [/left join team_limits l on l\.team_id = q\.team_id/, ''],
];

/** Both go the same way, so that what is compared is what the database does. */
export function throughText(sql: SqlTag, { isWhole }: { readonly isWhole: boolean }): SqlTag {
  const texts = new Map<string, TemplateStringsArray>();
  return createSql(async ({ text, values = [] }) => {
    const known = texts.get(text) ?? templateOf(isWhole ? text : without(text));
    texts.set(text, known);
    return await sql(known, ...(values as []));
  });
}

function without(text: string): string {
  if (!text.includes('spend_gates')) return text;
  return PIECES.reduce((left, [piece, instead]) => {
    if (!piece.test(left))
      throw new Error(`the statement has no ${String(piece)}: this reference is of another one`);
    return left.replace(piece, instead);
  }, text);
}

/** Each place of a value stands once, in order. */
function templateOf(text: string): TemplateStringsArray {
  const parts = text.split(/\$\d+/);
  return Object.assign(parts, { raw: parts });
}
