/** The words that the database stores, and the numbers that the wire carries. */
import {
  EndReason,
  Isolation,
  LogStream,
  Network,
  RunState,
} from '@svc/proto/gen/svc/sandboxruns/v1/sandboxruns_pb.ts';
import { BuildType } from '@svc/proto/gen/svc/environments/v1/environments_pb.ts';
import { WorkKind as WireKind } from '@svc/proto/gen/svc/dispatch/v1/dispatch_pb.ts';
import { apiError } from '@svc/proto/http/errors.ts';
import type { WorkKind } from '@svc/proto/queue/queue.ts';
import type { LogStreamWord } from './append-logs.ts';
import type { EndReasonWord, WorkState } from './states.ts';

export const RUN_STATES: Readonly<Record<WorkState, RunState>> = {
  queued: RunState.QUEUED,
  offered: RunState.OFFERED,
  running: RunState.RUNNING,
  succeeded: RunState.SUCCEEDED,
  failed: RunState.FAILED,
  cancelled: RunState.CANCELLED,
  dead: RunState.DEAD,
};

export const END_REASONS: Readonly<Record<EndReasonWord, EndReason>> = {
  exit: EndReason.EXIT,
  timeout: EndReason.TIMEOUT,
  memory: EndReason.MEMORY,
  cancelled: EndReason.CANCELLED,
  lease_lost: EndReason.LEASE_LOST,
  engine_error: EndReason.ENGINE_ERROR,
};

export const LOG_STREAMS: Readonly<Record<LogStreamWord, LogStream>> = {
  stdout: LogStream.STDOUT,
  stderr: LogStream.STDERR,
  runner: LogStream.RUNNER,
};

export type IsolationWord = 'any' | 'container';
export const ISOLATIONS: Readonly<Record<IsolationWord, Isolation>> = {
  any: Isolation.ANY,
  container: Isolation.CONTAINER,
};
export const NETWORKS = { none: Network.NONE } as const;

const BUILD_TYPES = {
  auto: BuildType.AUTO,
  dockerfile: BuildType.DOCKERFILE,
  buildpack: BuildType.BUILDPACK,
} as const;

const KINDS: Readonly<Record<WorkKind, WireKind>> = { run: WireKind.RUN, build: WireKind.BUILD };

/** The word of a number; refuses 0 and numbers that this version does not know. */
function wordOf<W extends string>(table: Readonly<Record<W, number>>, value: number, field: string): W {
  for (const word in table) if (table[word] === value) return word;
  throw apiError(
    'validation_failed',
    `${field} is ${value}, expected one of ${Object.values(table).join(', ')}`,
  );
}

export const kindWord = (value: WireKind): WorkKind => wordOf(KINDS, value, 'kind');
export const reasonWord = (value: EndReason): EndReasonWord => wordOf(END_REASONS, value, 'reason');
export const streamWord = (value: LogStream): LogStreamWord => wordOf(LOG_STREAMS, value, 'stream');
export const buildTypeWord = (value: BuildType): keyof typeof BUILD_TYPES =>
  wordOf(BUILD_TYPES, value, 'build_type');
export const isolationWord = (value: Isolation): IsolationWord => wordOf(ISOLATIONS, value, 'isolation');
export const stateWord = (value: RunState): WorkState => wordOf(RUN_STATES, value, 'state');
