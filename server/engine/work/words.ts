/** The words that the database stores, for the numbers that the wire carries. */
import type { DescEnum } from '@bufbuild/protobuf';
import {
  EndReasonSchema,
  IsolationSchema,
  LogStreamSchema,
  type EndReason,
  type Isolation,
  type LogStream,
} from '@svc/proto/gen/svc/runner/v1/runner_pb.ts';
import { RunStateSchema, type RunState } from '@svc/proto/gen/svc/sandboxruns/v1/sandboxruns_pb.ts';
import { BuildTypeSchema, type BuildType } from '@svc/proto/gen/svc/environments/v1/environments_pb.ts';
import { WorkKindSchema, type WorkKind as WireKind } from '@svc/proto/gen/svc/dispatch/v1/dispatch_pb.ts';
import { enumNames } from '@svc/proto/http/enum-names.ts';
import { apiError } from '@svc/proto/http/errors.ts';
import type { WorkKind } from '@svc/proto/queue/queue.ts';
import type { LogStreamWord } from './log-runs.ts';

export type IsolationWord = 'any' | 'container';

/** Refuses 0 and numbers that this version does not know. */
function wordOf<W extends string>(schema: DescEnum, value: number, field: string): W {
  const word = enumNames(schema).byNumber.get(value);
  if (word !== undefined && value !== 0) return word as W;
  const known = schema.values.map(({ number }) => number).filter((number) => number !== 0);
  const message = `${field} is ${value}, expected one of ${known.join(', ')}`;
  const details = { fields: [{ field, rule: 'enum', message }] };
  throw apiError('validation_failed', message, { details });
}

export const kindWord = (value: WireKind): WorkKind => wordOf(WorkKindSchema, value, 'kind');
export const reasonWord = (value: EndReason): EndReasonWord => wordOf(EndReasonSchema, value, 'reason');
export const streamWord = (value: LogStream): LogStreamWord => wordOf(LogStreamSchema, value, 'stream');
export const buildTypeWord = (value: BuildType): 'auto' | 'dockerfile' | 'buildpack' =>
  wordOf(BuildTypeSchema, value, 'build_type');
export const isolationWord = (value: Isolation): IsolationWord => wordOf(IsolationSchema, value, 'isolation');
export const stateWord = (value: RunState): WorkState => wordOf(RunStateSchema, value, 'state');

// Phases of a build, by the numbers that the wire carries (BuildPhase, Phase) and the database stores; 0 is
// none yet. They only go forward within one grant. From `PUBLISHING` on something outside may have changed,
// so a build that loses its runner there is not run again by itself.

export const CLONING = 1;
export const BUILDING = 2;
export const PUBLISHING = 3;
export const DEPLOYING = 4;

/** Refuses numbers that this version does not know. */
export function phaseNumber(phase: number | undefined): number {
  if (phase === undefined) return 0;
  if (phase >= CLONING && phase <= DEPLOYING) return phase;
  throw apiError('validation_failed', `phase is ${phase}, expected ${CLONING} to ${DEPLOYING}`);
}

// States of a work item, and what moves it. PostgreSQL holds the state; every arrow below is one SQL
// statement that checks where the item stands, so that two processes can never both take the same arrow. ```
// submit                claim (epoch + 1)          first heartbeat, append (none) ----------> queued
// ----------------------> offered ----------------------> running ^  ^    offer ends (15 s)       |
// | |  +----------------------------+    lease ends (60 s), revoke  |
// +---------------------------------------------------------------+ queued ............ cancel
// -> cancelled queued ............ waited for longer than it was to, and was never begun -> failed
// (queue_timeout) offered, running .. report                    -> succeeded, failed, or cancelled when a
// cancel was asked for offered, running .. lease ends after a cancel -> cancelled running ........... lease
// ends at its deadline -> failed (timeout) offered, running .. lease ends with no attempt left, or after 20
// offers -> dead ``` What must always hold: `epoch` rises by one at each claim and never falls; every write
// of a holder names its epoch and changes nothing when that is not the current one; at most one lease of an
// item is open; an ended item never changes its state again.

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
