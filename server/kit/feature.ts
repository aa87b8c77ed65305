/**
 * A feature declares itself once, with all that the rest must know of it: on which features it stands, its
 * settings, prefixes of ids, events and tables that others may use. Whoever starts the system, reads settings
 * or prints documents knows features by these declarations alone. What a feature hands to the system when it
 * starts is a record, and a port is how a higher feature gives something to a lower one.
 */
import type { App } from '@svc/proto/http/call.ts';
import type { Handlers } from '@svc/proto/http/implement.ts';
import type { Endpoint } from '@svc/proto/http/pages.ts';
import type { WorkQueue } from '@svc/proto/queue/queue.ts';
import type { Registry } from 'prom-client';
import type { ProcessSettings } from '../base/settings.ts';
import type { SettingsOf, SettingsTable } from '@svc/proto/process/settings.ts';
import { declareEvents, type EventKinds } from './events/kinds.ts';
import type { Clock } from '../base/clock.ts';
import type { Caller, Ctx } from './context.ts';
import type { CredentialChanges } from './credential-changes.ts';
import type { Database, SqlTag } from '../base/db/index.ts';
import type { JobKind } from './jobs/index.ts';
import type { Mail } from './mail/index.ts';
import type { Passwords } from '../base/password.ts';
import type { SafeFetch } from '../base/safe-fetch.ts';
import type { Secrets } from '../base/secrets.ts';
import type { Fragment } from '../base/sql.ts';

export interface System {
  readonly config: ProcessSettings;
  readonly db: Database;
  readonly clock: Clock;
  readonly secrets: Secrets;
  readonly queue: WorkQueue;
  readonly changes: CredentialChanges;
  /** Fetches from addresses that others name. */
  readonly fetch: SafeFetch;
  readonly registry: Registry;
  readonly passwords: Passwords;
  /** Undefined where no mail server is set. */
  readonly mail: Mail | undefined;
  /** Returns the address at which people reach the console, and providers the service. */
  publicUrl(): string;
  publicUrls(): readonly string[];
  /**
   * Returns what the features above have filled a port with, in the order in which they started. All is there
   * once the system runs.
   */
  filled<T>(port: Port<T>): readonly T[];
  /** A word for whoever operates the installation. */
  warn(word: string): void;
  /** Background work that failed and is tried again. */
  onError(error: unknown): void;
}

/** A place where features above fill in what the feature that owns it needs of them. */
export interface Port<T> {
  readonly name: string;
  /** Carries the type alone. */
  readonly value?: T;
}

export interface Fill {
  readonly port: Port<unknown>;
  readonly value: unknown;
}

export const port = <T>(name: string): Port<T> => ({ name });

export const fill = <T>(into: Port<T>, value: T): Fill => ({ port: into, value });

/** Throws unless exactly one feature fills the port. */
export function filledOnce<T>({ filled }: Pick<System, 'filled'>, of: Port<T>): T {
  const [value, ...others] = filled(of);
  if (value === undefined || others.length > 0)
    throw new Error(
      `the port ${of.name} is filled by ${others.length + Number(value !== undefined)} features`,
    );
  return value;
}

export interface Running {
  /** Resolves when what runs has ended. */
  stop(): Promise<unknown>;
}

/**
 * An effect is what a feature does with each event, once. It is a CTE with a name of its own that reads the
 * CTE `published` (id, team_id, kind, dedupe_key, payload, created_at). By the name of its first CTE it is
 * known where it waits for an event that it could not take, so that the name stays.
 */
export type EventEffect = (sql: SqlTag) => Fragment;

export interface Feature {
  readonly services?: ReadonlyArray<Handlers<Ctx>>;
  /** These are endpoints of foreign protocols, which no contract describes, by path. */
  readonly endpoints?: (app: Pick<App<Caller>, 'admit'>) => Readonly<Record<string, Endpoint>>;
  /** Work that repeats on workers. Any number of servers may run it at once. */
  readonly loops?: ReadonlyArray<() => Running>;
  /** Background work that must not be lost, done by workers. */
  readonly jobs?: readonly JobKind[];
  /** Deletes what has been kept for long enough, every hour on workers. */
  readonly purges?: ReadonlyArray<(nowMs: number) => Promise<unknown>>;
  readonly effects?: readonly EventEffect[];
  readonly fills?: readonly Fill[];
  /** Begins once the door listens, at this address. */
  readonly onListening?: (baseUrl: string) => Running;
  /** Ends what began with the record. */
  readonly stop?: () => Promise<unknown>;
}

/** A feature checks its settings together with those of the process. */
export interface SettingsCheck {
  readonly process: Omit<ProcessSettings, 'isSet'>;
  readonly isSet: ProcessSettings['isSet'];
  problem(text: string): void;
}

export interface Declared<F extends Feature = Feature, S extends SettingsTable = SettingsTable> {
  /** The word of its contract, its folder, its commands. */
  readonly name: string;
  /**
   * Features on which it stands: it imports them, reads their open tables and uses their contracts, and they
   * start before it.
   */
  readonly on: Readonly<Record<string, Declared>>;
  readonly settings: S;
  /** Prefixes of ids that no table of a plain resource declares. */
  readonly prefixes: readonly string[];
  readonly events: EventKinds;
  /**
   * Folders of `proto/svc` that are its own: unless it says otherwise, the one of its name. They import those
   * of features on which it stands.
   */
  readonly contracts: readonly string[];
  /** Tables that it owns although the kit describes them, or nobody does. */
  readonly owns: readonly string[];
  /** Tables that features above it may read, and those that they may write. */
  readonly reads: readonly string[];
  readonly writes: readonly string[];
  check(settings: SettingsOf<S>, check: SettingsCheck): void;
  start(system: System, on: Readonly<Record<string, Feature>>, settings: SettingsOf<S>): F | Promise<F>;
}

type Started<D extends Readonly<Record<string, Declared>>> = {
  readonly [K in keyof D]: Awaited<ReturnType<D[K]['start']>>;
};

interface Declaring<
  F extends Feature,
  D extends Readonly<Record<string, Declared>>,
  S extends SettingsTable,
> extends Partial<Pick<Declared, 'prefixes' | 'events' | 'contracts' | 'owns' | 'reads' | 'writes'>> {
  readonly name: string;
  readonly on?: D;
  readonly settings?: S;
  readonly check?: (settings: SettingsOf<S>, check: SettingsCheck) => void;
  readonly start: (system: System, on: Started<D>, settings: SettingsOf<S>) => F | Promise<F>;
}

export function declareFeature<
  F extends Feature,
  D extends Readonly<Record<string, Declared>> = Readonly<Record<never, never>>,
  S extends SettingsTable = Readonly<Record<never, never>>,
>({ on, settings, check, start, ...said }: Declaring<F, D, S>): Declared<F, S> {
  declareEvents(said.events ?? {});
  return {
    prefixes: [],
    events: {},
    contracts: [said.name],
    owns: [],
    reads: [],
    writes: [],
    ...said,
    on: on ?? {},
    settings: settings ?? ({} as S),
    check: check ?? (() => undefined),
    start: (system, started, read) => start(system, started as Started<D>, read),
  };
}

export interface Area {
  readonly name: string;
  readonly features: readonly Declared[];
}
