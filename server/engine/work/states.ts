/**
 * States of a work item, and what moves it. PostgreSQL holds the state; every arrow below is one SQL
 * statement that checks where the item stands, so that two processes can never both take the same arrow.
 *
 * ```
 *            submit                claim (epoch + 1)          first heartbeat, append
 *   (none) ----------> queued ----------------------> offered ----------------------> running
 *                        ^  ^    offer ends (15 s)       |                               |
 *                        |  +----------------------------+    lease ends (60 s), revoke  |
 *                        +---------------------------------------------------------------+
 *   queued ............ cancel                    -> cancelled
 *   queued ............ waited for longer than it was to, and was never begun -> failed (queue_timeout)
 *   offered, running .. report                    -> succeeded, failed, or cancelled when a cancel was asked for
 *   offered, running .. lease ends after a cancel -> cancelled
 *   running ........... lease ends at its deadline -> failed (timeout)
 *   offered, running .. lease ends with no attempt left, or after 20 offers -> dead
 * ```
 *
 * What must always hold: `epoch` rises by one at each claim and never falls; every write of a holder names
 * its epoch and changes nothing when that is not the current one; at most one lease of an item is open; an
 * ended item never changes its state again.
 */

export const LIVE_STATES = ['queued', 'offered', 'running'] as const;
export const FINAL_STATES = ['succeeded', 'failed', 'cancelled', 'dead'] as const;

export type LiveState = (typeof LIVE_STATES)[number];
export type FinalState = (typeof FINAL_STATES)[number];
export type WorkState = LiveState | FinalState;

/** The states that may follow each state; the model test walks them. */
export const TRANSITIONS: Readonly<Record<WorkState, readonly WorkState[]>> = {
  queued: ['offered', 'cancelled', 'failed'],
  offered: ['running', 'queued', 'succeeded', 'failed', 'cancelled', 'dead'],
  running: ['queued', 'succeeded', 'failed', 'cancelled', 'dead'],
  succeeded: [],
  failed: [],
  cancelled: [],
  dead: [],
};

export type EndReasonWord =
  | 'exit'
  | 'timeout'
  | 'memory'
  | 'cancelled'
  | 'lease_lost'
  | 'engine_error'
  | 'queue_timeout';

export function isFinal(state: WorkState): state is FinalState {
  return TRANSITIONS[state].length === 0;
}
