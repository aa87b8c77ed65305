/** This file holds what policies said at a gate, and what follows from it. */
import type { PolicyDocument, PolicyMode } from './document.ts';

/** A policy as it is handed to a gate. A document under the same id and revision is always the same. */
export interface PolicyAtGate {
  readonly policyId: string;
  readonly revision: number;
  readonly document: PolicyDocument;
}

/**
 * `skipped`: its `when` is false. A rule that failed is `deny` under `enforce`, and `warn` in the other
 * modes.
 */
export type Outcome = 'allow' | 'warn' | 'deny' | 'error' | 'skipped';
/**
 * Why there is no answer. `rule`: an expression ended in an error or gave no bool. `input`: what was to be
 * judged is too large or misshapen. `time`, `memory`: the limits of the thread. `thread`: it ended, or could
 * not be started.
 */
export type ErrorReason = 'rule' | 'input' | 'time' | 'memory' | 'thread';

/** Also one that could not be judged, whose message says why and may hold texts of the input. */
export interface FailedRule {
  readonly id: string;
  readonly message: string;
}

export interface Verdict {
  readonly policyId: string;
  readonly revision: number;
  readonly mode: PolicyMode;
  readonly outcome: Outcome;
  readonly failed: readonly FailedRule[];
  readonly reason?: ErrorReason;
  /** The error in words, 300 characters at most. It may hold texts of the input. */
  readonly detail?: string;
  readonly ms: number;
}

/** The part of a verdict that a thread finds out. */
export type Judged = Pick<Verdict, 'outcome' | 'failed' | 'reason' | 'detail' | 'ms'>;

export interface Decision {
  readonly allowed: boolean;
  readonly denied: readonly Verdict[];
  /** To be shown to the actor in mode `warn`; in mode `audit` for the log alone. */
  readonly warned: readonly Verdict[];
}

/** An error under `enforce` denies: what could not be judged was not found to be good. */
export function decide(verdicts: readonly Verdict[]): Decision {
  const objecting = verdicts.filter(({ outcome }) => outcome !== 'allow' && outcome !== 'skipped');
  const denied = objecting.filter(({ mode }) => mode === 'enforce');
  const warned = objecting.filter(({ mode }) => mode !== 'enforce');
  return { allowed: denied.length === 0, denied, warned };
}
