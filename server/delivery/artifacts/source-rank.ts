/**
 * The word on an artifact counts by its source: what was seen comes before what a run claims, and that before
 * what somebody declares, whichever was first and however many there are of the others.
 */
import type { SqlTag } from '../../base/db/index.ts';
import type { Fragment } from '../../base/sql.ts';

/** The best first. */
export const RANKS = ['build', 'ci_run', 'declared'] as const;

/** Returns the rank of the source `x`, by which sources are ordered first. */
export const rankOf = (sql: SqlTag): Fragment => sql`array_position(${[...RANKS]}::text[], x.origin)`;
