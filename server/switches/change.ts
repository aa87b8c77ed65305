/** This is what is remembered about one move of one switch. */
import type { SwitchState } from '@svc/proto/features/definition.ts';
import type { FeatureReason } from './snapshot.ts';

export type ActorKind = 'user' | 'api_key' | 'environment';
export type ChangeSource = 'console' | 'api' | 'cli' | 'boot';

/**
 * A feature whose effective state changes with a switch. Stored as it is, for ever: fields are only ever
 * added.
 */
export interface Affected {
  readonly key: string;
  readonly enabledBefore: boolean;
  readonly enabledAfter: boolean;
  readonly reasonBefore: FeatureReason;
  readonly reasonAfter: FeatureReason;
  readonly blockedBy: readonly string[];
}

export interface Change {
  /** `fch_…` */
  readonly id: string;
  readonly at: Date;
  readonly key: string;
  readonly from: SwitchState;
  readonly to: SwitchState;
  readonly revisionFrom: number;
  readonly revisionTo: number;
  readonly reason: string;
  readonly actor: { readonly kind: ActorKind; readonly id: string; readonly display: string };
  readonly source: ChangeSource;
  /** Empty when a process made it at its start. */
  readonly requestId: string;
  readonly affected: readonly Affected[];
}
