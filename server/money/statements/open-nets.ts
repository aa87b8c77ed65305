/** Net costs that no statement has settled yet. */
import type { Who } from '../../kit/resource/index.ts';
import { paidMonth, type Pricing } from '../plans/index.ts';
import { totalsOf, usageLines } from './lines.ts';

export interface OpenNet {
  /** Pico-units. */
  readonly net: bigint;
  /** Amount that the statement will have if nothing comes any more. */
  readonly netCents: number;
}

/** Returns net costs by month, of the open ones and of the one that is being closed. */
export async function openNets(
  { db, teams }: Pick<Who, 'db' | 'teams'>,
  { teamId, charges, currency }: Pricing & { readonly teamId: string },
): Promise<ReadonlyMap<string, OpenNet>> {
  const { sql } = db;
  const periods = await sql<Array<{ period: string }>>`
    select distinct d.period::text from cost_days d
    where d.team_id = ${teamId} and d.team_id = any(${teams.teamIds}::text[])
      and d.period >= (select month - interval '1 month' from open_period)
      and not exists (select from settled_months s where s.team_id = d.team_id and s.period = d.period)`;
  const nets = new Map<string, OpenNet>();
  for (const { period } of periods) {
    const { coverage } = await paidMonth({ sql }, { teamId, period, charges });
    const lines = await usageLines(sql, { teamId, period, coverage, currency });
    const net = lines.reduce((sum, { list, included }) => sum + list - included, 0n);
    nets.set(period, { net, netCents: totalsOf(lines).netCents });
  }
  return nets;
}

/** Sums minor units, where each month is rounded by itself. */
export function pendingCents(nets: ReadonlyMap<string, OpenNet>): number {
  return [...nets.values()].reduce((sum, { netCents }) => sum + netCents, 0);
}
