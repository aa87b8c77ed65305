/**
 * This file serves what operators and tools read with a plain GET: health, readiness, figures, the contract.
 */
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { networkOf } from '@svc/proto/http/address.ts';
import type { CallRecord } from '@svc/proto/http/active-call.ts';
import { forOperators } from '@svc/proto/http/operators.ts';
import type { Page, Pages } from '@svc/proto/http/pages.ts';
import type { WorkQueue } from '@svc/proto/queue/queue.ts';
import { collectDefaultMetrics, Counter, Gauge, Registry } from 'prom-client';
import { createConsolePages } from './console-pages.ts';
import { createContractPage } from './contract-page.ts';
import type { Clock } from '../base/clock.ts';
import { createDurations } from '../base/durations.ts';
import { sharedCall } from '../base/shared-call.ts';
import { isStandbyOnly, type Database } from '../base/db/index.ts';
import type { FeatureGate } from '../kit/feature-gate.ts';
import { createRateLimiter, tooMany } from '../base/rate-limit.ts';

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
      durations.observe({ rpc: name, protocol, status }, ms);
      if (code !== undefined) errors.inc({ rpc: name, code });
    },
  };
}

const UNTRUSTED =
  'warning: X-Forwarded-For came from an address that is not in TRUSTED_PROXIES, and was not believed; the log names the address\n';
const TEXT = { 'content-type': 'text/plain; charset=utf-8' };

export interface PagesDeps {
  readonly db: Database;
  readonly metrics: Metrics;
  /** See forOperators. */
  readonly metricsToken: string;
  readonly gate: FeatureGate;
  readonly clock: Clock;
  /** The most requests of one network, the probes and figures of operators not counted. */
  readonly pagesPerMinute: number;
  /** Says which disk is full, if one is. */
  fullDisk(): Promise<string | undefined>;
  isStopping(): boolean;
  /** Somebody speaks for others by X-Forwarded-For, and is not believed. */
  isUntrustedProxySeen(): boolean;
}

/**
 * The server is live while the event loop turns, and ready while a database answers that takes writes, and no
 * disk is full. Without the broker work is slower, not lost: that is a metric.
 */
export function createPages(deps: PagesDeps): Pages {
  const { metrics, metricsToken, gate, ...state } = deps;
  const contract = findContract();
  const contractPages = contract === undefined ? {} : { '/openapi.json': createContractPage(contract, gate) };
  const databaseProblem = sharedCall(async () => await problemOf(deps.db));
  return {
    ...limited(deps, { ...createConsolePages(), ...contractPages }),
    // Never refused: whoever is behind the same address as a stranger's flood would take a healthy server for
    // a dead one. They cost next to nothing.
    '/healthz': () => ({ headers: TEXT, body: 'ok\n' }),
    '/readyz': async () => {
      if (state.isStopping()) return { status: 503, headers: TEXT, body: 'stopping\n' };
      const problem = (await deps.fullDisk()) ?? (await databaseProblem());
      if (problem !== undefined) return { status: 503, headers: TEXT, body: `${problem}\n` };
      return { headers: TEXT, body: state.isUntrustedProxySeen() ? `ready\n${UNTRUSTED}` : 'ready\n' };
    },
    '/metrics': forOperators(
      async () => ({
        headers: { 'content-type': metrics.registry.contentType },
        body: await metrics.registry.metrics(),
      }),
      metricsToken,
    ),
  };
}

const STANDBY = 'the database is a standby: it takes no writes until it is promoted';

/** Says what is wrong with the database, if anything is. */
async function problemOf({ sql }: Database): Promise<string | undefined> {
  try {
    const [row] = await sql<Array<{ standby: boolean }>>`select pg_is_in_recovery() as standby`;
    return row?.standby === true ? STANDBY : undefined;
  } catch (error) {
    return isStandbyOnly(error) ? STANDBY : 'the database does not answer'; // the reason is in the database's own log
  }
}

function limited(
  { clock, pagesPerMinute }: Pick<PagesDeps, 'clock' | 'pagesPerMinute'>,
  pages: Readonly<Record<string, Page>>,
): Readonly<Record<string, Page>> {
  const rule = { count: pagesPerMinute, windowMs: 60_000 };
  const limiter = createRateLimiter(rule, clock);
  const within =
    (page: Page): Page =>
    (request) => {
      const { allowed, resetMs } = limiter.take(networkOf(request.remoteAddress));
      if (!allowed) throw tooMany(`more than ${rule.count} pages for your address within a minute`, resetMs);
      return page(request);
    };
  return Object.fromEntries(Object.entries(pages).map(([path, page]) => [path, within(page)]));
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
