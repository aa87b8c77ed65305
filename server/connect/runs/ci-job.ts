/** Reads what the claims of a CI job's id_token say of its run. */
import type { CiJob } from '../../kit/context.ts';
import { HOSTS, type Facts } from '../providers/index.ts';

/** Recognises a build of a merge that nobody pushed, or of the target: the job alone knows the head then. */
export function buildsPullRequest({ provider, claims }: CiJob): boolean {
  return provider === 'github'
    ? (claims['event_name'] ?? '').startsWith('pull_request')
    : claims['pipeline_source'] === 'merge_request_event';
}

/**
 * Runs with the rights of the repository on behalf of whoever opened a pull request: it may report its
 * status, no more.
 */
export function isForStrangers({ provider, claims }: CiJob): boolean {
  return provider === 'github' && claims['event_name'] === 'pull_request_target';
}

interface Ref {
  readonly branch?: string | undefined;
  readonly tag?: string | undefined;
}

/** Both are absent where the claims have neither: `refs/pull/1/merge` is no branch and no tag. */
export function refOf({ provider, claims }: CiJob): Ref {
  const { ref = '', ref_type: type, head_ref: head } = claims;
  if (provider === 'gitlab') return type === 'tag' ? { tag: ref } : { branch: ref };
  if (head !== undefined) return { branch: head };
  const [, kind, name] = /^refs\/(heads|tags)\/(.+)$/s.exec(ref) ?? [];
  return kind === 'tags' ? { tag: name } : { branch: name };
}

/**
 * Path of the file that defines the job's pipeline, if it is the repository's own:
 * `owner/name/.github/workflows/ci.yml@ref` at GitHub, `gitlab.com/group/name//.gitlab-ci.yml@ref` at GitLab.
 */
export function definitionFile({ provider, repositoryPath, claims }: CiJob): string | undefined {
  const [uri = '', home] =
    provider === 'github'
      ? [claims['workflow_ref'], `${repositoryPath}/`]
      : [claims['ci_config_ref_uri'], `${HOSTS.gitlab}/${repositoryPath}//`];
  if (uri.slice(0, home.length).toLowerCase() !== home.toLowerCase()) return undefined;
  // Names of files and of refs may hold an `@`; a workflow lies in no folder that could be called
  // `ci.yml@refs`.
  const end = uri.indexOf('@refs/', home.length);
  return end === -1 ? undefined : uri.slice(home.length, end);
}

/**
 * Facts of the run that the id_token decides; they stand before those of the request. Null: not to be kept,
 * whatever the request has.
 */
export function factsOfJob(job: CiJob | undefined): Facts {
  if (job === undefined) return {};
  const { provider, claims } = job;
  const sha = commitOf(claims['sha']);
  const facts: Facts = {
    event: provider === 'github' ? claims['event_name'] : claims['pipeline_source'],
    ...(buildsPullRequest(job) ? { mergeSha: sha } : { commitSha: sha }),
    // A stranger chose the branch's name, and by its name a run comes into the timeline of an environment.
    ...(isForStrangers(job) ? { branch: null, tag: null } : refOf(job)),
    mergeQueueOf: null, // No claim tells it; the name of GitHub's branch does.
    file: definitionFile(job),
    name: claims['workflow']?.slice(0, 255),
    actor: provider === 'gitlab' ? claims['user_login']?.slice(0, 255) : undefined,
  };
  return Object.fromEntries(Object.entries(facts).filter(([, value]) => value !== undefined));
}

/**
 * A symbolic `HEAD` and zeros, which stand for what is not there, name no commit: the run waits for a report
 * that does.
 */
export function commitOf(sha: string | undefined): string | undefined {
  const commit = sha?.toLowerCase();
  return commit === 'head' || /^0+$/.test(commit ?? '') ? undefined : commit;
}
