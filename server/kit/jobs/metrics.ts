/**
 * This file counts jobs for the scrape of a worker. What waits, runs and is dead is read from the database,
 * and is the same at every worker.
 */
import { Counter, Gauge, type Registry } from 'prom-client';
import type { SqlTag } from '../../base/db/index.ts';
import { jobFigures, type KindFigures } from './store.ts';
import type { WorkerDeps } from './worker.ts';

const STANDING: ReadonlyArray<{
  readonly name: string;
  readonly help: string;
  readonly of: Exclude<keyof KindFigures, 'kind'>;
}> = [
  {
    name: 'waiting',
    of: 'waiting',
    help: 'Jobs that wait for their time or for a worker, in all processes.',
  },
  { name: 'running', of: 'running', help: 'Jobs at work, in all processes.' },
  { name: 'dead', of: 'dead', help: 'Jobs that failed for good within the last 30 days.' },
  {
    name: 'oldest_seconds',
    of: 'oldestSeconds',
    help: 'How long the job that has been due for the longest time has waited.',
  },
];

export interface JobMetricsDeps {
  readonly sql: SqlTag;
  readonly kinds: readonly string[];
  onError(error: unknown): void;
}

export function addJobMetrics(registry: Registry, deps: JobMetricsDeps): Required<Pick<WorkerDeps, 'onEnd'>> {
  const registers = [registry];
  const labelNames = ['kind'];
  const figures = askOnce(deps);
  for (const { name, of, help } of STANDING) {
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
  const ended = {
    done: new Counter({
      name: 'svc_jobs_done_total',
      help: 'Attempts that did their job.',
      labelNames,
      registers,
    }),
    failed: new Counter({
      name: 'svc_jobs_failed_total',
      help: 'Attempts that failed.',
      labelNames,
      registers,
    }),
  };
  return { onEnd: (kind, outcome) => ended[outcome].inc({ kind }) };
}

/** The figures of one scrape are those of one look. Undefined: the database does not answer. */
function askOnce({ sql, onError }: JobMetricsDeps): () => Promise<readonly KindFigures[] | undefined> {
  let asked: Promise<readonly KindFigures[] | undefined> | undefined;
  const ask = async () => {
    try {
      return await jobFigures(sql);
    } catch (error) {
      onError(error);
      return undefined;
    } finally {
      asked = undefined;
    }
  };
  return () => (asked ??= ask());
}
