/**
 * The dispatch service as gateway and server see it, whatever lies between them: one call for each ask, see
 * dispatch.proto.
 */
import type { MessageInitShape, MessageShape } from '@bufbuild/protobuf';
import {
  AppendLogsAskSchema,
  FeaturesAnswerSchema,
  FeaturesAskSchema,
  HeartbeatAskSchema,
  HostLogsAskSchema,
  KeyAnswerSchema,
  KeyAskSchema,
  PollAnswerSchema,
  PollAskSchema,
  ReportAskSchema,
  SyncHostAskSchema,
} from '../gen/svc/dispatch/v1/dispatch_pb.ts';
import {
  EnrollRequestSchema,
  EnrollResponseSchema,
  HeartbeatResponseSchema,
  HostLogsResponseSchema,
  LogsResponseSchema,
  ReportResponseSchema,
  SyncHostResponseSchema,
} from '../gen/svc/runner/v1/runner_pb.ts';

/**
 * The messages of an ask and of its answer, by the RPC whose requests carry many of them (`asks`, `answers`,
 * `refusals`).
 */
export const CALLS = {
  watchFeatures: { ask: FeaturesAskSchema, answer: FeaturesAnswerSchema },
  enroll: { ask: EnrollRequestSchema, answer: EnrollResponseSchema },
  resolveKey: { ask: KeyAskSchema, answer: KeyAnswerSchema },
  poll: { ask: PollAskSchema, answer: PollAnswerSchema },
  heartbeat: { ask: HeartbeatAskSchema, answer: HeartbeatResponseSchema },
  appendLogs: { ask: AppendLogsAskSchema, answer: LogsResponseSchema },
  report: { ask: ReportAskSchema, answer: ReportResponseSchema },
  hostLogs: { ask: HostLogsAskSchema, answer: HostLogsResponseSchema },
  syncHost: { ask: SyncHostAskSchema, answer: SyncHostResponseSchema },
} as const;

export type CallName = keyof typeof CALLS;
export type Ask<Name extends CallName> = MessageShape<(typeof CALLS)[Name]['ask']>;
export type AskInit<Name extends CallName> = MessageInitShape<(typeof CALLS)[Name]['ask']>;
export type AnswerOf<Name extends CallName> = MessageShape<(typeof CALLS)[Name]['answer']>;
export type AnswerInit<Name extends CallName> = MessageInitShape<(typeof CALLS)[Name]['answer']>;

/** Failures are ApiErrors. */
export type Dispatch = { readonly [Name in CallName]: (ask: AskInit<Name>) => Promise<AnswerOf<Name>> };
