/** This file counts jobs for the scrape of a worker. */
import { Counter, type Registry } from 'prom-client';
import type { SqlTag } from '../../base/db/index.ts';
import { addFigures } from '../figures.ts';
import { jobFigures, type KindFigures } from './store.ts';
import type { Outcome, WorkerDeps } from './worker.ts';

export interface JobMetricsDeps {
  readonly sql: SqlTag;
  readonly kinds: readonly string[];
  onError(error: unknown): void;
}

export function addJobMetrics(registry: Registry, deps: JobMetricsDeps): Required<Pick<WorkerDeps, 'onEnd'>> {
  addFigures<KindFigures>(registry, {
    prefix: 'svc_jobs',
    label: 'kind',
    known: deps.kinds,
    gauges: [
      ['waiting', 'waiting', 'Jobs that wait for their time or for a worker, in all processes.'],
      ['running', 'running', 'Jobs at work, in all processes.'],
      ['dead', 'dead', 'Jobs that failed for good within the last 30 days.'],
      [
        'oldest_seconds',
        'oldestSeconds',
        'How long the job that has been due for the longest time has waited.',
      ],
    ],
    read: async () => await jobFigures(deps.sql),
    onError: deps.onError,
  });
  const counter = (outcome: Outcome, help: string) =>
    new Counter({
      name: `svc_jobs_${outcome}_total`,
      help,
      labelNames: ['kind'],
      registers: [registry],
    });
  const ended = {
    done: counter('done', 'Attempts that did their job.'),
    failed: counter('failed', 'Attempts that failed.'),
  };
  return { onEnd: (kind, outcome) => ended[outcome].inc({ kind }) };
}
