/** A statement says what a month of a team came to, and is made when the month is closed. */
import { declareFeature, type System } from '../../kit/feature.ts';
import { startLoop, type Loop } from '../../base/loop.ts';
import { databaseNow } from '../../base/sql.ts';
import { amountsFeature, type Pricing } from '../amounts/index.ts';
import { teamsFeature } from '../../access/teams/index.ts';
import { creditsFeature } from '../credits/index.ts';
import { meteringFeature } from '../metering/index.ts';
import { plansFeature } from '../plans/index.ts';
import { closeDue } from './close.ts';

export { closeDue, closedSince, isDue, openMonth, unsettledMonth, waitingFor } from './close.ts';
export type { Closed, Closing, Waiting } from './close.ts';
export { SHORTFALL, usageLines, type Line } from './lines.ts';
export { openNets, pendingCents } from './open-nets.ts';
export { rehearse } from './rehearse.ts';
export { linesOf, moveStatement, statementById, statementsOf } from './store.ts';
export type { Move, StatementLineRow, StatementRow } from './store.ts';

const EVERY_MS = 60_000;

/** This goes by the database's clock, so that a server whose own is wrong closes no month too soon. */
function startClosing(system: System, pricing: Pricing): Loop {
  const { db, onError } = system;
  const closing = { db, pricing, onError };
  return startLoop({
    everyMs: EVERY_MS,
    onError,
    run: async () => void (await closeDue(closing, await databaseNow(db.sql))),
  });
}

export const statementsFeature = declareFeature({
  name: 'statements',
  on: {
    teams: teamsFeature,
    amounts: amountsFeature,
    metering: meteringFeature,
    plans: plansFeature,
    credits: creditsFeature,
  },
  prefixes: ['stm'],
  events: {
    'statement.closed': {
      when: 'A month of the team was closed, and its statement is there.',
      scope: 'billing:read',
      notifies: true,
      delivered: true,
    },
  },
  reads: ['statements', 'statement_lines', 'settled_months'],
  start: (system, { amounts: { pricing } }) => ({ loops: [() => startClosing(system, pricing)] }),
});
