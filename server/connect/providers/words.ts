/** The contract's enums give the words that stand for CI systems, hosts, statuses and schemes. */
import {
  CiProvider as Provider,
  CiProviderSchema,
  CiStatus as Status,
  CiStatusSchema,
  Forge,
  ForgeSchema,
  WebhookScheme,
  WebhookSchemeSchema,
} from '@svc/proto/gen/svc/ci/v1/ci_pb.ts';
import { enumWords } from '../../kit/resource/team-table.ts';

export const CI_PROVIDERS = enumWords(Provider, CiProviderSchema);
export type CiProvider = (typeof CI_PROVIDERS)[number];

export const CI_STATUSES = enumWords(Status, CiStatusSchema);
export type CiStatus = (typeof CI_STATUSES)[number];

export const FORGES = enumWords(Forge, ForgeSchema);
export type ForgeId = (typeof FORGES)[number];

/** Schemes say how a webhook proves where it comes from. */
export const SCHEMES = enumWords(WebhookScheme, WebhookSchemeSchema);
export type Scheme = (typeof SCHEMES)[number];
