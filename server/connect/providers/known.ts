/** These are the providers: one more is one more folder and one more line. */
import type { CiProvider } from './words.ts';
import * as azure from './azure/events.ts';
import * as bitbucket from './bitbucket/events.ts';
import * as buildkite from './buildkite/events.ts';
import * as circleci from './circleci/events.ts';
import * as drone from './drone/events.ts';
import * as generic from './generic/events.ts';
import * as github from './github/events.ts';
import * as gitlab from './gitlab/events.ts';
import * as jenkins from './jenkins/events.ts';
import { CI_DEFINITION_PROVIDERS } from './definitions/definitions.ts';
import { clip } from './read.ts';
import type { Ignored, Normalise, Provider, Reported, RunReport } from './types.ts';

const KNOWN: Readonly<Record<CiProvider, Omit<Provider, 'normalise'> & { normalise: Normalise }>> = {
  azure: { definitions: ['azure'], ...azure },
  bitbucket: { definitions: ['bitbucket'], ...bitbucket },
  buildkite: { definitions: ['buildkite'], ...buildkite },
  circleci: { definitions: ['circleci'], ...circleci },
  drone: { definitions: ['drone'], ...drone },
  // What runs there is not known: the files of any system define its pipelines.
  generic: { definitions: CI_DEFINITION_PROVIDERS, ...generic },
  github: { definitions: ['github'], ...github },
  gitlab: { definitions: ['gitlab'], ...gitlab },
  jenkins: { definitions: ['jenkins'], ...jenkins },
};

/**
 * Texts of webhooks are cut to what the contract takes: names are in indexes, and nobody reads longer ones.
 */
const NAME_MAX = 255;
const ID_MAX = 500;

export const PROVIDERS = Object.fromEntries(
  Object.entries(KNOWN).map(([id, provider]) => [
    id,
    { ...provider, normalise: (...of: Parameters<Normalise>) => within(provider.normalise(...of)) },
  ]),
) as Readonly<Record<CiProvider, Provider>>;

/** Cuts the texts of a report to what the contract takes. */
export function within(report: Reported): RunReport | Ignored {
  if ('ignored' in report) return { ignored: clip(report.ignored, NAME_MAX) };
  return {
    ...report,
    run: { ...report.run, externalRunId: clip(report.run.externalRunId, ID_MAX) },
    aliases: report.aliases ?? [],
    event: eventOf(report.event),
    jobs: (report.jobs ?? []).map((job) => ({
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
