export { agentOf } from './agents.ts';
export { cancel } from './cancel.ts';
export type { Grant } from './poll.ts';
export { CannotBegin, createDispatch, intervals } from './dispatch.ts';
export { buildOfferPort, enrollPort, hostLogsPort, workFeature } from './engine.ts';
export type { Engine } from './engine.ts';
export type { DispatchDeps, HostLogsInput, TakeHostLogs } from './dispatch.ts';
export { asked, callsInBatches, freshness, isFresh } from './nonces.ts';
export type { Freshness } from './nonces.ts';
export { runnerColumns } from './sql.ts';
export type { CallingRunner } from './sql.ts';
export { boundRunner, isTurn, tagOf } from './build-sql.ts';
export {
  followOutput,
  nextPauseMs,
  OutputReader,
  itemStatusOf,
  tailPosition,
  unfinished,
} from './follow-logs.ts';
export type { FollowDeps, FollowOptions, Output, OutputPosition } from './follow-logs.ts';
export { startDispatchGrpc } from './grpc.ts';
export { DEPLOYING, PUBLISHING, isolationWord, stateWord } from './words.ts';
export { currentItems, DEFAULT_PLACEMENT, placementOf, shownSelector, waitingItems } from './routes.ts';
export type { Placement } from './routes.ts';
export { revokeRunner } from './revoke.ts';
export { sealInput } from './run-spec.ts';
export type { RunSpec } from './run-spec.ts';
export { defaultWorkSettings } from './settings.ts';
export type { WorkSettings } from './settings.ts';
export { sharedRead } from './shared-read.ts';
export type { Selector, WorkItem } from './schema.ts';
export type { EndReasonWord, WorkState } from './words.ts';
export { heldOf } from './turns.ts';
export type { Submit } from './submit.ts';
export { isBelow, runnerIsBelow } from './version.ts';
export { createWake } from './wake.ts';
export type { Wake } from './wake.ts';
export { createTeamWork } from './team-work.ts';
