/**
 * Bitbucket sends commit statuses, which are live, and the spans of Pipelines, which come only at the end.
 */
import type { JobEvent } from '../event.ts';
import {
  at,
  header,
  idOf,
  isEnd,
  listOf,
  meanings,
  orderOfTime,
  refOf,
  shaOf,
  statusOf,
  text,
  timeOf,
  unixTimeOf,
  urlOf,
} from '../read.ts';
import type { Normalise, Provider, Reported } from '../types.ts';
import { headerId, verifyBodyHmac } from '../authenticate.ts';

const ofState = meanings({
  running: 'INPROGRESS',
  success: 'SUCCESSFUL',
  failed: 'FAILED',
  cancelled: 'STOPPED',
});

const ofResult = meanings({
  success: 'COMPLETE SUCCESSFUL',
  failed: 'FAILED',
  error: 'ERROR',
  cancelled: 'STOPPED',
});

/** The page of a run of Pipelines, as its statuses and as people address it. */
const RESULT = /\/pipelines\/(?:home#!\/)?results\/(\d{1,18})/;

/** Keys of the statuses that we post ourselves. */
const OWN_KEY = /^svc[/-]/i;

export const normalise: Normalise = (headers, payload) => {
  const event = text(header(headers, 'x-event-key'));
  if (
    event === undefined ? at(payload, 'commit_status') !== undefined : event.startsWith('repo:commit_status_')
  )
    return ofCommitStatus(payload);
  if (
    event === 'pipeline:span_created' ||
    (event === undefined && at(payload, 'resourceSpans') !== undefined)
  )
    return ofSpans(payload);
  return { ignored: `event ${event ?? 'without a name'}` };
};

function ofCommitStatus(payload: unknown): Reported {
  const status = (key: string) => at(payload, 'commit_status', key);
  const [key, state] = [text(status('key')), text(status('state'))];
  const sha = shaOf(at(status('commit'), 'hash')) ?? shaOf(tailOf(at(status('links'), 'commit', 'href')));
  if (key === undefined || state === undefined || sha === undefined)
    return { ignored: 'commit status without key, state or commit' };
  if (OWN_KEY.test(key)) return { ignored: 'a commit status that was posted from here' };
  const url = urlOf(status('url'));
  const number = RESULT.exec(url ?? '')?.[1];
  const repository = text(at(payload, 'repository', 'full_name'));
  const means = ofState(state);
  return {
    repository: repositoryOf(at(payload, 'repository', 'uuid'), repository),
    // A key is its commit's alone, and a second run of that commit has it too: beside a number it is no other
    // name of the run.
    run: { externalRunId: number ?? `${sha}:${key.slice(0, 400)}`, externalAttempt: 1 },
    event: {
      ...statusOf(means, state),
      order: orderOfTime(status('updated_on')),
      facts: {
        // A status of Pipelines is called after its run's number; pipelines have no names, so they are called
        // as their jobs call them.
        name: number === undefined ? (text(status('name')) ?? key) : repository,
        commitSha: sha,
        ...refOf(status('refname')),
        startedAt: timeOf(status('created_on')),
        finishedAt: isEnd(means) ? timeOf(status('updated_on')) : undefined,
        url,
        actor: text(at(payload, 'actor', 'nickname')) ?? text(at(payload, 'actor', 'display_name')),
      },
    },
  };
}

function tailOf(href: unknown): string | undefined {
  return text(href)?.split('/').at(-1);
}

type Attributes = ReadonlyMap<string, string>;

function ofSpans(payload: unknown): Reported {
  const spans = listOf(at(payload, 'resourceSpans'))
    .flatMap((resource) => listOf(at(resource, 'scopeSpans')))
    .flatMap((scope) => listOf(at(scope, 'spans')))
    .map((span) => ({ span, attributes: attributesOf(at(span, 'attributes')) }));
  const run = spans.find(({ span }) => at(span, 'name') === 'bbc.pipeline_run');
  const steps = spans.filter(({ span }) => at(span, 'name') === 'bbc.step');
  const attributes = (run ?? steps[0])?.attributes;
  // Jobs know the pipeline's UUID and number, and not that of the run.
  const pipeline = bare(attributes?.get('pipeline.uuid'));
  const id = bare(attributes?.get('pipeline_run.uuid')) ?? pipeline;
  if (attributes === undefined || id === undefined) return { ignored: 'spans without a run or a step' };
  const number = attributes.get('pipeline.build_number') ?? attributes.get('pipeline_run.run_number');
  const base = {
    repository: repositoryOf(attributes.get('pipeline.repository.uuid'), undefined),
    run: { externalRunId: id, externalAttempt: 1 },
    aliases: [number, pipeline].flatMap((name) => (name === undefined || name === id ? [] : [name])),
    jobs: steps.flatMap(jobOfSpan),
  };
  if (run === undefined) return { ...base, event: { facts: {} } };
  const result = attributes.get('pipeline.state.result.name');
  return {
    ...base,
    event: {
      ...statusOf(ofResult(result), attributes.get('pipeline.state.name'), result),
      order: nanoseconds(at(run.span, 'endTimeUnixNano')),
      facts: {
        commitSha: shaOf(
          attributes.get('pipeline.target.commit.hash') ?? attributes.get('pipeline.target.commit'),
        ),
        ...refOf(
          attributes.get('pipeline.target.ref_name'),
          /tag/i.test(attributes.get('pipeline.target.ref_type') ?? ''),
        ),
        event: attributes.get('pipeline.trigger.name'),
        startedAt: unixTimeOf(at(run.span, 'startTimeUnixNano'), 'nanoseconds'),
        finishedAt: unixTimeOf(at(run.span, 'endTimeUnixNano'), 'nanoseconds'),
      },
    },
  };
}

function jobOfSpan({ span, attributes }: { span: unknown; attributes: Attributes }): readonly JobEvent[] {
  const id = bare(attributes.get('step.uuid')) ?? idOf(at(span, 'spanId'));
  if (id === undefined) return [];
  const result = attributes.get('step.state.result.name');
  return [
    {
      externalJobId: id,
      name: attributes.get('step.name') ?? id,
      ...statusOf(ofResult(result), attributes.get('step.state.name'), result),
      facts: {
        startedAt: unixTimeOf(at(span, 'startTimeUnixNano'), 'nanoseconds'),
        finishedAt: unixTimeOf(at(span, 'endTimeUnixNano'), 'nanoseconds'),
      },
    },
  ];
}

/** Numbers are in `stringValue` or, as text, in `intValue`. */
function attributesOf(list: unknown): Attributes {
  return new Map(
    listOf(list).flatMap((attribute) => {
      const key = text(at(attribute, 'key'));
      const value = idOf(at(attribute, 'value', 'stringValue') ?? at(attribute, 'value', 'intValue'));
      return key === undefined || value === undefined ? [] : [[key, value] as const];
    }),
  );
}

function nanoseconds(value: unknown): string | undefined {
  const digits = idOf(value);
  return digits !== undefined && /^\d{1,25}$/.test(digits) ? digits : undefined;
}

/** Pipelines' own variables may have the braces and may not. */
function bare(uuid: string | undefined): string | undefined {
  return uuid?.replace(/^\{(.*)\}$/, '$1');
}

function repositoryOf(uuid: unknown, name: unknown) {
  return { id: idOf(uuid), name: text(name) };
}

/** GitHub has a header of this name with SHA-1; here it is SHA-256, and absent when no secret was set. */
export const verify: Provider['verify'] = (delivery) => verifyBodyHmac(delivery, 'X-Hub-Signature');

export const deliveryId: Provider['deliveryId'] = (headers, rawBody) =>
  headerId(headers, rawBody, 'X-Request-UUID', 'X-Request-Id');
