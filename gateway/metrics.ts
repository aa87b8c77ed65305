/** Defines what the gateway counts. */
import { Counter, Gauge, Histogram, Registry } from 'prom-client';

export interface Metrics {
  readonly registry: Registry;
  /** Polls held now. */
  readonly parked: Gauge;
  /** Answered polls by kind and outcome: `offer`, `empty`, `gone`, or an error code. */
  readonly polls: Counter<'kind' | 'outcome'>;
  /**
   * Asks for polls by outcome: `offer`, `empty`, `unfit` (something waits that this runner cannot have),
   * `failed`.
   */
  readonly asks: Counter<'outcome'>;
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
    asks: new Counter({
      name: 'svc_gateway_asks_total',
      help: 'Asks for polls, by outcome',
      labelNames: ['outcome'],
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
