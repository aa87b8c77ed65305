/**
 * These tests play months of teams without their machines: reports, who pays, which plan, and the closing at
 * a time that the test says.
 */
import { metered } from '../../../server/money/metering/index.ts';
import type { Pricing } from '../../../server/money/plans/index.ts';
import { closeDue } from '../../../server/money/statements/index.ts';
import { publish, type PublishDeps } from '../../../server/kit/events/index.ts';
import type { SqlTag } from '../../../server/base/db/index.ts';
import { newId } from '../../../server/base/ids.ts';
import { createTestDatabase } from '../database.ts';
import { report, type Reported } from './reports.ts';

export type MoneyWorld = Awaited<ReturnType<typeof createMoneyWorld>>;

/** Publishes until the outbox is empty; by default it is metered, and nothing else comes of it. */
export async function publishAll(sql: SqlTag, more: Partial<PublishDeps> = {}): Promise<void> {
  while ((await publish({ sql, effects: [metered('usd')], ...more })) > 0);
}

export function pricing(charges = false, currency = 'usd'): Pricing {
  return { currency, charges };
}

export async function createMoneyWorld() {
  const { db, url, drop } = await createTestDatabase({ max: 8 });
  const { sql } = db;
  await sql`insert into regions (id, name, operator) values ('reg_1', 'here', 'customer')`;
  const errors: Error[] = [];
  const onError = (error: unknown): void => void errors.push(error as Error);
  return {
    db,
    url,
    /** Errors that background work told of are kept. */
    errors,
    team: async (name = 'acme') => {
      const id = newId('team');
      await sql`insert into teams (id, name, region_id, created_at) values (${id}, ${name}, 'reg_1', now())`;
      return id;
    },
    /** Lets the payer pay from a moment on. Default: from before any. */
    pays: async (payerId: string, teamIds: readonly string[], fromAt = '2026-01-01'): Promise<void> => {
      for (const id of teamIds)
        await sql`insert into team_payers (team_id, from_at, payer_id) values (${id}, ${fromAt}::text::timestamptz, ${payerId})`;
    },
    plan: async (payerId: string, plan: string, fromAt: string) =>
      void (await sql`
        insert into plan_changes (id, user_id, plan, standing, from_at) values (${newId('evt')}, ${payerId}, ${plan}, 'active', ${fromAt}::text::timestamptz)`),
    report: async (reported: Reported) => await report(sql, reported),
    publishAll: async () => await publishAll(sql),
    openFrom: async (month: string) =>
      void (await sql`update open_period set month = ${month}::date, settled_month = null`),
    close: async (at: string, { charges, currency }: Partial<Pricing> = {}) =>
      await closeDue({ db, pricing: pricing(charges, currency), onError }, new Date(at)),
    drop,
  };
}
