/**
 * Holds a job's report of its run against its id_token. A field that a claim covers must agree with it; where
 * the request has no value, the claim stands. Times, durations and status come from the job alone.
 */
import type { ReportRequest } from '@svc/proto/gen/svc/ci/v1/ci_pb.ts';
import type { CiJob } from '../../kit/context.ts';
import { HOSTS, type RunName } from '../providers/index.ts';
import { buildsPullRequest, commitOf, definitionFile, isForStrangers, refOf } from '../runs/index.ts';
import { refusedJob } from './claims.ts';
import type { OidcPolicy } from '../connections/index.ts';

/** The page of the run, which pages below it begin with. */
function pageOf({ provider, repositoryPath, runId }: CiJob): string {
  const page = provider === 'github' ? `actions/runs/${runId}` : `-/pipelines/${runId}`;
  return `https://${HOSTS[provider]}/${repositoryPath}/${page}`;
}

/** The run that a request names must be the job's own. */
export function checkRun(job: CiJob, { externalRunId, externalAttempt }: RunName): void {
  const run = job.provider === 'github' ? 'run_id' : 'pipeline_id';
  if (externalRunId !== job.runId)
    throw contradicts(job, { claim: run, is: job.runId, reported: externalRunId });
  if (externalAttempt === job.attempt) return;
  if (job.provider === 'github')
    throw contradicts(job, {
      claim: 'run_attempt',
      is: String(job.attempt),
      reported: String(externalAttempt),
    });
  throw refusedJob(
    job,
    `jobs of GitLab report the attempt 1 of their pipeline, the request says ${externalAttempt}`,
    run,
  );
}

/** The fields of a report must agree with the claims. */
export function checkReport(job: CiJob, request: ReportRequest): void {
  checkRun(job, { externalRunId: request.externalRunId, externalAttempt: request.externalAttempt ?? 1 });
  const { claims, provider } = job;
  const { branch, tag } = refOf(job);
  const isPullRequest = buildsPullRequest(job);
  const sha = commitOf(request.commitSha);
  const same = (claim: string, is: string | undefined, reported: string | undefined): void => {
    if (reported !== undefined && reported !== is) throw contradicts(job, { claim, is, reported });
  };
  if (!isPullRequest) same('sha', claims['sha'], sha);
  const head = claims['head_ref'] === undefined ? 'ref' : 'head_ref';
  if (branch !== undefined || !isPullRequest)
    same(head, branch, request.branch?.replace(/^refs\/heads\//, ''));
  same('ref', tag, request.tag?.replace(/^refs\/tags\//, ''));
  const event = provider === 'github' ? 'event_name' : 'pipeline_source';
  same(event, claims[event], request.trigger);
  if (claims['workflow'] !== undefined)
    same('workflow', claims['workflow'].slice(0, 255), request.pipelineName);
  // At GitHub a run that is started again has another actor than the claim.
  if (provider === 'gitlab') same('user_login', claims['user_login']?.slice(0, 255), request.actor);
  else if (job.attempt === 1) same('actor', claims['actor']?.slice(0, 255), request.actor);
  checkPage(job, request.externalUrl);
  if (isForStrangers(job) && request.environmentId !== undefined)
    throw refusedJob(job, 'a run for pull_request_target stands in no environment', 'event_name');
}

/** People follow the address from here: it must lead to the run. */
function checkPage(job: CiJob, url: string | undefined): void {
  if (url === undefined) return;
  const page = pageOf(job);
  const rest = url.slice(page.length);
  const isBelow = url.slice(0, page.length).toLowerCase() === page.toLowerCase();
  if (isBelow && (rest === '' || rest.startsWith('/'))) return;
  const claim = job.provider === 'github' ? 'run_id' : 'pipeline_id';
  throw contradicts(job, { claim, is: page, reported: url });
}

interface Contradiction {
  readonly claim: string;
  /** Value of the claim; undefined when the token has no such claim. */
  readonly is: string | undefined;
  readonly reported: string;
}

function contradicts(job: CiJob, { claim, is, reported }: Contradiction): Error {
  const what = is === undefined ? 'says nothing of it' : `means "${is}"`;
  return refusedJob(job, `the claim ${claim} ${what}, the request says "${reported.slice(0, 200)}"`, claim);
}

// The policy of a connection for id_tokens, beside the repository: anchored literals and globs, never a
// pattern language that can run long.

export function checkPolicy(job: CiJob, policy: OidcPolicy | null): void {
  if (policy === null) return;
  const { refs, files, environments } = policy;
  const ref = job.provider === 'github' ? 'ref' : 'ref_path';
  const file = job.provider === 'github' ? 'workflow_ref' : 'ci_config_ref_uri';
  const of = (claim: string): string | undefined => job.claims[claim];
  const demand = (claim: string, allowed: readonly string[], fits: (one: string) => boolean): void => {
    if (allowed.length > 0 && !allowed.some(fits)) throw notAllowed(job, claim, allowed);
  };
  demand(ref, refs, (wanted) => globMatches(wanted, of(ref) ?? ''));
  demand(file, files, (wanted) => wanted === definitionFile(job));
  demand('environment', environments, (wanted) => wanted === of('environment'));
}

function notAllowed(job: CiJob, claim: string, allowed: readonly string[]): Error {
  const value = job.claims[claim];
  const what = value === undefined ? `the claim ${claim} is absent` : `the claim ${claim} is "${value}"`;
  return refusedJob(job, `${what}, the connection's policy allows ${allowed.join(', ')}`, claim);
}

/**
 * `*` is anything but a slash, `**` anything, both also nothing. The whole text must fit. Takes time in
 * proportion to both lengths.
 */
export function globMatches(glob: string, text: string): boolean {
  /** Places of the text that the part of the glob that was read can end at. */
  let ends = new Set([0]);
  for (const [piece] of glob.matchAll(/\*\*|\*|[^*]+/g)) {
    ends = piece.startsWith('*') ? stretched(ends, text, piece === '**') : literal(ends, text, piece);
    if (ends.size === 0) return false;
  }
  return ends.has(text.length);
}

function literal(ends: ReadonlySet<number>, text: string, piece: string): Set<number> {
  return new Set([...ends].filter((at) => text.startsWith(piece, at)).map((at) => at + piece.length));
}

function stretched(ends: ReadonlySet<number>, text: string, overSlashes: boolean): Set<number> {
  const reached = new Set<number>();
  let isOpen = false;
  for (let at = 0; at <= text.length; at += 1) {
    if (!overSlashes && text[at - 1] === '/') isOpen = false;
    isOpen ||= ends.has(at);
    if (isOpen) reached.add(at);
  }
  return reached;
}
