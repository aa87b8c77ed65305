/** The words that the database stores, for the numbers that the wire carries. */
import type { DescEnum } from '@bufbuild/protobuf';
import { EndReasonSchema, IsolationSchema, LogStreamSchema } from '@svc/proto/gen/svc/runner/v1/runner_pb.ts';
import { RunStateSchema } from '@svc/proto/gen/svc/sandboxruns/v1/sandboxruns_pb.ts';
import type { EndReason, Isolation, LogStream } from '@svc/proto/gen/svc/runner/v1/runner_pb.ts';
import type { RunState } from '@svc/proto/gen/svc/sandboxruns/v1/sandboxruns_pb.ts';
import { BuildTypeSchema } from '@svc/proto/gen/svc/environments/v1/environments_pb.ts';
import type { BuildType } from '@svc/proto/gen/svc/environments/v1/environments_pb.ts';
import { WorkKindSchema } from '@svc/proto/gen/svc/dispatch/v1/dispatch_pb.ts';
import type { WorkKind as WireKind } from '@svc/proto/gen/svc/dispatch/v1/dispatch_pb.ts';
import { enumNames } from '@svc/proto/http/enum-names.ts';
import { apiError } from '@svc/proto/http/errors.ts';
import type { WorkKind } from '@svc/proto/queue/queue.ts';
import type { LogStreamWord } from './append-logs.ts';
import type { EndReasonWord, WorkState } from './states.ts';

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
