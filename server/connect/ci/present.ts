/** Runs and jobs as callers see them. */
import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import type { Job } from './jobs-store.ts';
import type { Run } from './model/run.ts';
import { statusNumber } from './words.ts';

const text = <K extends string>(name: K, value: string | null) =>
  (value === null ? {} : { [name]: value }) as { [P in K]?: string };
const time = <K extends string>(name: K, value: Date | null) =>
  (value === null ? {} : { [name]: timestampFromDate(value) }) as {
    [P in K]?: ReturnType<typeof timestampFromDate>;
  };
const duration = (ms: number | null) => (ms === null ? {} : { durationMs: ms });

export function presentRun(run: Run) {
  return {
    id: run.id,
    teamId: run.teamId,
    ciConnectionId: run.connectionId,
    pipelineId: run.pipelineId,
    pipelineName: run.pipelineName,
    externalRunId: run.externalRunId,
    externalAttempt: run.externalAttempt,
    status: statusNumber(run.status),
    blocked: run.blocked,
    soft: run.soft,
    ...text('providerStatus', run.providerStatus),
    ...text('providerConclusion', run.providerConclusion),
    ...text('reason', run.reason),
    ...text('trigger', run.trigger),
    ...text('commitSha', run.commitSha),
    ...text('branch', run.branch),
    mergeQueue: run.mergeQueue,
    ...text('tag', run.tag),
    ...text('environmentId', run.environmentId),
    environmentIds: run.environmentId === null ? [...run.alsoIn] : [run.environmentId, ...run.alsoIn],
    ...text('externalUrl', run.externalUrl),
    ...text('actor', run.actor),
    ...time('queuedAt', run.queuedAt),
    ...time('startedAt', run.startedAt),
    ...time('finishedAt', run.finishedAt),
    ...duration(run.durationMs),
    createdAt: timestampFromDate(run.createdAt),
    updatedAt: timestampFromDate(run.updatedAt),
  };
}

export function presentJob(job: Job) {
  return {
    id: job.id,
    runId: job.runId,
    name: job.name,
    index: job.index,
    status: statusNumber(job.status),
    blocked: job.blocked,
    soft: job.soft,
    ...text('externalJobId', job.externalJobId),
    ...text('stage', job.stage),
    ...text('providerStatus', job.providerStatus),
    ...text('providerConclusion', job.providerConclusion),
    ...text('reason', job.reason),
    ...text('externalUrl', job.externalUrl),
    ...time('startedAt', job.startedAt),
    ...time('finishedAt', job.finishedAt),
    ...duration(job.durationMs),
  };
}
