/**
 * Makes the job of the claims of an id_token. `sub` is not read: its form is the repository's to choose, and
 * has changed.
 */
import { withArticle } from '@svc/proto/http/article.ts';
import type { CiJob } from '../../kit/context.ts';
import type { Issuer, OidcProvider } from './issuers.ts';
import { apiError } from '@svc/proto/http/errors.ts';

const ID = /^[1-9]\d{0,19}$/;
const ATTEMPT = /^[1-9]\d{0,4}$/;
const SHA = /^[0-9a-f]{40}([0-9a-f]{24})?$/;
const PATH = /^[^\s/]+(\/[^\s/]+)+$/;
/** No claim that decides something is longer: the longest holds two paths and a ref. */
const CLAIM_CHARS_MAX = 2_000;
const PRINTABLE = new RegExp(`^[^\\p{Cc}]{1,${CLAIM_CHARS_MAX}}$`, 'u');

/** Both issuers write ids, numbers and booleans as text. */
function text(claims: Claims, name: string, form: RegExp = PRINTABLE): string {
  const value = claims[name];
  const wrong = (what: string): Error => invalid(`the claim ${name} is ${what}`, { claim: name, claims });
  if (value === undefined || value === null || value === '') throw wrong('absent');
  if (typeof value !== 'string') throw wrong(`${withArticle(typeof value)}, expected a text`);
  if (value.length > CLAIM_CHARS_MAX || !form.test(value))
    throw wrong(`"${printable(value)}", which none of its kind can be`);
  return value;
}

/** Keeps the claims that are there. */
function texts(claims: Claims, names: readonly string[]): Record<string, string> {
  const isThere = (name: string): boolean => !['', undefined, null].includes(claims[name] as string);
  return Object.fromEntries(names.filter(isThere).map((name) => [name, text(claims, name)]));
}

const DECIDING: Readonly<Record<OidcProvider, readonly string[]>> = {
  github: ['ref', 'ref_type', 'head_ref', 'event_name', 'workflow', 'workflow_ref', 'environment', 'actor'],
  gitlab: [
    'ref',
    'ref_type',
    'ref_path',
    'pipeline_source',
    'ci_config_ref_uri',
    'environment',
    'user_login',
  ],
};

function github(claims: Claims): Omit<CiJob, 'provider' | 'issuer' | 'claims'> {
  text(claims, 'event_name'); // What is allowed depends on it.
  return {
    repositoryId: text(claims, 'repository_id', ID),
    ownerId: text(claims, 'repository_owner_id', ID),
    repositoryPath: text(claims, 'repository', PATH),
    runId: text(claims, 'run_id', ID),
    attempt: Number(text(claims, 'run_attempt', ATTEMPT)),
  };
}

/**
 * Claims of the project that the job runs in, not of the one that the merge request comes from: `project_*`
 * may name the fork, `job_project_*` are absent in old versions. Where both are there and differ, the code is
 * a stranger's.
 */
function gitlab(claims: Claims): Omit<CiJob, 'provider' | 'issuer' | 'claims'> {
  const project = text(claims, 'project_id', ID);
  const isOfJob = claims['job_project_id'] !== undefined;
  const of = (name: string): string => (isOfJob ? `job_${name}` : name);
  const repositoryId = text(claims, of('project_id'), ID);
  if (repositoryId !== project)
    throw refused(
      `the merge request comes from a fork: project_id is ${project}, the job runs in ${repositoryId}`,
      {
        claim: 'project_id',
        claims,
      },
    );
  text(claims, 'pipeline_source');
  return {
    repositoryId,
    ownerId: text(claims, of('namespace_id'), ID),
    repositoryPath: text(claims, of('project_path'), PATH),
    runId: text(claims, 'pipeline_id', ID),
    // Retried jobs stay in their pipeline and no claim counts the retries: a job reports the pipeline's first
    // attempt.
    attempt: 1,
  };
}

export function jobOf({ provider, issuer }: Issuer, claims: Claims): CiJob {
  const named = provider === 'github' ? github(claims) : gitlab(claims);
  const decisive = { sha: text(claims, 'sha', SHA), ...texts(claims, DECIDING[provider]) };
  return { provider, issuer, ...named, claims: decisive };
}

/** Claims as they were named in the token, for refusals of a job. */
function claimsOf(job: CiJob): Claims {
  const { issuer: iss, repositoryId, ownerId, repositoryPath, runId, attempt, claims } = job;
  return job.provider === 'github'
    ? {
        iss,
        repository: repositoryPath,
        repository_id: repositoryId,
        repository_owner_id: ownerId,
        run_id: runId,
        run_attempt: String(attempt),
        ...claims,
      }
    : {
        iss,
        project_path: repositoryPath,
        project_id: repositoryId,
        namespace_id: ownerId,
        pipeline_id: runId,
        ...claims,
      };
}

// Refusals of id_tokens. Texts and details name claims, so that a job's author sees what is wrong; never the
// token, whole or in part.

/** Claims that are no secret and show a job's author what is in the token. */
const SHOWN = [
  'iss',
  'aud',
  'repository',
  'repository_id',
  'repository_owner_id',
  'run_id',
  'run_attempt',
  'event_name',
  'workflow_ref',
  'project_path',
  'project_id',
  'job_project_id',
  'pipeline_id',
  'pipeline_source',
  'ci_config_ref_uri',
  'ref',
  'ref_type',
  'ref_path',
  'head_ref',
  'sha',
  'environment',
] as const;

export type Claims = Readonly<Record<string, unknown>>;

/** Cuts a value to 200 printable characters, because values of the caller come back in logs and terminals. */
export function printable(value: unknown): string {
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? 'nothing');
  const clean = text.replaceAll(/[^\x20-\x7e]/g, '?');
  return clean.length <= 200 ? clean : `${clean.slice(0, 199)}…`;
}

function seen(claims: Claims): Readonly<Record<string, string>> {
  return Object.fromEntries(
    SHOWN.flatMap((name) =>
      claims[name] === undefined || claims[name] === null ? [] : [[name, printable(claims[name])] as const],
    ),
  );
}

interface About {
  /** The claim that decides. */
  readonly claim?: string;
  /** The claims of the token, as far as they could be read. */
  readonly claims?: Claims;
}

function messageOf(what: string, { claim, claims = {} }: About) {
  const shown = seen(claims);
  const list = Object.entries(shown).map(([name, value]) => `${name}=${value}`);
  const text = list.length === 0 ? what : `${what}; the id_token says ${list.join(', ')}`;
  return { text, details: { ...(claim === undefined ? {} : { claim }), claims: shown } };
}

/** Returns the error of status 401 for what is no good id_token. */
export function invalid(what: string, about: About = {}): Error {
  const { text, details } = messageOf(`the id_token is not valid: ${what}`, about);
  const headers = { 'www-authenticate': 'Bearer realm="svc", error="invalid_token"' };
  return apiError('id_token_invalid', text, { details, headers });
}

/** Returns the error of status 403 for an id_token that is good, and not for this. */
function refused(what: string, about: About): Error {
  const { text, details } = messageOf(`the id_token does not allow this: ${what}`, about);
  return apiError('id_token_refused', text, { details });
}

/** The same for what a job may not do; `claim` is the one that decides. */
export function refusedJob(job: CiJob, what: string, claim?: string): Error {
  return refused(what, { ...(claim !== undefined && { claim }), claims: claimsOf(job) });
}

export function used(): Error {
  return apiError(
    'id_token_used',
    'the id_token was taken before, and each is good once; ask the CI system for a new one, or exchange it once and report with what that gives',
    { headers: { 'www-authenticate': 'Bearer realm="svc", error="invalid_token"' } },
  );
}
