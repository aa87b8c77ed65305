/**
 * This file counts jobs for the scrape of a worker. What waits, runs and is dead is read from the database,
 * and is the same at every worker.
 */
import { Counter, Gauge, type Registry } from 'prom-client';
import type { SqlTag } from '../../base/db/index.ts';
import { sharedCall } from '../../base/shared-call.ts';
import { jobFigures, type KindFigures } from './store.ts';
import type { Outcome, WorkerDeps } from './worker.ts';

const STANDING: ReadonlyArray<readonly [name: string, of: Exclude<keyof KindFigures, 'kind'>, help: string]> =
  [
    ['waiting', 'waiting', 'Jobs that wait for their time or for a worker, in all processes.'],
    ['running', 'running', 'Jobs at work, in all processes.'],
    ['dead', 'dead', 'Jobs that failed for good within the last 30 days.'],
    [
      'oldest_seconds',
      'oldestSeconds',
      'How long the job that has been due for the longest time has waited.',
    ],
  ];

export interface JobMetricsDeps {
  readonly sql: SqlTag;
  readonly kinds: readonly string[];
  onError(error: unknown): void;
}

export function addJobMetrics(registry: Registry, deps: JobMetricsDeps): Required<Pick<WorkerDeps, 'onEnd'>> {
  const registers = [registry];
  const labelNames = ['kind'];
  // The figures of one scrape are those of one look.
  const figures = sharedCall(
    async () =>
      await jobFigures(deps.sql).catch((error: unknown) => {
        deps.onError(error);
        return undefined;
      }),
  );
  for (const [name, of, help] of STANDING) {
    new Gauge({
      name: `svc_jobs_${name}`,
      help,
      labelNames,
      registers,
      async collect() {
        this.reset();
        const rows = await figures();
        if (rows === undefined) return;
        for (const kind of deps.kinds) this.set({ kind }, 0);
        for (const row of rows) this.set({ kind: row.kind }, row[of]);
      },
    });
  }
  const counter = (outcome: Outcome, help: string) =>
    new Counter({ name: `svc_jobs_${outcome}_total`, help, labelNames, registers });
  const ended = {
    done: counter('done', 'Attempts that did their job.'),
    failed: counter('failed', 'Attempts that failed.'),
  };
  return { onEnd: (kind, outcome) => ended[outcome].inc({ kind }) };
}
