/** Features above hosting add to the document of an app, and keep what a runner says of what they added. */
// No TeamScope: given the row, or the team, that the call was authorised for.
import { and, eq, sql as raw } from 'drizzle-orm';
import type { SqlTag } from '../../base/db/index.ts';
import type { Fragment } from '../../base/sql.ts';
import { port } from '../../kit/feature.ts';
import { inTeams, type Who } from '../../kit/resource/index.ts';
import { hostApps } from './schema.ts';

/** A feature adds this to the document of an app that a runner should host; see HostApp of the contract. */
export interface HostPart {
  /** The field of the document. */
  readonly field: string;
  /** Builds the field's value in JSON, as a scalar over the row `h` of `host_apps`; null leaves it out. */
  readonly select: (sql: SqlTag) => Fragment;
  /**
   * Builds the CTE, with its name, by which the feature keeps what a runner said of it. It reads the CTE
   * `seen` (`environment_id`, `observed`: ObservedApp in JSON).
   */
  readonly note?: (sql: SqlTag) => Fragment;
}

/** Builds in JSON what features add to the document of the row `h` of `host_apps`. */
export function addedBy(sql: SqlTag, parts: readonly HostPart[]): Fragment {
  return parts.reduce(
    (all, { field, select }) =>
      sql`${all} || jsonb_strip_nulls(jsonb_build_object(${field}::text, ${select(sql)}))`,
    sql`'{}'::jsonb`,
  );
}

/**
 * Has the runner told that something has changed of what it should host of the environment, in the
 * transaction of the change. The row is locked from then on, before rows of the parts: a runner's call locks
 * them in this order.
 */
export async function hostChanged({ db, teams }: Who, environmentId: string): Promise<void> {
  await db.orm
    .update(hostApps)
    .set({ revision: raw`${hostApps.revision} + 1` })
    .where(and(inTeams(hostApps, teams), eq(hostApps.environmentId, environmentId)));
}

export const hostParts = port<HostPart>('parts of what a runner hosts');
