/** Statements: what each month of each team came to, made when the month is closed. */
import type { Feature, System } from '../../kit/feature.ts';
import { startLoop } from '../../base/loop.ts';
import type { Loop } from '../../base/loop.ts';
import { databaseNow } from '../../base/sql.ts';
import { pricingOf } from '../plans/index.ts';
import { closeDue } from './close.ts';

export { closeDue, closedSince, isDue, openMonth, unsettledMonth, waitingFor } from './close.ts';
export type { Closed, ClosedMonth, Closing, Progress, Waiting } from './close.ts';
export { SHORTFALL, totalsOf, usageLines } from './lines.ts';
export type { Line, Totals } from './lines.ts';
export { openNets, pendingCents } from './open-nets.ts';
export { rehearse } from './rehearse.ts';
export { linesOf, moveStatement, statementById, statementsOf } from './store.ts';
export type { Move, StatementLineRow, StatementRow } from './store.ts';

const EVERY_MS = 60_000;

/** By the database's clock: a server whose own is wrong closes no month too soon. */
function startClosing(system: System): Loop {
  const { db, onError } = system;
  const closing = { db, pricing: pricingOf(system), onError };
  return startLoop({
    everyMs: EVERY_MS,
    onError,
    run: async () => void (await closeDue(closing, await databaseNow(db.sql))),
  });
}

export function statementsFeature(system: System): Feature {
  return { loops: [() => startClosing(system)] };
}
