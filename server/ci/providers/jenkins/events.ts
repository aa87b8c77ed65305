/** Jenkins, by its Notification plugin: phases of a build, without times. */
import {
  at,
  CANCELLED,
  FAILED,
  idOf,
  meaningOf,
  QUEUED,
  refOf,
  RUNNING,
  shaOf,
  SKIPPED,
  SOFT_SUCCESS,
  SUCCESS,
  text,
  urlOf,
  wordsOf,
} from '../read.ts';
import type { Words } from '../read.ts';
import type { Normalise } from '../types.ts';

const PHASES = ['QUEUED', 'STARTED', 'COMPLETED', 'FINALIZED'];

const STATUSES: Words = {
  SUCCESS,
  UNSTABLE: SOFT_SUCCESS,
  FAILURE: FAILED,
  ABORTED: CANCELLED,
  NOT_BUILT: SKIPPED,
};

export const normalise: Normalise = (_headers, payload) => {
  const build = (key: string) => at(payload, 'build', key);
  const phase = text(build('phase'))?.toUpperCase() ?? '';
  const order = PHASES.indexOf(phase) + 1;
  if (order === 0) return { ignored: `phase ${phase || 'without a name'}` };
  const url = urlOf(build('full_url'));
  // A number alone is its job's, not the server's.
  const number = idOf(build('number'));
  const name = text(at(payload, 'name'));
  const id = idOf(url ?? (name === undefined || number === undefined ? undefined : `${name}#${number}`));
  if (id === undefined) return { ignored: 'build without address and number' };
  const status = text(build('status'))?.toUpperCase();
  return {
    kind: 'run',
    repository: { id: undefined, name: text(at(build('scm'), 'url')) },
    run: { externalRunId: id, externalAttempt: 1 },
    aliases: url === undefined || name === undefined || number === undefined ? [] : [`${name}#${number}`],
    event: {
      ...wordsOfPhase(phase, status),
      order,
      facts: {
        name,
        url,
        commitSha: shaOf(at(build('scm'), 'commit')),
        ...refOf(text(at(build('scm'), 'branch'))?.replace(/^(refs\/remotes\/)?origin\//, '')),
      },
    },
    jobs: [],
  };
};

/** The status of a build that has just started may be that of the one before. */
function wordsOfPhase(phase: string, status: string | undefined) {
  if (phase === 'QUEUED') return wordsOf(QUEUED, phase);
  if (phase === 'STARTED') return wordsOf(RUNNING, phase);
  return status === undefined ? {} : wordsOf(meaningOf(STATUSES, status), phase, status);
}
