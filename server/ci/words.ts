/** The contract's enums and the words that stand for them everywhere else. */
import { enumNames } from '@svc/proto/http/enum-names.ts';
import {
  CiProviderSchema,
  CiStatusSchema,
  ConnectionStatusSchema,
  IngestModeSchema,
} from '@svc/proto/gen/svc/ci/v1/ci_pb.ts';
import type {
  CiProvider as ProviderNumber,
  CiStatus as StatusNumber,
  ConnectionStatus as ConnectionStatusNumber,
  IngestMode as IngestModeNumber,
} from '@svc/proto/gen/svc/ci/v1/ci_pb.ts';
import type { CiStatus } from './accept.ts';

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

const providers = enumNames(CiProviderSchema);
const modes = enumNames(IngestModeSchema);
const connectionStatuses = enumNames(ConnectionStatusSchema);
const statuses = enumNames(CiStatusSchema);

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
