/**
 * A provider's folder says how its webhooks are read, how their origin is verified, which files define its
 * pipelines.
 */
import type { CiDefinitionProvider } from './definitions/definitions.ts';
import type { CiEvent, JobEvent, RunName } from './event.ts';
import type { Scheme } from './words.ts';

/** Places of the fields of a generic payload, as JSON pointers, and the meaning of its statuses. */
export interface GenericMapping {
  readonly pointers?: Readonly<Record<string, string>>;
  readonly words?: Readonly<Record<string, string>>;
}

/** Headers as they came; names in any case, several values of one header as a list. */
export type Headers = Readonly<Record<string, string | readonly string[] | undefined>>;

/** The repository of the event, as the provider names it; it must be the connection's. */
export interface RepositoryRef {
  /** Never changes; for Azure the project, for Bitbucket and Drone with what stands for an id there. */
  readonly id?: string | undefined;
  readonly name?: string | undefined;
}

/** The report of one run in a webhook or in the answer of a provider. */
export interface RunReport {
  readonly repository: RepositoryRef;
  readonly run: RunName;
  /** Other names under which the same run may be reported. */
  readonly aliases: readonly string[];
  /** It has no status where only jobs are reported, with facts of the run that they know. */
  readonly event: CiEvent;
  readonly jobs: readonly JobEvent[];
}

export interface Ignored {
  readonly ignored: string;
}

/** A report has no other names and no jobs where it does not say so. */
export type Reported =
  | (Omit<RunReport, 'aliases' | 'jobs'> & Partial<Pick<RunReport, 'aliases' | 'jobs'>>)
  | Ignored;

/** Never throws, whatever the payload is. */
export type Normalise = (headers: Headers, payload: unknown, mapping?: GenericMapping) => Reported;

export interface Delivery {
  /** One, or two while a secret is being replaced. */
  readonly secrets: readonly string[];
  /**
   * The scheme that the connection was set up with, never that of the delivery, for providers that can do
   * less than sign. Absent: `signature`.
   */
  readonly scheme?: Scheme | undefined;
  readonly headers: Headers;
  readonly rawBody: Uint8Array;
  readonly now: Date;
  /** Jenkins has nothing but its address. */
  readonly urlToken?: string | undefined;
}

export type Verdict = { readonly ok: true } | { readonly ok: false; readonly refused: string };

export interface Provider {
  /** Files of these systems make the pipelines of its connections. */
  readonly definitions: readonly CiDefinitionProvider[];
  readonly normalise: (...of: Parameters<Normalise>) => RunReport | Ignored;
  readonly verify: (delivery: Delivery) => Verdict;
  /**
   * The id that a delivery keeps when the provider sends it again, unique within the connection. The payload
   * is asked for only where it holds the id.
   */
  readonly deliveryId: (headers: Headers, rawBody: Uint8Array, payload: () => unknown) => string;
}
