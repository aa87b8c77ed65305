/** Jenkins sends phases of a build by its Notification plugin, without times. */
import { at, header, idOf, MEANINGS, meanings, refOf, shaOf, statusOf, text, urlOf } from '../read.ts';
import type { Normalise, Provider } from '../types.ts';
import { anySame, digestId, refuse, withSecrets } from '../authenticate.ts';

const PHASES = ['QUEUED', 'STARTED', 'COMPLETED', 'FINALIZED'];

const ofStatus = meanings({
  success: 'SUCCESS',
  soft: 'UNSTABLE',
  failed: 'FAILURE',
  cancelled: 'ABORTED',
  skipped: 'NOT_BUILT',
});

export const normalise: Normalise = (_headers, payload) => {
  const build = (key: string) => at(payload, 'build', key);
  const phase = text(build('phase'))?.toUpperCase() ?? '';
  const order = PHASES.indexOf(phase) + 1;
  if (order === 0) return { ignored: `phase ${phase || 'without a name'}` };
  const url = urlOf(build('full_url'));
  // A number alone is its job's, not the server's.
  const number = idOf(build('number'));
  // `name` says neither its folders nor, of a branch's job, what it is a branch of.
  const name = jobOf(url) ?? text(at(payload, 'name'));
  const id = idOf(url ?? (name === undefined || number === undefined ? undefined : `${name}#${number}`));
  if (id === undefined) return { ignored: 'build without address and number' };
  const status = text(build('status'))?.toUpperCase();
  const ref = refOf(text(at(build('scm'), 'branch'))?.replace(/^(refs\/remotes\/)?origin\//, ''));
  return {
    repository: { id: undefined, name: text(at(build('scm'), 'url')) },
    run: { externalRunId: id, externalAttempt: 1 },
    aliases: url === undefined || name === undefined || number === undefined ? [] : [`${name}#${number}`],
    event: {
      ...statusOfPhase(phase, status),
      order,
      final: true,
      facts: {
        name: pipelineOf(name, ref.branch),
        url,
        commitSha: shaOf(at(build('scm'), 'commit')),
        ...ref,
      },
    },
  };
};

/**
 * `…/job/folder/job/app/3/` is a build of `folder/app`, as the job itself sees it. One of a matrix has its
 * axes behind that.
 */
function jobOf(url: string | undefined): string | undefined {
  const path = /((?:\/job\/[^/]+)+)(?:\/[^/]*=[^/]*)?\/\d+\/?$/.exec(url ?? '')?.[1];
  // Cleaned anew: what was encoded may be anything.
  return text(path?.slice('/job/'.length).split('/job/').map(decoded).join('/'));
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part; // It is not our encoding, and stays: the job is called so.
  }
}

/**
 * A job of a branch is one of the pipeline that the branches have in common; its name is the branch's, with
 * `%2F` for a slash.
 */
function pipelineOf(name: string | undefined, branch: string | undefined): string | undefined {
  if (name === undefined || branch === undefined) return name;
  const tail = [branch, encodeURIComponent(branch)].find((spelt) => name.endsWith(`/${spelt}`));
  return tail === undefined ? name : name.slice(0, -tail.length - 1);
}

/** The status of a build that has just started may be that of the one before. */
function statusOfPhase(phase: string, status: string | undefined) {
  if (phase === 'QUEUED') return statusOf(MEANINGS.queued, phase);
  if (phase === 'STARTED') return statusOf(MEANINGS.running, phase);
  return status === undefined ? {} : statusOf(ofStatus(status), phase, status);
}

export const TOKEN_HEADER = 'X-Svc-Webhook-Token';

/**
 * The plugin can set neither header nor signature, so the secret is in the address; whoever can set a header
 * does better with that.
 */
export const verify: Provider['verify'] = withSecrets(({ secrets, headers, urlToken }) => {
  const given = header(headers, TOKEN_HEADER) ?? urlToken;
  return given === undefined
    ? refuse(`no ${TOKEN_HEADER}, and no token in the address`)
    : anySame(secrets, given);
});

export const deliveryId: Provider['deliveryId'] = (_headers, rawBody) => digestId(rawBody);
