/** Prices of the installation are published ahead, never changed, and in force by the time of a claim. */
// No TeamScope: rows of an account, a credential or the installation, which belong to no team.
import { desc, eq } from 'drizzle-orm';
import { apiError, type ApiError } from '@svc/proto/http/errors.ts';
import type { Database } from '../../base/db/index.ts';
import { newId } from '../../base/ids.ts';
import { databaseNow, ms } from '../../base/sql.ts';
import { wrongField } from '../../kit/wrong-field.ts';
import { DAY_MS } from './days.ts';
import { METERS, prices } from './schema.ts';

export type Price = typeof prices.$inferSelect;
export type Meter = Price['meter'];

/**
 * Billionths of the currency for a second, of each meter before anybody has published a price: 0.006 a
 * minute.
 */
const DEFAULT_NANOS_PER_SECOND = 100_000;

/**
 * Whoever publishes has so long to see a mistake, and no server's work has been claimed at a price that it
 * did not know.
 */
const AHEAD_MS = 60_000;

export const PRICES_SHOWN_MAX = 200;

/**
 * Work without a price would be metered nowhere: each meter has one of the currency from the beginning of
 * time. Any number of servers may do it at once.
 */
export async function makeDefaultPrices({ sql }: Pick<Database, 'sql'>, currency: string): Promise<void> {
  await sql`
    insert into prices (id, meter, currency, nanos_per_second, from_at, is_default)
    select g.id, g.meter, ${currency}, ${DEFAULT_NANOS_PER_SECOND}::int, 'epoch', true
    from unnest(${METERS.map(() => newId('prc'))}::text[], ${[...METERS]}::text[]) g(id, meter)
    where not exists (select from prices p where p.meter = g.meter and p.currency = ${currency} and p.from_at = 'epoch')
    on conflict (meter, currency, from_at) do nothing`;
}

/** Lists the prices that begin last first. */
export async function listPrices({ orm }: Pick<Database, 'orm'>, currency: string): Promise<Price[]> {
  const { fromAt, meter } = prices;
  return await orm
    .select()
    .from(prices)
    .where(eq(prices.currency, currency))
    .orderBy(desc(fromAt), meter)
    .limit(PRICES_SHOWN_MAX);
}

export interface MeterPrice extends Price {
  /** It is false for a price that is to come. */
  readonly inForce: boolean;
}

/** Lists for each meter the price in force, then those to come, by the clock that dates claims. */
export async function pricesNow(
  { sql }: Pick<Database, 'sql'>,
  currency: string,
): Promise<readonly MeterPrice[]> {
  return await sql<MeterPrice[]>`
    with p as (
      select *, from_at <= now() as in_force, lead(from_at, 1, 'infinity') over (partition by meter order by from_at) as until_at
      from prices where currency = ${currency}
    )
    select id, meter, currency, nanos_per_second as "nanosPerSecond", from_at as "fromAt", is_default as "isDefault", created_at as "createdAt", in_force as "inForce"
    from p where until_at > now() order by meter, from_at`;
}

/**
 * Billionths of the currency for a second that are in force at the end of a day, `YYYY-MM-DD`; 0 where there
 * is no price.
 */
export type NanosOn = (meter: string, day: string) => bigint;

/** Reads the prices in force, those to come, and those of before. */
export async function nanosByDay({ sql }: Pick<Database, 'sql'>, currency: string): Promise<NanosOn> {
  const rows = await sql<Array<{ meter: string; nanos: number; fromAt: Date }>>`
    select meter, nanos_per_second as nanos, from_at as "fromAt" from prices where currency = ${currency} order by from_at`;
  return (meter, day) => {
    const end = endOfDay(day);
    return BigInt(rows.findLast((price) => price.meter === meter && price.fromAt < end)?.nanos ?? 0);
  };
}

const endOfDay = (day: string): Date => new Date(Date.parse(`${day}T00:00:00Z`) + DAY_MS);

export interface NewPrice {
  readonly meter: Meter;
  readonly currency: string;
  readonly nanosPerSecond: number;
  /** Default: as soon as it may. */
  readonly fromAt?: Date | undefined;
}

/**
 * Publishes a price for what is claimed from then on. One statement compares the beginning with the clock
 * that dates claims.
 */
export async function publishPrice(
  { sql }: Pick<Database, 'sql'>,
  { meter, currency, nanosPerSecond, fromAt }: NewPrice,
): Promise<Price> {
  const [price] = await sql<Price[]>`
    with moment as (select date_trunc('milliseconds', clock_timestamp()) as now),
    beginning as (select now, coalesce(${fromAt ?? null}::timestamptz, now + ${ms(sql, AHEAD_MS)}) as at from moment)
    insert into prices (id, meter, currency, nanos_per_second, from_at, created_at)
    select ${newId('prc')}, ${meter}, ${currency}, ${nanosPerSecond}::int, at, now from beginning where at >= now + ${ms(sql, AHEAD_MS)}
    on conflict (meter, currency, from_at) do nothing
    returning id, meter, currency, nanos_per_second as "nanosPerSecond", from_at as "fromAt", is_default as "isDefault", created_at as "createdAt"`;
  if (price !== undefined) return price;
  const soonest = new Date((await databaseNow(sql)).getTime() + AHEAD_MS);
  if (fromAt !== undefined && fromAt < soonest) throw tooSoon(fromAt, soonest);
  throw apiError(
    'state_conflict',
    `${meter} has a price in ${currency} from that very moment; choose another beginning`,
    {
      details: { resource: 'price', meter, ...(fromAt && { fromAt: fromAt.toISOString() }) },
    },
  );
}

function tooSoon(fromAt: Date, soonest: Date): ApiError {
  const message = `fromAt is ${fromAt.toISOString()}, a price begins at least ${AHEAD_MS / 1_000} s after it is published: from ${soonest.toISOString()} on`;
  return wrongField(message, { field: 'fromAt', rule: 'ahead' });
}
