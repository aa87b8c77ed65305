/**
 * What a feature hands to the system, and what the system hands to a feature. Whoever starts the system knows no feature by name: it serves what the
 * records of server/features.ts hold, starts their loops in that order, and stops them in the opposite one.
 */
import type { App } from '@svc/proto/http/call.ts';
import type { Handlers } from '@svc/proto/http/implement.ts';
import type { Endpoint } from '@svc/proto/http/pages.ts';
import type { WorkQueue } from '@svc/proto/queue/queue.ts';
import type { Registry } from 'prom-client';
import type { Config } from '../config.ts';
import type { Clock } from '../base/clock.ts';
import type { Caller, Ctx } from './context.ts';
import type { CredentialChanges } from './credential-changes.ts';
import type { Database, SqlTag } from '../base/db/index.ts';
import type { JobKind } from './jobs/index.ts';
import type { SafeFetch } from '../base/safe-fetch.ts';
import type { Secrets } from '../base/secrets.ts';
import type { Fragment } from '../base/sql.ts';

export interface System {
  readonly config: Config;
  readonly db: Database;
  readonly clock: Clock;
  readonly secrets: Secrets;
  readonly queue: WorkQueue;
  readonly changes: CredentialChanges;
  /** For addresses that others name. */
  readonly fetch: SafeFetch;
  readonly registry: Registry;
  /** Where people reach the console, and providers the service. */
  publicUrl(): string;
  publicUrls(): readonly string[];
  /** Background work that failed and is tried again. */
  onError(error: unknown): void;
}

export interface Running {
  /** Resolves when what runs has ended. */
  stop(): Promise<unknown>;
}

/**
 * What a feature does with events, once for each: a CTE with a name of its own that reads the CTE `published` (id, team_id, kind, dedupe_key,
 * payload, created_at). By the name of its first CTE it is known where it waits for an event that it could not take, so that the name stays.
 */
export type EventEffect = (sql: SqlTag) => Fragment;

export interface Feature {
  readonly services?: ReadonlyArray<Handlers<Ctx>>;
  /** Paths of foreign protocols, which no contract describes. */
  readonly endpoints?: (app: Pick<App<Caller>, 'admit'>) => Readonly<Record<string, Endpoint>>;
  /** On workers: what repeats. Any number of servers may run it at once. */
  readonly loops?: ReadonlyArray<() => Running>;
  /** On workers: background work that must not be lost. */
  readonly jobs?: readonly JobKind[];
  /** Every hour on workers: deletes what has been kept for long enough. */
  readonly purges?: ReadonlyArray<(nowMs: number) => Promise<unknown>>;
  readonly effects?: readonly EventEffect[];
  /** Ends what began with the record. */
  readonly stop?: () => Promise<unknown>;
}
