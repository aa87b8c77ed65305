/** What is known of each provider's webhooks: one more is one more folder and one more line. */
import type { CiProvider } from '../words.ts';
import * as azureEvents from './azure/events.ts';
import * as azureSignature from './azure/signature.ts';
import * as bitbucketEvents from './bitbucket/events.ts';
import * as bitbucketSignature from './bitbucket/signature.ts';
import * as buildkiteEvents from './buildkite/events.ts';
import * as buildkiteSignature from './buildkite/signature.ts';
import * as circleciEvents from './circleci/events.ts';
import * as circleciSignature from './circleci/signature.ts';
import * as droneEvents from './drone/events.ts';
import * as droneSignature from './drone/signature.ts';
import * as genericEvents from './generic/events.ts';
import * as genericSignature from './generic/signature.ts';
import * as githubEvents from './github/events.ts';
import * as githubSignature from './github/signature.ts';
import * as gitlabEvents from './gitlab/events.ts';
import * as gitlabSignature from './gitlab/signature.ts';
import * as jenkinsEvents from './jenkins/events.ts';
import * as jenkinsSignature from './jenkins/signature.ts';
import type { Provider } from './types.ts';

export type { Delivery, GenericMapping, Headers, Ignored, News, RepositoryRef, Verdict } from './types.ts';

export const PROVIDERS: Readonly<Record<CiProvider, Provider>> = {
  azure: { ...azureEvents, ...azureSignature },
  bitbucket: { ...bitbucketEvents, ...bitbucketSignature },
  buildkite: { ...buildkiteEvents, ...buildkiteSignature },
  circleci: { ...circleciEvents, ...circleciSignature },
  drone: { ...droneEvents, ...droneSignature },
  generic: { ...genericEvents, ...genericSignature },
  github: { ...githubEvents, ...githubSignature },
  gitlab: { ...gitlabEvents, ...gitlabSignature },
  jenkins: { ...jenkinsEvents, ...jenkinsSignature },
};
