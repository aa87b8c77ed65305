/**
 * This file asks about a run of Pipelines. The answer has other statuses than its webhooks: a state, and
 * inside of it a stage or a result.
 */
import type { AskRun } from '../ask-run.ts';
import {
  at,
  BLOCKED,
  CANCELLED,
  ERROR,
  FAILED,
  idOf,
  isEnd,
  meaningOf,
  msOf,
  orderOfTime,
  QUEUED,
  refOf,
  RUNNING,
  shaOf,
  SUCCESS,
  text,
  TIMED_OUT,
  timeOf,
} from '../read.ts';
import { UNKNOWN, statusOf } from '../read.ts';
import type { Meaning, Meanings } from '../read.ts';

const STAGES: Meanings = {
  PENDING: QUEUED,
  RUNNING,
  IN_PROGRESS: RUNNING,
  // Waits for somebody to start a manual step.
  PAUSED: BLOCKED,
  HALTED: BLOCKED,
};

const RESULTS: Meanings = {
  SUCCESSFUL: SUCCESS,
  COMPLETE: SUCCESS,
  FAILED,
  ERROR,
  STOPPED: CANCELLED,
  EXPIRED: TIMED_OUT,
};

export const askRun: AskRun = async (api, run) => {
  const id = run.externalRunId.includes('-') ? `{${run.externalRunId}}` : run.externalRunId;
  const path = `${api.repositoryBase}/pipelines/${encodeURIComponent(id)}`;
  const pipeline = (await api.call({ path })).json();
  const state = text(at(pipeline, 'state', 'name'));
  if (state === undefined) return { ignored: 'pipeline without a state' };
  const result = text(at(pipeline, 'state', 'result', 'name'));
  const stage = text(at(pipeline, 'state', 'stage', 'name'));
  const means = meaning(state, stage, result);
  const target = (key: string) => at(pipeline, 'target', key);
  return {
    kind: 'run',
    repository: {
      id: idOf(at(pipeline, 'repository', 'uuid')),
      name: text(at(pipeline, 'repository', 'full_name')),
    },
    run,
    aliases: [],
    event: {
      ...statusOf(means, state, result ?? stage),
      // While it runs it has no time of its last change.
      order: isEnd(means) ? orderOfTime(at(pipeline, 'completed_on')) : undefined,
      facts: {
        name: text(at(pipeline, 'repository', 'full_name')),
        commitSha: shaOf(at(target('commit'), 'hash')),
        ...refOf(target('ref_name'), text(target('ref_type')) === 'tag'),
        startedAt: timeOf(at(pipeline, 'created_on')),
        finishedAt: isEnd(means) ? timeOf(at(pipeline, 'completed_on')) : undefined,
        durationMs: isEnd(means) ? msOf(at(pipeline, 'duration_in_seconds')) : undefined,
        actor: text(at(pipeline, 'creator', 'nickname')) ?? text(at(pipeline, 'creator', 'display_name')),
      },
    },
    jobs: [],
  };
};

function meaning(state: string, stage: string | undefined, result: string | undefined): Meaning {
  if (state === 'COMPLETED') return result === undefined ? UNKNOWN : meaningOf(RESULTS, result);
  return meaningOf(STAGES, stage ?? state);
}
