/** What operators and tools read with a plain GET: health, readiness, figures, the contract. */
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { CallRecord } from '@svc/proto/http/active-call.ts';
import { forOperators } from '@svc/proto/http/operators.ts';
import type { Pages } from '@svc/proto/http/pages.ts';
import type { WorkQueue } from '@svc/proto/queue/queue.ts';
import { collectDefaultMetrics, Counter, Gauge, Registry } from 'prom-client';
import { createConsolePages } from './console-pages.ts';
import { createContractPage } from './contract-page.ts';
import { createDurations } from './platform/durations.ts';
import type { Database } from './platform/db/index.ts';
import type { FeatureGate } from './platform/feature-gate.ts';

export interface Metrics {
  readonly registry: Registry;
  onCall(record: CallRecord): void;
}

export function createMetrics(queue: WorkQueue): Metrics {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const durations = createDurations(
    'svc_rpc_duration_seconds',
    'Time from the head of a call to its decided answer.',
  );
  registry.registerMetric(durations.metric);
  const errors = new Counter({
    name: 'svc_rpc_errors_total',
    help: 'Refused calls by error code.',
    labelNames: ['rpc', 'code'],
    registers: [registry],
  });
  new Gauge({
    name: 'svc_queue_up',
    help: '1 while hints can be expected to arrive.',
    registers: [registry],
    collect() {
      this.set(queue.up ? 1 : 0);
    },
  });
  return {
    registry,
    onCall: ({ rpc, protocol, status, code, ms }) => {
      const name = rpc?.id ?? 'none'; // paths are not labels: anybody can make up any number of them
      durations.observe(name, protocol, status, ms);
      if (code !== undefined) errors.inc({ rpc: name, code });
    },
  };
}

const TEXT = { 'content-type': 'text/plain; charset=utf-8' };

export interface PagesDeps {
  readonly db: Database;
  readonly metrics: Metrics;
  /** See forOperators. */
  readonly metricsToken: string;
  readonly gate: FeatureGate;
  isStopping(): boolean;
}

/** Live while the event loop turns; ready while the database answers. Without the broker work is slower, not lost: that is a metric. */
export function createPages({ db, metrics, metricsToken, gate, isStopping }: PagesDeps): Pages {
  const contract = findContract();
  return {
    ...createConsolePages(),
    '/healthz': () => ({ headers: TEXT, body: 'ok\n' }),
    '/readyz': async () => {
      if (isStopping()) return { status: 503, headers: TEXT, body: 'stopping\n' };
      try {
        await db.sql`select 1`;
        return { headers: TEXT, body: 'ready\n' };
      } catch {
        return { status: 503, headers: TEXT, body: 'the database does not answer\n' }; // the reason is in the database's own log
      }
    },
    '/metrics': forOperators(
      async () => ({
        headers: { 'content-type': metrics.registry.contentType },
        body: await metrics.registry.metrics(),
      }),
      metricsToken,
    ),
    ...(contract === undefined ? {} : { '/openapi.json': createContractPage(contract, gate) }),
  };
}

/** From source it lies in proto/gen, beside a bundle in the same folder. */
function findContract(): string | undefined {
  for (let at = dirname(fileURLToPath(import.meta.url)), depth = 0; depth < 4; at = dirname(at), depth += 1) {
    for (const path of [join(at, 'openapi.json'), join(at, 'proto', 'gen', 'openapi.json')]) {
      if (existsSync(path)) return readFileSync(path, 'utf8');
    }
  }
  return undefined;
}
