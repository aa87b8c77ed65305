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
import { clip } from './read.ts';
import type { News, Provider } from './types.ts';

export type { Delivery, GenericMapping, Headers, Ignored, News, RepositoryRef, Verdict } from './types.ts';

const KNOWN: Readonly<Record<CiProvider, Provider>> = {
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

/** What webhooks say is as long as what the contract takes: names are in indexes, and nobody reads longer ones. */
const NAME_MAX = 255;
const ID_MAX = 500;

export const PROVIDERS = Object.fromEntries(
  Object.entries(KNOWN).map(([id, provider]) => [id, { ...provider, normalise: bounded(provider) }]),
) as Readonly<Record<CiProvider, Provider>>;

function bounded({ normalise }: Provider): Provider['normalise'] {
  return (headers, payload, mapping) => {
    const news = normalise(headers, payload, mapping);
    if ('ignored' in news) return { ignored: clip(news.ignored, NAME_MAX) };
    return {
      ...news,
      run: { ...news.run, externalRunId: clip(news.run.externalRunId, ID_MAX) },
      event: eventOf(news.event),
      jobs: news.jobs.map((job) => ({
        ...eventOf(job),
        name: clip(job.name, ID_MAX),
        ...(typeof job.externalJobId === 'string' ? { externalJobId: clip(job.externalJobId, ID_MAX) } : {}),
      })),
    };
  };
}

function eventOf<E extends News['event']>(event: E): E {
  const facts = Object.entries(event.facts).map(([name, value]) => [
    name,
    typeof value === 'string' && name !== 'url' ? clip(value, NAME_MAX) : value,
  ]);
  return {
    ...event,
    facts: Object.fromEntries(facts) as typeof event.facts,
    ...('reason' in event && typeof event.reason === 'string'
      ? { reason: clip(event.reason, NAME_MAX) }
      : {}),
  };
}
