/** The dispatch service as gateway and server see it, whatever lies between them: one call for each ask, see dispatch.proto. */
import type { MessageInitShape, MessageShape } from '@bufbuild/protobuf';
import {
  AppendLogsAskSchema,
  HeartbeatAskSchema,
  KeyAnswerSchema,
  KeyAskSchema,
  PollAnswerSchema,
  PollAskSchema,
  ReportAskSchema,
} from '../gen/svc/dispatch/v1/dispatch_pb.ts';
import type {
  WatchFeaturesRequestSchema,
  WatchFeaturesResponse,
} from '../gen/svc/dispatch/v1/dispatch_pb.ts';
import {
  HeartbeatResponseSchema,
  LogsResponseSchema,
  ReportResponseSchema,
} from '../gen/svc/runner/v1/runner_pb.ts';
import type { EnrollRequestSchema, EnrollResponse } from '../gen/svc/runner/v1/runner_pb.ts';

/** The RPCs whose requests carry many asks (`asks`, `answers`, `refusals`). */
export const MANY = {
  resolveKey: { ask: KeyAskSchema, answer: KeyAnswerSchema },
  poll: { ask: PollAskSchema, answer: PollAnswerSchema },
  heartbeat: { ask: HeartbeatAskSchema, answer: HeartbeatResponseSchema },
  appendLogs: { ask: AppendLogsAskSchema, answer: LogsResponseSchema },
  report: { ask: ReportAskSchema, answer: ReportResponseSchema },
} as const;

export type ManyName = keyof typeof MANY;
export type Ask<Name extends ManyName> = MessageShape<(typeof MANY)[Name]['ask']>;
export type AskInit<Name extends ManyName> = MessageInitShape<(typeof MANY)[Name]['ask']>;
export type AnswerOf<Name extends ManyName> = MessageShape<(typeof MANY)[Name]['answer']>;
export type AnswerInit<Name extends ManyName> = MessageInitShape<(typeof MANY)[Name]['answer']>;

export const isMany = (name: string): name is ManyName => Object.hasOwn(MANY, name);

/** Failures are ApiErrors. */
export type Dispatch = {
  readonly [Name in ManyName]: (ask: AskInit<Name>) => Promise<AnswerOf<Name>>;
} & {
  enroll(request: MessageInitShape<typeof EnrollRequestSchema>): Promise<EnrollResponse>;
  /** The signal gives the call up. */
  watchFeatures(
    request: MessageInitShape<typeof WatchFeaturesRequestSchema>,
    signal?: AbortSignal,
  ): Promise<WatchFeaturesResponse>;
};
