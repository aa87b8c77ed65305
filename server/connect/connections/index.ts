/**
 * Connections join repositories at CI systems to teams, with tokens, webhooks and jobs at the repositories'
 * hosts.
 */
import { environmentGuards, environmentsFeature } from '../../apps/environments/index.ts';
import { projectsFeature } from '../../apps/projects/index.ts';
import { declareFeature, fill, port } from '../../kit/feature.ts';
import { setupSteps } from '../../kit/overview.ts';
import { described, findsByName } from '../../kit/search.ts';
import { providersFeature } from '../providers/index.ts';
import { connectionGuards } from './guards.ts';
import { createConnections, type ConnectionFollower } from './methods.ts';
import { ciConnections } from './schema.ts';
import { ciConnected } from './setup-step.ts';
import { createTokens } from './token.ts';
import { subscribeJob, unsubscribeJob } from './webhook/subscribe.ts';

export { askHost, connectionJob, forgeErrorOf } from './background.ts';
export type { ConnectionFollower } from './methods.ts';
export {
  connectionOfPin,
  connectionRows,
  holdStatus,
  lockConnection,
  noteConnection,
  readConnection,
} from './rows.ts';
export type { Connection } from './rows.ts';
export type { OidcPolicy } from './schema.ts';
export { detailsOf, refuseWhenPaused, shownConnection } from './shown.ts';
export {
  openSecrets,
  schemesOf,
  readWebhook,
  setWebhook,
  webhookOfId,
  webhooksOfProject,
  webhookUrl,
  canSubscribe,
  giveSecret,
  startSubscription,
  stopSubscription,
  takesWebhooks,
} from './webhook/store.ts';
export type { Webhook } from './webhook/store.ts';

/** Features above fill it with what follows when a person changes a connection. */
export const connectionFollowers = port<ConnectionFollower>('connections.followers');

export const connectionsFeature = declareFeature({
  name: 'connections',
  contracts: ['ci'],
  on: { environments: environmentsFeature, projects: projectsFeature, providers: providersFeature },
  prefixes: ['cih'],
  reads: ['ci_connections'],
  start: (system) => {
    const { webhooksAllowPrivate: allowPrivate } = system.config;
    const followers = () => system.filled(connectionFollowers);
    return {
      services: [createConnections({ ...system, followers }), createTokens({ ...system, allowPrivate })],
      jobs: [subscribeJob({ ...system, allowPrivate }), unsubscribeJob({ ...system, allowPrivate })],
      fills: [
        findsByName({
          ...described(ciConnections, 'ci:read', ciConnections.repositoryPath),
          feature: 'host.ci',
        }),
        fill(environmentGuards, connectionGuards),
        fill(setupSteps, ciConnected),
      ],
    };
  },
});
