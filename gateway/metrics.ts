/** Defines what the gateway counts. */
import { Counter, Gauge, Histogram, Registry } from 'prom-client';

export function createMetrics(registry = new Registry()) {
  const registers = [registry];
  return {
    registry,
    /** Polls held now. */
    parked: new Gauge({ name: 'svc_gateway_polls_parked', help: 'Polls held now', registers }),
    /** Answered polls by kind and outcome: `offer`, `empty`, `gone`, or an error code. */
    polls: new Counter({
      name: 'svc_gateway_polls_total',
      help: 'Polls answered, by kind and outcome',
      labelNames: ['kind', 'outcome'],
      registers,
    }),
    /**
     * Asks for polls by outcome: `offer`, `empty`, `unfit` (something waits that this runner cannot have),
     * `failed`.
     */
    asks: new Counter({
      name: 'svc_gateway_asks_total',
      help: 'Asks for polls, by outcome',
      labelNames: ['outcome'],
      registers,
    }),
    /** From the whole body to a verified signature, nonce included. */
    verifySeconds: new Histogram({
      name: 'svc_gateway_verify_seconds',
      help: 'Time to verify a signature',
      buckets: [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.1, 0.5, 2.5],
      registers,
    }),
    /** Requests refused before their RPC ran, by error code. */
    refusals: new Counter({
      name: 'svc_gateway_refusals_total',
      help: 'Requests refused before their RPC ran, by error code',
      labelNames: ['code'],
      registers,
    }),
  };
}

export type Metrics = ReturnType<typeof createMetrics>;
