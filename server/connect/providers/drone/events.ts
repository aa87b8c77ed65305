/** Drone: one hook for the whole server, with the build and its stages. */
import type { JobEvent } from '../event.ts';
import {
  at,
  header,
  idOf,
  isEnd,
  listOf,
  meanings,
  refOf,
  shaOf,
  statusOf,
  text,
  unixTimeOf,
  urlOf,
  type Meaning,
} from '../read.ts';
import type { Normalise, Provider } from '../types.ts';
import {
  anyMatches,
  base64Digest,
  digestId,
  hmac,
  isFresh,
  refuse,
  sameSecret,
  sha256,
  withSecrets,
} from '../authenticate.ts';

const ofStatus = meanings({
  queued: 'pending waiting_on_dependencies',
  blocked: 'blocked',
  running: 'running started',
  success: 'success',
  failed: 'failure',
  error: 'error',
  declined: 'declined',
  cancelled: 'killed',
  skipped: 'skipped',
});

export const normalise: Normalise = (headers, payload) => {
  const event = text(header(headers, 'x-drone-event')) ?? text(at(payload, 'event'));
  const build = (key: string) => at(payload, 'build', key);
  if (event !== undefined && event !== 'build') return { ignored: `event ${event}` };
  const [id, status] = [idOf(build('id')), text(build('status'))];
  if (id === undefined || status === undefined) return { ignored: 'event without a build or its status' };
  const means = ofStatus(status);
  const repo = (key: string) => at(payload, 'repo', key);
  const [slug, number] = [text(repo('slug')), idOf(build('number'))];
  const server = urlOf(at(payload, 'system', 'link'))?.replace(/\/+$/, '');
  return {
    repository: { id: idOf(repo('uid')), name: slug },
    run: { externalRunId: id, externalAttempt: 1 },
    // A job knows its number alone.
    aliases: slug === undefined || number === undefined ? [] : [`${slug}#${number}`],
    event: {
      ...statusOf(means, status),
      order: idOf(build('version')),
      final: true,
      facts: {
        name: slug,
        file: text(repo('config_path')),
        commitSha: shaOf(build('after')),
        ...(isOfFork(build('source_repo'), slug) ? {} : branchOf(payload)),
        event: text(build('event')),
        queuedAt: unixTimeOf(build('created'), 'seconds'),
        startedAt: means.status === 'queued' ? undefined : unixTimeOf(build('started'), 'seconds'),
        // May be set while the build is pending.
        finishedAt: isEnd(means) ? unixTimeOf(build('finished'), 'seconds') : undefined,
        // `link` is the forge's comparison, not the build's page.
        url: server === undefined || slug === undefined ? undefined : urlOf(`${server}/${slug}/${number}`),
        actor: text(build('sender')) ?? text(build('author_login')),
      },
    },
    jobs: listOf(build('stages')).flatMap(jobsOfStage),
  };
};

/** Only pull requests have a repository that they come from, and their branch is one of that. */
function isOfFork(sourceRepo: unknown, slug: string | undefined): boolean {
  const source = text(sourceRepo);
  return source !== undefined && slug !== undefined && source.toLowerCase() !== slug.toLowerCase();
}

/** `target` of a pull request is what it is to be merged into. */
function branchOf(payload: unknown) {
  const build = (key: string) => at(payload, 'build', key);
  const source = build('event') === 'pull_request' ? text(build('source')) : undefined;
  if (source !== undefined) return refOf(source);
  const { tag } = refOf(build('ref'));
  return tag === undefined ? refOf(build('target')) : { tag };
}

function jobsOfStage(stage: unknown): readonly JobEvent[] {
  const own = jobOf(stage, text(at(stage, 'kind')));
  const steps = listOf(at(stage, 'steps')).flatMap((step) => jobOf(step, text(at(stage, 'name'))));
  return [...own, ...steps];
}

function jobOf(job: unknown, stage: string | undefined): readonly JobEvent[] {
  const [id, status] = [idOf(at(job, 'id')), text(at(job, 'status'))];
  if (id === undefined || status === undefined) return [];
  const isStep = at(job, 'step_id') !== undefined || at(job, 'stage_id') !== undefined;
  const soft = at(job, 'errignore') === true;
  const known = ofStatus(status);
  const means: Meaning = soft && known.status === 'failed' ? { ...known, soft: true } : known;
  return [
    {
      // Ids of stages and of steps are counted apart.
      externalJobId: `${isStep ? 'step' : 'stage'} ${id}`,
      name: text(at(job, 'name')) ?? id,
      ...statusOf(means, status),
      order: idOf(at(job, 'version')),
      facts: {
        stage,
        startedAt: unixTimeOf(at(job, 'started'), 'seconds'),
        finishedAt: isEnd(means) ? unixTimeOf(at(job, 'stopped'), 'seconds') : undefined,
      },
    },
  ];
}

/**
 * The signature is over the headers `date` and `digest` and not over the body, so both must be among the
 * signed ones, and the digest is computed again over the bytes that came.
 */
export const verify: Provider['verify'] = withSecrets(({ secrets, headers, rawBody, now }) => {
  const [date, digest] = [header(headers, 'Date') ?? '', header(headers, 'Digest') ?? ''];
  const parameters = parametersOf(header(headers, 'Signature') ?? '');
  if (parameters?.get('algorithm') !== 'hmac-sha256') return refuse('Signature is not of hmac-sha256');
  const signed = (parameters.get('headers') ?? '').toLowerCase().split(' ');
  if (signed.length !== 2 || !signed.includes('date') || !signed.includes('digest'))
    return refuse('Signature does not cover date and digest alone');
  const body = digest.startsWith('SHA-256=') ? base64Digest(digest.slice('SHA-256='.length)) : undefined;
  if (body === undefined || !sameSecret(body, sha256(rawBody)))
    return refuse('Digest is not that of the body');
  if (!isFresh(Date.parse(date), now)) return refuse('Date is not within 5 minutes');
  const given = base64Digest(parameters.get('signature'));
  if (given === undefined) return refuse('Signature has no digest of 32 bytes');
  const text = signed.map((name) => `${name}: ${name === 'date' ? date : digest}`).join('\n');
  return anyMatches(secrets, given, (secret) => hmac(secret, text));
});

/** Reads `keyId="…",algorithm="…"`; a parameter given twice makes all of it unreadable. */
function parametersOf(value: string): ReadonlyMap<string, string> | undefined {
  const found = [...value.slice(0, 1_000).matchAll(/([a-zA-Z]+)="([^"]*)"/g)];
  const parameters = new Map(found.map(([, name = '', content = '']) => [name, content] as const));
  return parameters.size === found.length ? parameters : undefined;
}

export const deliveryId: Provider['deliveryId'] = (_headers, rawBody) => digestId(rawBody);
