/** What the gateway counts. */
import { Counter, Gauge, Histogram, Registry } from 'prom-client';

export interface Metrics {
  readonly registry: Registry;
  /** Polls held now. */
  readonly parked: Gauge;
  /** Answered polls by kind and outcome: `offer`, `empty`, `gone`, or an error code. */
  readonly polls: Counter<'kind' | 'outcome'>;
  /** Claims by what led to them (`hint`, `next`, `fallback`) and outcome (`won`, `lost`, `refused`, `failed`). */
  readonly claims: Counter<'via' | 'outcome'>;
  /** Hints that came with no poll waiting and went back. */
  readonly hintsReturned: Counter;
  /** Hints older than a grant that was made here. */
  readonly hintsOutdated: Counter;
  /** From the whole body to a verified signature, nonce included. */
  readonly verifySeconds: Histogram;
  /** Requests refused before their RPC ran, by error code. */
  readonly refusals: Counter<'code'>;
}

export function createMetrics(registry = new Registry()): Metrics {
  const registers = [registry];
  return {
    registry,
    parked: new Gauge({ name: 'svc_gateway_polls_parked', help: 'Polls held now', registers }),
    polls: new Counter({
      name: 'svc_gateway_polls_total',
      help: 'Polls answered, by kind and outcome',
      labelNames: ['kind', 'outcome'],
      registers,
    }),
    claims: new Counter({
      name: 'svc_gateway_claims_total',
      help: 'Claims, by what led to them and outcome',
      labelNames: ['via', 'outcome'],
      registers,
    }),
    hintsReturned: new Counter({
      name: 'svc_gateway_hints_returned_total',
      help: 'Hints that came with no poll waiting',
      registers,
    }),
    hintsOutdated: new Counter({
      name: 'svc_gateway_hints_outdated_total',
      help: 'Hints of items that were granted here after the hint was made',
      registers,
    }),
    verifySeconds: new Histogram({
      name: 'svc_gateway_verify_seconds',
      help: 'Time to verify a signature',
      buckets: [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.1, 0.5, 2.5],
      registers,
    }),
    refusals: new Counter({
      name: 'svc_gateway_refusals_total',
      help: 'Requests refused before their RPC ran, by error code',
      labelNames: ['code'],
      registers,
    }),
  };
}
