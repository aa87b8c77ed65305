/** Defines what a webhook endpoint is sent. */
import type { JsonValue } from './gen/index.ts';

/** The events that endpoints may ask for, and the one of `webhookEndpoints.test`. */
export const WEBHOOK_EVENT_TYPES = [
  'artifact.created',
  'billing.payment_failed',
  'billing.plan_changed',
  'budget.forecast',
  'budget.threshold',
  'build.finished',
  'certificate.failed',
  'cost.anomaly',
  'credit.low',
  'database.backup_failed',
  'database.lost',
  'included_time.near',
  'policy.denied',
  'price.published',
  'promotion.approved',
  'promotion.created',
  'promotion.deployed',
  'promotion.failed',
  'promotion.rejected',
  'release.created',
  'run.finished',
  'runner.degraded',
  'runner.flagged',
  'runner.recovered',
  'runner.revoked',
  'statement.closed',
  'webhook.test',
] as const;

/** Name of an event. A service that is newer than this package may know more of them. */
export type WebhookEventType = (typeof WEBHOOK_EVENT_TYPES)[number] | (string & NonNullable<unknown>);

/** One event, as its sender signed it. */
export interface WebhookEvent {
  /** Id of the message, `msg_…`, the same in every attempt: what was seen before is a repetition. */
  readonly id: string;
  /** Event, such as `run.finished`. */
  readonly type: WebhookEventType;
  /** Time at which it happened, RFC 3339 in UTC. */
  readonly timestamp: string;
  /** Details of it; the reference page of events says when each of them is sent. */
  readonly data: {
    /** Team whose endpoint it is. */
    readonly teamId: string;
    readonly [field: string]: JsonValue;
  };
}
