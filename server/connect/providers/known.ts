/** These are the providers: one more is one more folder and one more line. */
import type { CiProvider } from './words.ts';
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
import { CI_DEFINITION_PROVIDERS } from './definitions/definitions.ts';
import { clip } from './read.ts';
import type { Ignored, RunReport, Provider } from './types.ts';

const KNOWN: Readonly<Record<CiProvider, Provider>> = {
  azure: { definitions: ['azure'], ...azureEvents, ...azureSignature },
  bitbucket: { definitions: ['bitbucket'], ...bitbucketEvents, ...bitbucketSignature },
  buildkite: { definitions: ['buildkite'], ...buildkiteEvents, ...buildkiteSignature },
  circleci: { definitions: ['circleci'], ...circleciEvents, ...circleciSignature },
  drone: { definitions: ['drone'], ...droneEvents, ...droneSignature },
  // What runs there is not known: the files of any system define its pipelines.
  generic: { definitions: CI_DEFINITION_PROVIDERS, ...genericEvents, ...genericSignature },
  github: { definitions: ['github'], ...githubEvents, ...githubSignature },
  gitlab: { definitions: ['gitlab'], ...gitlabEvents, ...gitlabSignature },
  jenkins: { definitions: ['jenkins'], ...jenkinsEvents, ...jenkinsSignature },
};

/**
 * Texts of webhooks are cut to what the contract takes: names are in indexes, and nobody reads longer ones.
 */
const NAME_MAX = 255;
const ID_MAX = 500;

export const PROVIDERS = Object.fromEntries(
  Object.entries(KNOWN).map(([id, provider]) => [id, { ...provider, normalise: bounded(provider) }]),
) as Readonly<Record<CiProvider, Provider>>;

function bounded({ normalise }: Provider): Provider['normalise'] {
  return (headers, payload, mapping) => within(normalise(headers, payload, mapping));
}

/** Cuts the texts of a report to what the contract takes. */
export function within(report: RunReport | Ignored): RunReport | Ignored {
  if ('ignored' in report) return { ignored: clip(report.ignored, NAME_MAX) };
  return {
    ...report,
    run: { ...report.run, externalRunId: clip(report.run.externalRunId, ID_MAX) },
    event: eventOf(report.event),
    jobs: report.jobs.map((job) => ({
      ...eventOf(job),
      name: clip(job.name, ID_MAX),
      ...(typeof job.externalJobId === 'string' ? { externalJobId: clip(job.externalJobId, ID_MAX) } : {}),
    })),
  };
}

function eventOf<E extends RunReport['event']>(event: E): E {
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
