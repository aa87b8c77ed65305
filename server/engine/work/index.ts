export { cancel } from './cancel.ts';
export type { Grant } from './claim.ts';
export type { Cancelled } from './cancel.ts';
export { createDispatch, intervals } from './dispatch.ts';
export { createHints } from './hints.ts';
export type { Hints } from './hints.ts';
export type { DispatchCtx, DispatchDeps } from './dispatch.ts';
export { boundRunner, isTurn } from './build-sql.ts';
export type { FeatureGates } from './features.ts';
export {
  followOutput,
  nextPauseMs,
  OutputReader,
  standingOf,
  tailPosition,
  unfinished,
} from './follow-logs.ts';
export type { FollowDeps, FollowOptions, Output, OutputPosition, Standing } from './follow-logs.ts';
export { startDispatchGrpc } from './grpc.ts';
export type { DispatchGrpc, DispatchGrpcOptions } from './grpc.ts';
export { inProcessDispatch } from './in-process.ts';
export { startLogRetention } from './log-retention.ts';
export { createNonceStore, startNonceRotation } from './nonces.ts';
export type { NonceStore } from './nonces.ts';
export { BUILDING, CLONING, DEPLOYING, PUBLISHING } from './phases.ts';
export { poolOf, rerouteStrays, rerouteTeam } from './pool.ts';
export { createQueueRoom } from './queue-room.ts';
export type { QueueRoom } from './queue-room.ts';
export { startRelay } from './relay.ts';
export type { RelayDeps } from './relay.ts';
export { revokeRunner } from './revoke.ts';
export type { Revoked } from './revoke.ts';
export { sealInput } from './run-spec.ts';
export type { RunInput, RunSpec } from './run-spec.ts';
export { checkWorkSettings, defaultWorkSettings } from './settings.ts';
export type { WorkSettings } from './settings.ts';
export { sharedRead } from './shared-read.ts';
export { FINAL_STATES, LIVE_STATES, isFinal } from './states.ts';
export type { EndReasonWord, FinalState, WorkState } from './states.ts';
export { submit } from './submit.ts';
export type { KeyedAnswer, NewWork, SubmitDeps, Submitted } from './submit.ts';
export { startSweeper, sweep } from './sweeper.ts';
export type { SweeperDeps, Swept } from './sweeper.ts';
export { isBelow, runnerIsBelow, versionParts } from './version.ts';
export { createWake } from './wake.ts';
export type { Wake } from './wake.ts';
export {
  END_REASONS,
  ISOLATIONS,
  LOG_STREAMS,
  NETWORKS,
  RUN_STATES,
  isolationWord,
  stateWord,
} from './words.ts';
