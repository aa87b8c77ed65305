/** Money is counted in one currency for as long as an installation lives. */
// No TeamScope: rows of an account, a credential or the installation, which belong to no team.
import type { Database } from '../../base/db/index.ts';

/**
 * Throws when money was counted in another currency: budgets, credit and balances are numbers without one,
 * and would silently become amounts of the new one.
 */
export async function assertCurrency({ sql }: Pick<Database, 'sql'>, currency: string): Promise<void> {
  const [other] = await sql<Array<{ currency: string }>>`
    select currency from (
      (select p.currency from usage_events e join prices p on p.id = e.price_id limit 1)
      union all (select currency from statements limit 1)
      union all (select currency from billing_checkouts where state = 'completed' limit 1)
    ) counted where currency <> ${currency} limit 1`;
  if (other === undefined) return;
  throw new Error(
    `BILLING_CURRENCY is ${currency}, and this installation has counted money in ${other.currency}: amounts of the two cannot be summed, and nothing converts what is stored; set BILLING_CURRENCY=${other.currency}`,
  );
}
