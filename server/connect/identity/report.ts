/**
 * Holds a job's report of its run against its id_token. A field that a claim covers must agree with it; where
 * the request has no value, the claim stands. Times, durations and status come from the job alone.
 */
import type { ReportRequest } from '@svc/proto/gen/svc/ci/v1/ci_pb.ts';
import type { CiJob } from '../../kit/context.ts';
import { HOSTS } from '../providers/index.ts';
import type { RunName } from '../providers/index.ts';
import { buildsPullRequest, commitOf, isForStrangers, refOf } from '../runs/index.ts';
import { claimsOf } from './claims.ts';
import { refused } from './refusals.ts';

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
  throw refused(
    `jobs of GitLab report the attempt 1 of their pipeline, the request says ${externalAttempt}`,
    {
      claim: run,
      claims: claimsOf(job),
    },
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
    throw refused('a run for pull_request_target stands in no environment', {
      claim: 'event_name',
      claims: claimsOf(job),
    });
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
  return refused(`the claim ${claim} ${what}, the request says "${reported.slice(0, 200)}"`, {
    claim,
    claims: claimsOf(job),
  });
}
