/**
 * Any system that can send JSON, in the shape of this service's own reports, or with JSON pointers (RFC 6901)
 * to the fields and a map of its statuses. Nothing is evaluated.
 */
import { CI_STATUSES, type CiStatus } from '../words.ts';
import type { JobEvent } from '../event.ts';
import {
  at,
  attemptOf,
  idOf,
  isEnd,
  listOf,
  orderOfTime,
  refOf,
  shaOf,
  statusOf,
  text,
  timeOf,
  unixTimeOf,
  urlOf,
  type Meaning,
} from '../read.ts';
import type { Normalise, Provider } from '../types.ts';
import { headerId, verifyStandard } from '../authenticate.ts';

/** Default pointers of the fields: as reports have them, then shorter. */
export const POINTERS = {
  id: ['/externalRunId', '/id'],
  attempt: ['/externalAttempt', '/attempt'],
  status: ['/status'],
  name: ['/pipelineName', '/name'],
  sha: ['/commitSha', '/sha'],
  branch: ['/branch'],
  tag: ['/tag'],
  url: ['/externalUrl', '/url'],
  trigger: ['/trigger'],
  actor: ['/actor'],
  environment_id: ['/environmentId'],
  queued_at: ['/queuedAt', '/queued_at'],
  started_at: ['/startedAt', '/started_at'],
  finished_at: ['/finishedAt', '/finished_at'],
  updated_at: ['/updatedAt', '/updated_at'],
  duration_ms: ['/durationMs', '/duration_ms'],
  repository: ['/repository'],
  jobs: ['/jobs'],
} as const;

/** Deep enough for any payload that people made, and no more. */
export const DEPTH_MAX = 16;

export const normalise: Normalise = (_headers, payload, mapping = {}) => {
  const field = (name: keyof typeof POINTERS): unknown => {
    const pointer = mapping.pointers?.[name];
    const places = pointer === undefined ? POINTERS[name] : [pointer];
    return places.map((place) => pointed(payload, place)).find((value) => value !== undefined);
  };
  const [id, status] = [idOf(field('id')), idOf(field('status'))];
  if (id === undefined || status === undefined) return { ignored: 'nothing where id and status should be' };
  const means = meaningOfStatus(status, mapping.words);
  return {
    repository: { name: text(field('repository')) },
    run: { externalRunId: id, externalAttempt: attemptOf(field('attempt')) },
    event: {
      ...statusOf(means, status),
      order: orderOfTime(field('updated_at')) ?? orderOfTime(instantOf(field('updated_at'))),
      facts: {
        name: text(field('name')),
        commitSha: shaOf(field('sha')),
        ...refOf(field('branch')),
        ...refOf(field('tag'), true),
        event: text(field('trigger')),
        actor: text(field('actor')),
        environmentId: text(field('environment_id')),
        url: urlOf(field('url')),
        queuedAt: instantOf(field('queued_at')),
        startedAt: instantOf(field('started_at')),
        finishedAt: isEnd(means) ? instantOf(field('finished_at')) : undefined,
        durationMs: durationOf(field('duration_ms')),
      },
    },
    jobs: listOf(field('jobs')).flatMap((job) => jobOf(job, mapping.words)),
  };
};

/** Reads a job in the shape of ReportedJob; one without a name is none. */
function jobOf(job: unknown, words: Readonly<Record<string, string>> | undefined): readonly JobEvent[] {
  const name = text(at(job, 'name'));
  if (name === undefined) return [];
  const status = idOf(at(job, 'status')) ?? 'running';
  const means = meaningOfStatus(status, words);
  const index = at(job, 'index');
  return [
    {
      ...statusOf(means, status),
      externalJobId: idOf(at(job, 'externalJobId')),
      name,
      index:
        typeof index === 'number' && Number.isSafeInteger(index) && index >= 0 && index <= INDEX_MAX
          ? index
          : 0,
      soft: at(job, 'soft') === true,
      facts: {
        name,
        stage: text(at(job, 'stage')),
        url: urlOf(at(job, 'externalUrl')),
        startedAt: instantOf(at(job, 'startedAt')),
        finishedAt: isEnd(means) ? instantOf(at(job, 'finishedAt')) : undefined,
        durationMs: durationOf(at(job, 'durationMs')),
      },
    },
  ];
}

/** Limit of the contract. */
const INDEX_MAX = 100_000;
const DURATION_MAX_MS = 4_000_000_000;

function durationOf(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 && value <= DURATION_MAX_MS
    ? value
    : undefined;
}

const instantOf = (value: unknown): string | undefined => timeOf(value) ?? unixTimeOf(value, 'seconds');

function meaningOfStatus(status: string, words: Readonly<Record<string, string>> = {}): Meaning {
  const ours = Object.hasOwn(words, status) ? words[status] : status;
  return { status: CI_STATUSES.find((status): status is CiStatus => status === ours) ?? 'unknown' };
}

export function pointed(document: unknown, pointer: string): unknown {
  if (pointer === '') return document;
  if (!pointer.startsWith('/')) return undefined;
  const steps = pointer.slice(1).split('/');
  if (steps.length > DEPTH_MAX) return undefined;
  let found = document;
  for (const step of steps) {
    const key = step.replaceAll('~1', '/').replaceAll('~0', '~');
    if (typeof found !== 'object' || found === null || !Object.hasOwn(found, key)) return undefined;
    found = (found as Record<string, unknown>)[key];
  }
  return found;
}

export const verify: Provider['verify'] = verifyStandard;

export const deliveryId: Provider['deliveryId'] = (headers, rawBody) =>
  headerId(headers, rawBody, 'webhook-id');
