/** People are told of a price when it is published, which is before it begins. */
// No TeamScope: called by gateways, workers and the outbox, which act for no caller.
import type { SqlTag } from '../../base/db/index.ts';
import { rowId } from '../../base/sql.ts';
import { meterWords } from './meter-words.ts';
import type { Price } from './prices.ts';

/** Whoever used the meter in so many months, this one among them. */
const MONTHS = 3;

/** One statement, however many teams there are. */
export async function tellOfPrice(sql: SqlTag, price: Price, now: Date): Promise<void> {
  const { id, meter, currency, nanosPerSecond, fromAt } = price;
  const payload = {
    priceId: id,
    meter,
    currency,
    nanosPerSecond,
    fromAt: fromAt.toISOString(),
    ...words(price),
  };
  await sql`
    insert into outbox (id, team_id, kind, dedupe_key, payload, created_at)
    select ${rowId(sql, 'evt')}, t.id, 'price.published', ${id} || ' ' || t.id, ${sql.json(payload)}::jsonb, ${now}
    from teams t
    where exists (
      select from cost_days d where d.team_id = t.id and d.period > (${now}::timestamptz at time zone 'UTC' - ${MONTHS} * interval '1 month')::date and d.meter = ${meter}
    )
    on conflict (kind, dedupe_key) do nothing`;
}

const HOUR_S = 3_600n;
const NANOS = 1_000_000_000n;

function words({ meter, currency, nanosPerSecond, fromAt }: Price) {
  const hour = BigInt(nanosPerSecond) * HOUR_S;
  const amount = `${hour / NANOS}.${String(hour % NANOS).padStart(9, '0')}`.replace(/(\.\d\d\d*?)0+$/, '$1');
  const from = `${fromAt.toISOString().slice(0, 16).replace('T', ' ')} UTC`;
  return {
    title: `A new price from ${from} on: ${meterWords(meter)}`,
    body: `An hour costs ${amount} ${currency.toUpperCase()} then. What is claimed before keeps its price. svc plans prices shows the prices in force and to come.`,
  };
}
