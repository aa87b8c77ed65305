/**
 * This file finds out whether a promotion would lose what was acknowledged. It would where there is a standby
 * for which commits do not wait. One machine without a standby has nothing that could be promoted: it is not
 * warned of, and counts as synchronous.
 */
import { Gauge, type Registry } from 'prom-client';
import { startLoop, type Loop } from '../loop.ts';
import type { SqlTag } from './statement.ts';

const LOOK_EVERY_MS = 60_000;

export interface Synchrony {
  /** A standby is there, or is meant to be. */
  readonly hasStandby: boolean;
  /** Commits wait for one. */
  readonly waits: boolean;
}

export const NOT_SYNCHRONOUS =
  'commits do not wait for the standby: a promotion loses what was acknowledged and had not arrived there. Set synchronous_standby_names, as docs/self-hosting.md says';

/** Reads whether commits wait; `expectsStandby` is true where the settings name more than one host. */
export async function readSynchrony(sql: SqlTag, expectsStandby: boolean): Promise<Synchrony> {
  const [row] = await sql<Synchrony[]>`
    select current_setting('synchronous_standby_names') <> '' and current_setting('synchronous_commit') not in ('off', 'local') as waits,
      exists (select from pg_stat_replication where coalesce(application_name, '') <> 'pg_basebackup') as "hasStandby"`;
  return { waits: row?.waits === true, hasStandby: expectsStandby || row?.hasStandby === true };
}

interface WatchOptions {
  readonly sql: SqlTag;
  readonly expectsStandby: boolean;
  readonly registry: Registry;
  /** Told once while it is so. */
  warn(message: string): void;
  onError(error: unknown): void;
}

export function watchSynchrony({ sql, expectsStandby, registry, warn, onError }: WatchOptions): Loop {
  const gauge = new Gauge({
    name: 'svc_database_synchronous',
    help: '1 while no promotion can lose an acknowledged commit: commits wait for a standby, or there is none.',
    registers: [registry],
  });
  gauge.set(1);
  let isWarned = false;
  return startLoop({
    everyMs: LOOK_EVERY_MS,
    onError,
    run: async () => {
      const { hasStandby, waits } = await readSynchrony(sql, expectsStandby);
      const isSafe = waits || !hasStandby;
      gauge.set(isSafe ? 1 : 0);
      if (!isSafe && !isWarned) warn(NOT_SYNCHRONOUS);
      isWarned = !isSafe;
    },
  });
}
