/** Statements: what each month of each team came to, made when the month is closed. */
import type { Feature, System } from '../../platform/feature.ts';
import { startLoop } from '../../platform/loop.ts';
import type { Loop } from '../../platform/loop.ts';
import { databaseNow } from '../../platform/sql.ts';
import { pricingOf } from '../plans/index.ts';
import { closeDue } from './close.ts';
import type { Closed, Memory } from './close.ts';
import { rehearse } from './rehearse.ts';

export { closeDue, openMonth } from './close.ts';
export type { Closed, ClosedMonth, Closing, Memory, Waiting } from './close.ts';
export { SHORTFALL, totalsOf, usageLines } from './lines.ts';
export type { Line, Totals } from './lines.ts';
export { openNets, pendingCents } from './open-nets.ts';
export { rehearse } from './rehearse.ts';
export { linesOf, moveStatement, statementById, statementsOf } from './store.ts';
export type { Move, StatementLineRow, StatementRow } from './store.ts';

const EVERY_MS = 60_000;

/** By the database's clock: a server whose own is wrong closes no month too soon. */
export async function closeMonths(
  system: Pick<System, 'config' | 'db' | 'onError'>,
  { dryRun }: { readonly dryRun: boolean },
): Promise<Closed> {
  const { db, onError } = system;
  const closing = { db, pricing: pricingOf(system), onError };
  const now = await databaseNow(db.sql);
  return dryRun ? await rehearse(closing, now) : await closeDue(closing, now);
}

function startClosing(system: System): Loop {
  const { db, onError } = system;
  const closing = { db, pricing: pricingOf(system), onError };
  const memory: Memory = {};
  return startLoop({
    everyMs: EVERY_MS,
    onError,
    run: async () => void (await closeDue(closing, await databaseNow(db.sql), memory)),
  });
}

export function statementsFeature(system: System): Feature {
  return { loops: [() => startClosing(system)] };
}
