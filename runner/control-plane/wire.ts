/**
 * The JSON that goes over the wire, as svc.runner.v1 spells it: lowerCamel fields, enums in their short
 * words, bytes in base64. The types are those of the contract; its code is not loaded, because the daemon
 * should start in an instant. A field that a message may leave out is optional here: an absent one is its
 * zero value.
 */
import type { Timestamp } from '@bufbuild/protobuf/wkt';
import type {
  AppState,
  BackupState,
  DatabaseType,
  MountKind,
} from '@svc/proto/gen/svc/hosting/v1/hosting_pb.ts';
import type { BuildType, NginxLogKind } from '@svc/proto/gen/svc/environments/v1/environments_pb.ts';
import type * as runner from '@svc/proto/gen/svc/runner/v1/runner_pb.ts';

type Enums = {
  BuildType: typeof BuildType;
  AppState: typeof AppState;
  BackupState: typeof BackupState;
  DatabaseType: typeof DatabaseType;
  MountKind: typeof MountKind;
  NginxLogKind: typeof NginxLogKind;
} & Pick<
  typeof runner,
  'BuildPhase' | 'LeaseState' | 'LogStream' | 'EndReason' | 'DeployKind' | 'Network' | 'Isolation'
>;

/**
 * The words of an enum, such as `lease_lost`. A run whose time in the queue is up was never offered, so that
 * no runner reports it.
 */
type Words<Name extends keyof Enums> = Lowercase<
  Exclude<keyof Enums[Name] & string, 'UNSPECIFIED' | 'QUEUE_TIMEOUT'>
>;

type WordsOf<Value> = {
  [Name in keyof Enums]: Value extends Enums[Name][keyof Enums[Name]] ? Words<Name> : never;
}[keyof Enums];

/** A phase of a build. */
export type BuildPhase = Words<'BuildPhase'>;
export type WireBuildType = Words<'BuildType'>;
export type WireLeaseState = Words<'LeaseState'>;
export type WireLogStream = Words<'LogStream'>;
export type WireEndReason = Words<'EndReason'>;

type Spelled<Value> = Value extends number
  ? `${number}` extends `${Value}`
    ? number
    : WordsOf<Value>
  : Value extends Timestamp | Uint8Array
    ? string
    : Value extends ReadonlyArray<infer Item>
      ? Spelled<Item>[]
      : Value extends { $typeName: string }
        ? Wire<Value>
        : Value;

/** Fields that a message always has, unless the contract says of one that it may be absent. */
type Kept =
  | 'id'
  | 'epoch'
  | ('token' | 'name' | 'publicKey' | 'version' | 'os' | 'arch')
  | ('offset' | 'chunks' | 'stream' | 'data' | 'bytes' | 'sha256')
  | ('reportId' | 'reason' | 'phase' | 'durationMs' | 'digest')
  | ('environmentId' | 'revision' | 'app');

type KeptOf<Shape> = { [Name in keyof Shape]: undefined extends Shape[Name] ? never : Name }[keyof Shape] &
  Kept;

/** A message of the contract in JSON, without the runner's id, which is in the path. */
type Wire<Shape> = { [Name in KeptOf<Shape>]: Spelled<Shape[Name]> } & {
  [Name in Exclude<keyof Shape, KeptOf<Shape> | '$typeName' | '$unknown' | 'runnerId'>]?: Spelled<
    NonNullable<Shape[Name]>
  >;
};

type With<Shape, Name extends keyof Shape> = Shape & Required<Pick<Shape, Name>>;

/** A phase that a build is in, or is about to enter, and the length of its output by then. */
export type EnteredPhase = Required<Pick<WireLease, 'phase' | 'phaseOffset'>>;

export type WireLease = Wire<runner.HeldLease>;
export type WireIntervals = Wire<runner.Intervals>;
export type WireDiagnostics = Wire<runner.SelfDiagnostics>;
export type WireDirectives = Wire<runner.Directives>;
export type WireBuildSource = Wire<runner.BuildSource>;
export type WireImageTarget = Wire<runner.ImageTarget>;
export type WireDeployTarget = Wire<runner.DeployTarget>;
export type WireBaseImage = Wire<runner.BaseImage>;
export type WireBuildResult = Wire<runner.BuildResult>;
export type WireFacts = Wire<runner.Facts>;

export type EnrollRequest = Wire<runner.EnrollRequest>;
export type EnrollReply = Wire<Omit<runner.EnrollResponse, 'runnerId'>> & { runnerId?: string };
export type HeartbeatRequest = With<Wire<runner.HeartbeatRequest>, 'leases'>;
export type HeartbeatReply = Wire<runner.HeartbeatResponse>;
export type PollRequest = With<Wire<runner.PollRequest>, 'pollId' | 'waitMs' | 'slots' | 'leases'>;
export type RunOffer = Wire<runner.RunOffer>;
export type PollReply = Wire<runner.PollResponse>;
export type BuildOffer = Wire<runner.BuildOffer>;
export type BuildPollReply = Wire<runner.BuildPollResponse>;
export type LogsRequest = Wire<runner.LogsRequest>;
export type LogsReply = Wire<runner.LogsResponse>;
export type ReportRequest = Wire<runner.ReportRequest>;
export type ReportReply = Wire<runner.ReportResponse>;
export type SyncHostRequest = Wire<runner.SyncHostRequest>;
export type SyncHostReply = Wire<runner.SyncHostResponse>;
export type WireHostApp = Wire<runner.HostApp>;
export type WireHostDatabase = Wire<runner.HostDatabase>;
export type WireObservedDatabase = Wire<runner.ObservedDatabase>;
export type WireHostMount = Wire<runner.HostMount>;
export type WireObservedDomain = Wire<runner.ObservedDomain>;
export type WireObservedApp = Wire<runner.ObservedApp>;
export type HostLogsRequest = Wire<runner.HostLogsRequest>;
export type HostLogsReply = Wire<runner.HostLogsResponse>;
export type WireHostLog = Wire<runner.HostLog>;
export type WireTombstone = Wire<runner.Tombstone>;
export type CallRefusal = Wire<runner.CallRefusal>;

export interface ErrorReply {
  error: {
    code: string;
    message?: string;
    requestId?: string;
    retryable?: boolean;
    details?: Readonly<Record<string, unknown>>;
  };
}

/** The signed calls with their requests and replies. */
export interface Calls {
  heartbeat: { request: HeartbeatRequest; reply: HeartbeatReply };
  poll: { request: PollRequest; reply: PollReply };
  logs: { request: LogsRequest; reply: LogsReply };
  report: { request: ReportRequest; reply: ReportReply };
  'logs-of-many': { request: { logs: LogsRequest[] }; reply: Wire<runner.LogsOfManyResponse> };
  'reports-of-many': { request: { reports: ReportRequest[] }; reply: Wire<runner.ReportsOfManyResponse> };
  'build-poll': { request: PollRequest; reply: BuildPollReply };
  'build-logs': { request: LogsRequest; reply: LogsReply };
  'build-report': { request: ReportRequest; reply: ReportReply };
  host: { request: SyncHostRequest; reply: SyncHostReply };
  'host-logs': { request: HostLogsRequest; reply: HostLogsReply };
}

/** The calls that belong to each kind of work. */
export const WORK_CALLS = {
  run: { poll: 'poll', logs: 'logs', report: 'report' },
  build: { poll: 'build-poll', logs: 'build-logs', report: 'build-report' },
} as const;
export type WorkKind = keyof typeof WORK_CALLS;

export type CallName = keyof Calls;

/**
 * The JSON escapes of NUL and of halves of surrogate pairs. It also matches a text that holds the escape
 * itself, which then stays as it is.
 */
const UNSTORABLE = /\\u(?:0000|d[89a-f])/;

/**
 * A request as it is sent. The control plane refuses a request in which any text holds U+0000 or half of a
 * surrogate pair, because its database cannot store them; what a task printed, or a cut through it, may hold
 * both, and must not cost the result. Lengths stay as they are.
 */
export function wireJson(body: object): string {
  const json = JSON.stringify(body);
  if (!UNSTORABLE.test(json)) return json;
  return JSON.stringify(body, (_name, value: unknown) =>
    typeof value === 'string' ? storable(value) : value,
  );
}

/** UTF-8 has no half pairs: the way through it puts U+FFFD in their place. */
function storable(text: string): string {
  return Buffer.from(text.replaceAll('\0', '\ufffd')).toString();
}
