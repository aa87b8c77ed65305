/** Net costs that no statement has settled yet. */
import type { Who } from '../../platform/resource/index.ts';
import { centsOf } from '../amounts/index.ts';
import { costsOf, paidMonth } from '../plans/index.ts';

/** By month: of the open ones, and of the one that is being closed. In pico-units. */
export async function openNets(
  { db, teams }: Pick<Who, 'db' | 'teams'>,
  { teamId, charges }: { readonly teamId: string; readonly charges: boolean },
): Promise<ReadonlyMap<string, bigint>> {
  const { sql } = db;
  const periods = await sql<Array<{ period: string }>>`
    select distinct d.period::text from cost_days d
    where d.team_id = ${teamId} and d.team_id = any(${[...teams.teamIds]}::text[])
      and d.period >= (select month - interval '1 month' from open_period)
      and not exists (select from statements s where s.team_id = d.team_id and s.period = d.period)`;
  const nets = new Map<string, bigint>();
  for (const { period } of periods) {
    const { coverage } = await paidMonth({ sql }, { teamId, period, charges });
    const { list, included } = await costsOf(sql, { teamId, period, coverage });
    nets.set(period, list - included);
  }
  return nets;
}

/** In minor units, each month by itself. */
export function pendingCents(nets: ReadonlyMap<string, bigint>, currency: string): number {
  return [...nets.values()].reduce((sum, net) => sum + centsOf(net, currency), 0);
}
