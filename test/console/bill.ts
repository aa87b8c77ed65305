/** Gives a team nine weeks of costs, a statement of the month, and runs behind it. */
import { newId } from '../../server/base/ids.ts';
import { seedDays } from '../../server/money/costs/testing/days.ts';
import type { OwnConsole } from './console.ts';
import type { Fleet } from './fleet.ts';

export const DAY = 24 * 60 * 60_000;
export const HOUR = 60 * 60_000;

/**
 * Returns noon of the 20th of the month before this one, which has days behind and before, whenever the test
 * runs.
 */
export function twentieth(): Date {
  const now = new Date();
  return new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - 1, 20, 12));
}

export const dayOf = (at: number): string => new Date(at).toISOString().slice(0, 10);

/** Nine weeks in which each day costs the same, but for one. */
async function seedMonths(console_: OwnConsole, fleet: Fleet, now: Date): Promise<void> {
  const { sql } = console_.server.db;
  const yesterday = now.getTime() - DAY;
  const { teamId, projectId } = fleet;
  const days = Array.from({ length: 63 }, (_, n) => yesterday - n * DAY);
  await seedDays(
    sql,
    days.flatMap((at, n) => [
      {
        teamId,
        day: dayOf(at),
        projectId,
        environmentId: 'env_gone',
        runnerId: 'rnr_1',
        ms: n === 2 ? 300 * HOUR : 20 * HOUR,
      },
      { teamId, day: dayOf(at), projectId: '', environmentId: '', runnerId: 'rnr_2', ms: 5 * HOUR },
    ]),
  );
  await sql`
    insert into cost_names (team_id, id, name) values (${teamId}, ${projectId}, 'shop'), (${teamId}, 'env_gone', 'production'), (${teamId}, 'rnr_1', 'box 1')
    on conflict do nothing`;
}

export interface Bill {
  readonly statementId: string;
  readonly runId: string;
  /** Day of the run. */
  readonly day: string;
}

/** The month of `now` as if it were closed. */
export async function seedBill(console_: OwnConsole, fleet: Fleet, now: Date): Promise<Bill> {
  await seedMonths(console_, fleet, now);
  const [statementId, runId] = [newId('stm'), newId('run')];
  const { sql } = console_.server.db;
  const reported = new Date(now.getTime() - 2 * DAY);
  const period = `${dayOf(now.getTime()).slice(0, 7)}-01`;
  await sql`
    insert into statements (id, team_id, payer_id, period, currency, plan, list_cents, included_cents, net_cents, credit_cents, due_cents, state, closed_at)
    values (${statementId}, ${fleet.teamId}, ${fleet.owner.userId}, ${period}, 'usd', 'self_hosted', 27180, 0, 27180, 0, 27180, 'closed', now())`;
  await sql`
    insert into statement_lines (statement_id, n, meter, price_id, metered_ms, included_ms, list, included, list_cents, net_cents)
    select ${statementId}, 1, 'run.runner', id, 2718000000, 0, 271800000000000, 0, 27180, 27180 from prices where meter = 'run.runner' and is_default`;
  await sql`
    insert into usage_events (work_id, reported_at, team_id, kind, executed_by, epoch, runner_id, environment_id, project_id, claimed_at, metered_ms, self_reported_ms, price_id, rated, period)
    select ${runId}, ${reported}::timestamptz, ${fleet.teamId}, 'run', 'runner', 1, 'rnr_1', 'env_gone', ${fleet.projectId}, ${reported}::timestamptz - interval '90.5 s', 90500, 90000, id, 9050000000, ${period}
    from prices where meter = 'run.runner' and is_default`;
  await sql`
    insert into usage_events (work_id, reported_at, team_id, kind, executed_by, epoch, runner_id, claimed_at, metered_ms, price_id, rated, period)
    select 'run_' || n, ${reported}::timestamptz - interval '1 day', ${fleet.teamId}, 'run', 'runner', 1, 'rnr_1', ${reported}::timestamptz - interval '2 days', 1000, id, 100000000, ${period}
    from prices, generate_series(1, 250) n where meter = 'run.runner' and is_default`;
  return { statementId, runId, day: dayOf(reported.getTime()) };
}
