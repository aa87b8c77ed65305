/** Defines the messages between the main thread and the heartbeat thread. */
import type { Intervals } from './intervals.ts';
import type { LogLevel } from '../platform/log.ts';
import type {
  BuildPhase,
  EnteredPhase,
  WireDiagnostics,
  WireDirectives,
  WireFacts,
  WireIntervals,
  WireLeaseState,
} from './wire.ts';
import type { WorkRef } from './work-ref.ts';

/**
 * The heartbeat thread's start data. The thread reads the key file itself: key objects and secrets are not
 * passed between threads.
 */
export interface HeartbeatSetup {
  baseUrl: string;
  runnerId: string;
  keyPath: string;
  caFile?: string;
  bootId: string;
  facts: WireFacts;
  labels: Readonly<Record<string, string>>;
  intervals: WireIntervals;
  offset: SharedArrayBuffer;
}

export type ToHeartbeat =
  | { type: 'hold'; ref: WorkRef; leaseMs?: number }
  | { type: 'renewed'; ref: WorkRef; sentMonotonicMs: number }
  /** A build is about to enter a phase: the next beat is sent at once. */
  | { type: 'phase'; ref: WorkRef; entered: EnteredPhase }
  | { type: 'finished'; ref: WorkRef }
  | { type: 'release'; ref: WorkRef }
  | { type: 'diagnostics'; diagnostics: WireDiagnostics }
  | { type: 'draining' }
  /** Another call found that the control plane serves runners again. */
  | { type: 'back' }
  /** The main thread lives. */
  | { type: 'tick' }
  | { type: 'stop' };

/** `lost`: the lease ran out without an answer of the control plane. */
export type LeaseState = WireLeaseState | 'lost';

export type FromHeartbeat =
  /** `phase` is the one that the answered heartbeat named. */
  | { type: 'lease'; ref: WorkRef; state: LeaseState; phase?: BuildPhase }
  /** The control plane serves no runners here; the next beat comes after so long. */
  | { type: 'unserved'; nextInMs: number }
  | {
      type: 'contact';
      atMs: number;
      sentMonotonicMs: number;
      directives: WireDirectives;
      intervals: Intervals;
    }
  /** A beat was answered, or failed: the thread lives. */
  | { type: 'beat'; ok: boolean }
  | { type: 'log'; level: Exclude<LogLevel, 'silent'>; fields: Record<string, unknown>; message: string }
  | { type: 'fatal'; verdict: 'revoked' | 'boot_superseded'; message: string }
  | { type: 'stopped' };
