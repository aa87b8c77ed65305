/** The checked settings of `svc-runner run`, for the daemon and its parts. */
import type { BuildSettings } from '../build/builds.ts';
import type { ExecutorName } from '../executor/executor.ts';
import type { DatabaseSettings } from '../database/open-databases.ts';
import type { EdgeSettings } from '../host/open-sites.ts';
import type { LogLevel } from '../platform/log.ts';

export interface RunSettings extends BuildSettings, EdgeSettings, DatabaseSettings {
  slots: number;
  executor: ExecutorName | undefined;
  defaultImage: string | undefined;
  /** Path of the file that holds `ca`. */
  caFile: string | undefined;
  drainTimeoutMs: number;
  minFreeMb: number;
  maxSpoolMb: number;
  maxOutbox: number;
  metricsFile: string | undefined;
  exitWhenOutdated: boolean;
  logLevel: LogLevel;
}
