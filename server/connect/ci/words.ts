/** The contract's enums as numbers, and as the words that everything else uses. */
import { enumNames } from '@svc/proto/http/enum-names.ts';
import {
  CiProviderSchema,
  CiStatusSchema,
  CommitStatusModeSchema,
  ConnectionStatusSchema,
  CiDeliveryStateSchema,
  ForgeSchema,
  IngestModeSchema,
  SubscriptionStateSchema,
  WebhookSchemeSchema,
} from '@svc/proto/gen/svc/ci/v1/ci_pb.ts';
import type {
  CiDeliveryState as DeliveryStateNumber,
  CiProvider as ProviderNumber,
  CiStatus as StatusNumber,
  CommitStatusMode as CommitStatusModeNumber,
  ConnectionStatus as ConnectionStatusNumber,
  Forge as ForgeNumber,
  IngestMode as IngestModeNumber,
  SubscriptionState as SubscriptionNumber,
  WebhookScheme as SchemeNumber,
} from '@svc/proto/gen/svc/ci/v1/ci_pb.ts';
import type { CiStatus } from './accept.ts';
import type { DeliveryState } from './webhooks/deliveries-store.ts';
import type { Scheme, SubscriptionState } from './model/webhook.ts';

export type CiProvider =
  | 'github'
  | 'gitlab'
  | 'bitbucket'
  | 'jenkins'
  | 'circleci'
  | 'buildkite'
  | 'drone'
  | 'azure'
  | 'generic';
export type IngestMode = 'direct' | 'webhook' | 'both';
export type ConnectionStatus = 'active' | 'paused' | 'error';
export type CommitStatusMode = 'auto' | 'always' | 'never';
/** Kind of the repository's host. */
export type ForgeId = 'github' | 'gitlab' | 'bitbucket' | 'azure';

const providers = enumNames(CiProviderSchema);
const modes = enumNames(IngestModeSchema);
const connectionStatuses = enumNames(ConnectionStatusSchema);
const statuses = enumNames(CiStatusSchema);
const commitStatusModes = enumNames(CommitStatusModeSchema);
const forges = enumNames(ForgeSchema);

export const providerWord = (number: ProviderNumber) => providers.byNumber.get(number) as CiProvider;
export const providerNumber = (word: CiProvider) => providers.byName.get(word) as ProviderNumber;
export const modeWord = (number: IngestModeNumber) => modes.byNumber.get(number) as IngestMode;
export const modeNumber = (word: IngestMode) => modes.byName.get(word) as IngestModeNumber;
export const connectionStatusWord = (number: ConnectionStatusNumber) =>
  connectionStatuses.byNumber.get(number) as ConnectionStatus;
export const connectionStatusNumber = (word: ConnectionStatus) =>
  connectionStatuses.byName.get(word) as ConnectionStatusNumber;
export const statusWord = (number: StatusNumber) => statuses.byNumber.get(number) as CiStatus;
export const statusNumber = (word: CiStatus) => statuses.byName.get(word) as StatusNumber;
export const commitStatusModeWord = (number: CommitStatusModeNumber) =>
  commitStatusModes.byNumber.get(number) as CommitStatusMode;
export const commitStatusModeNumber = (word: CommitStatusMode) =>
  commitStatusModes.byName.get(word) as CommitStatusModeNumber;
export const forgeWord = (number: ForgeNumber) => forges.byNumber.get(number) as ForgeId;
export const forgeNumber = (word: ForgeId) => forges.byName.get(word) as ForgeNumber;

const schemes = enumNames(WebhookSchemeSchema);
const subscriptions = enumNames(SubscriptionStateSchema);
const deliveryStates = enumNames(CiDeliveryStateSchema);

export const schemeWord = (number: SchemeNumber) => schemes.byNumber.get(number) as Scheme;
export const schemeNumber = (word: Scheme) => schemes.byName.get(word) as SchemeNumber;
export const subscriptionNumber = (word: SubscriptionState) =>
  subscriptions.byName.get(word) as SubscriptionNumber;
export const deliveryStateWord = (number: DeliveryStateNumber) =>
  deliveryStates.byNumber.get(number) as DeliveryState;
export const deliveryStateNumber = (word: DeliveryState) =>
  deliveryStates.byName.get(word) as DeliveryStateNumber;
