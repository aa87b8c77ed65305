/**
 * The JSON that goes over the wire, as svc.runner.v1 spells it: lowerCamel fields, enums in their short
 * words, bytes in base64. Written out by hand rather than taken from the generated messages, because the
 * daemon needs eight small shapes and should start in an instant; a test holds them against the contract.
 * What a reply may leave out is optional here: an absent field is its zero value.
 */

/** Phases of a build, in order. */
export const BUILD_PHASES = ['cloning', 'building', 'publishing', 'deploying'] as const;
export type BuildPhase = (typeof BUILD_PHASES)[number];

/** A phase that a build is in, or is about to enter, and the length of its output by then. */
export interface EnteredPhase {
  phase: BuildPhase;
  phaseOffset: number;
}

export interface WireLease {
  id: string;
  epoch: number;
  /** The phase that a build is in, or is about to enter. */
  phase?: BuildPhase;
  /** Bytes of output that were written before that phase. */
  phaseOffset?: number;
}

export interface WireFacts {
  version: string;
  os: string;
  arch: string;
  isolation?: string;
  executor?: string;
}

export interface WireIntervals {
  heartbeatMs?: number;
  pollWaitMs?: number;
  leaseMs?: number;
}

export interface EnrollRequest {
  token: string;
  name: string;
  publicKey: string;
  labels?: Readonly<Record<string, string>>;
  facts?: WireFacts;
}

export interface EnrollReply {
  runnerId?: string;
  teamId?: string;
  serverTime?: string;
  intervals?: WireIntervals;
}

export interface WireDiagnostics {
  containerCliVersion?: string;
  deployCliVersion?: string;
  workspaceFreeMb?: number;
}

export interface HeartbeatRequest {
  /** A call without it does not take the runner over from its daemon. */
  bootId?: string;
  leases: WireLease[];
  diagnostics?: WireDiagnostics;
  draining?: boolean;
  facts?: WireFacts;
  labels?: Readonly<Record<string, string>>;
  givenBack?: WireLease[];
}

export type WireLeaseState = 'ok' | 'cancelled' | 'superseded';

export interface WireLeaseStatus {
  id: string;
  epoch: number;
  state?: WireLeaseState;
  leaseMs?: number;
}

export interface WireDirectives {
  sendDiagnostics?: boolean;
  paused?: boolean;
  flagged?: boolean;
  versionTooOld?: boolean;
  upgradeRecommended?: boolean;
  minVersion?: string;
  recommendedVersion?: string;
}

export interface HeartbeatReply {
  leases?: WireLeaseStatus[];
  directives?: WireDirectives;
  intervals?: WireIntervals;
  serverTime?: string;
}

export interface PollRequest {
  pollId: string;
  waitMs: number;
  slots: number;
  leases: WireLease[];
  notReady?: string[];
  /** A call without it does not take the runner over from its daemon. */
  bootId?: string;
}

export interface WireLimits {
  timeoutSeconds?: number;
  memoryMb?: number;
  cpus?: number;
  pids?: number;
  outputBytes?: number;
}

export interface RunOffer {
  id: string;
  leaseId?: string;
  epoch: number;
  leaseMs?: number;
  image?: string;
  command?: string[];
  env?: Record<string, string>;
  workdir?: string;
  stdin?: string;
  network?: string;
  isolation?: string;
  limits?: WireLimits;
  attempt?: number;
  teamId?: string;
  shared?: boolean;
}

export interface PollReply {
  run?: RunOffer;
}

export type WireBuildType = 'auto' | 'dockerfile' | 'buildpack';

export interface WireBuildSource {
  repository?: string;
  branch?: string;
  commit?: string;
  buildPath?: string;
  submodules?: boolean;
  username?: string;
  token?: string;
  sshKey?: string;
  knownHosts?: string;
  dockerfile?: string;
  context?: string;
  target?: string;
  cloneDepth?: number;
  tags?: boolean;
}

export interface WireImageTarget {
  host?: string;
  namespace?: string;
  repository?: string;
  tag?: string;
  username?: string;
  password?: string;
  insecure?: boolean;
  guarded?: boolean;
  commitInTag?: boolean;
  local?: boolean;
}

export interface WireDeployTarget {
  kind?: 'container' | 'dokku';
  app?: string;
  containerPort?: number;
  hostPort?: number;
  environmentId?: string;
}

export interface WireBuildLimits {
  timeoutSeconds?: number;
  memoryMb?: number;
  cpus?: number;
  outputBytes?: number;
}

export interface BuildOffer {
  id: string;
  leaseId?: string;
  epoch: number;
  leaseMs?: number;
  attempt?: number;
  source?: WireBuildSource;
  buildType?: WireBuildType;
  variables?: Record<string, string>;
  secrets?: Record<string, string>;
  steps?: string[];
  image?: WireImageTarget;
  deploy?: WireDeployTarget;
  deployImage?: string;
  limits?: WireBuildLimits;
  builderImage?: string;
  teamId?: string;
  shared?: boolean;
}

export interface BuildPollReply {
  build?: BuildOffer;
}

export type WireLogStream = 'stdout' | 'stderr' | 'runner';

export interface WireLogChunk {
  stream: WireLogStream;
  /** Base64. */
  data: string;
  /** Bytes of output before this chunk that were lost on this machine. */
  missingBytes?: number;
}

export interface WireLogsEnd {
  bytes: number;
  sha256: string;
}

export interface LogsRequest {
  id: string;
  epoch: number;
  offset: number;
  chunks: WireLogChunk[];
  end?: WireLogsEnd;
}

export interface LogsReply {
  nextOffset?: number;
  complete?: boolean;
  state?: WireLeaseState;
}

export type WireEndReason = 'exit' | 'timeout' | 'memory' | 'cancelled' | 'lease_lost' | 'engine_error';

export interface WirePhaseTime {
  phase: BuildPhase;
  durationMs: number;
}

export interface WireBaseImage {
  name: string;
  digest: string;
}

export interface WireBuildResult {
  commit?: string;
  ref?: string;
  buildType?: WireBuildType;
  image?: string;
  digest?: string;
  tag?: string;
  address?: string;
  phase?: BuildPhase;
  phases?: WirePhaseTime[];
  /** Base64 of a gzipped document. */
  sbom?: string;
  sbomProblem?: string;
  mediaType?: string;
  platform?: string;
  baseImages?: WireBaseImage[];
}

export interface ReportRequest {
  id: string;
  epoch: number;
  reportId: string;
  reason: WireEndReason;
  exitCode?: number;
  message?: string;
  durationMs?: number;
  waitedMs?: number;
  build?: WireBuildResult;
}

export interface ReportReply {
  accepted?: boolean;
  repeated?: boolean;
}

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
  'build-poll': { request: PollRequest; reply: BuildPollReply };
  'build-logs': { request: LogsRequest; reply: LogsReply };
  'build-report': { request: ReportRequest; reply: ReportReply };
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
