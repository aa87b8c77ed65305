/** The events of the platform: when each happens, how people and their systems learn of it, and the scope with which the same is read elsewhere. */
import type { Caller } from './context.ts';
import type { Database } from '../base/db/index.ts';
import { newId } from '../base/ids.ts';

export interface EventKind {
  /** A whole sentence. */
  readonly when: string;
  /** Who lacks it is not told. Absent: the event stays in the diagnostic bundle. */
  readonly scope?: string;
  /** Admins and owners of the team find it among their notifications. */
  readonly notifies?: true;
  /** Webhook endpoints of the team may ask for it. */
  readonly delivered?: true;
  /** It stands in the diagnostic bundle of the team's runners. */
  readonly recorded?: true;
}

export const EVENTS: Readonly<Record<string, EventKind>> = {
  'artifact.created': {
    when: 'An artifact was seen for the first time.',
    scope: 'artifact:read',
    delivered: true,
  },
  'billing.payment_failed': {
    when: 'A payment for the team failed; the plan holds for seven days from the first one.',
    scope: 'billing:read',
    notifies: true,
    delivered: true,
  },
  'billing.plan_changed': {
    when: 'The plan that pays for the team is another one, or its standing is.',
    scope: 'billing:read',
    notifies: true,
    delivered: true,
  },
  'budget.forecast': {
    when: 'A budget is likely to be exceeded by the end of the month.',
    scope: 'cost:read',
    notifies: true,
    delivered: true,
  },
  'budget.threshold': {
    when: 'Of a budget 50, 80 or 100 % is spent.',
    scope: 'cost:read',
    notifies: true,
    delivered: true,
  },
  'build.finished': { when: 'A build has ended.', scope: 'project:read', delivered: true },
  'compliance.package_ready': {
    when: 'A compliance package is assembled and waits for its review.',
    scope: 'compliance:read',
    notifies: true,
  },
  'cost.anomaly': {
    when: 'On the day before, the team or one of its projects cost far more than it does on that weekday.',
    scope: 'cost:read',
    notifies: true,
    delivered: true,
  },
  'credit.low': {
    when: 'The credit of the team is less than a tenth of what it was when it was last bought.',
    scope: 'billing:read',
    notifies: true,
    delivered: true,
  },
  'included_time.near': {
    when: 'Of the time that the plan includes 75, 90 or 100 % is used.',
    scope: 'cost:read',
    notifies: true,
    delivered: true,
  },
  'policy.denied': { when: 'A policy has refused an act.', scope: 'policy:read', delivered: true },
  'price.published': {
    when: 'A new price of a meter that the team used lately was published; it is told before it begins.',
    scope: 'cost:read',
    notifies: true,
    delivered: true,
  },
  'promotion.approved': {
    when: 'The last approval of a promotion was given.',
    scope: 'release:read',
    delivered: true,
  },
  'promotion.created': {
    when: 'Somebody asked for a release to go to an environment; it waits for approvals.',
    scope: 'release:read',
    notifies: true,
    delivered: true,
  },
  'promotion.deployed': {
    when: 'The release of a promotion runs in its environment.',
    scope: 'release:read',
    delivered: true,
  },
  'promotion.failed': {
    when: 'The deploy of a promotion failed.',
    scope: 'release:read',
    notifies: true,
    delivered: true,
  },
  'promotion.rejected': {
    when: 'A promotion was rejected, a newer one of its environment was approved, or nobody approved it for 30 days.',
    scope: 'release:read',
    delivered: true,
  },
  'release.created': { when: 'A release was created.', scope: 'release:read', delivered: true },
  'run.finished': { when: 'A sandbox run has ended.', scope: 'run:read', delivered: true },
  'runner.degraded': {
    when: 'Work of the team waits, and no runner takes it. Within ten minutes it is told once.',
    scope: 'runner:read',
    notifies: true,
    delivered: true,
    recorded: true,
  },
  'runner.divergence_cleared': { when: 'An owner has cleared the strikes of a runner.', recorded: true },
  'runner.duration_divergence': {
    when: 'A runner reported a duration that differs from the measured one; it has one strike more.',
    recorded: true,
  },
  'runner.enrolled': { when: 'A runner was enrolled.', recorded: true },
  'runner.flagged': {
    when: 'A runner has as many strikes as it may have, and receives no new work.',
    scope: 'runner:read',
    notifies: true,
    delivered: true,
  },
  'runner.lease_expired': {
    when: 'A runner did not renew its lease in time, and its work went back to the queue.',
    recorded: true,
  },
  'runner.paused': { when: 'A runner was paused.', recorded: true },
  'runner.recovered': {
    when: 'The runners of a degraded team take work again.',
    scope: 'runner:read',
    notifies: true,
    delivered: true,
    recorded: true,
  },
  'runner.resumed': {
    when: 'A paused runner goes on, told to or because its time was over.',
    recorded: true,
  },
  'runner.revoked': {
    when: 'A runner was revoked; what it held went back to the queue.',
    scope: 'runner:read',
    delivered: true,
    recorded: true,
  },
  'runner.updated': {
    when: 'A runner was put into another group, or was given other labels.',
    recorded: true,
  },
  'runner.version_too_old': {
    when: 'A runner is older than `RUNNER_MIN_VERSION` and receives no new work.',
    recorded: true,
  },
  'statement.closed': {
    when: 'A month of the team was closed, and its statement is there.',
    scope: 'billing:read',
    notifies: true,
    delivered: true,
  },
  'webhook_endpoint.disabled': {
    when: 'A webhook endpoint was switched off, because it answered nothing well for five days, or 410.',
    scope: 'team:manage',
    notifies: true,
  },
};

/** Those that admins and owners find among their notifications. */
export const NOTIFYING: readonly string[] = Object.entries(EVENTS).flatMap(([event, { notifies }]) =>
  notifies ? [event] : [],
);

/** An event that leaves to nobody by its table is for staff. */
export function scopeOfEvent(event: string): string {
  return EVENTS[event]?.scope ?? 'staff';
}

export function eventsSeenBy({ scopes }: Pick<Caller, 'scopes'>): readonly string[] {
  return Object.entries(EVENTS).flatMap(([event, { scope }]) =>
    scope !== undefined && scopes.has(scope) ? [event] : [],
  );
}

export interface NewEvent {
  readonly teamId: string;
  readonly kind: string;
  /** What has happened, once: of two events of a kind with the same key the second one is none. */
  readonly key: string;
  readonly payload: Readonly<Record<string, unknown>>;
  readonly at: Date;
}

/** In the transaction of what has happened. */
export async function addEvent(
  { sql }: Database,
  { teamId, kind, key, payload, at }: NewEvent,
): Promise<void> {
  await sql`
    insert into outbox (id, team_id, kind, dedupe_key, payload, created_at)
    values (${newId('evt', at.getTime())}, ${teamId}, ${kind}, ${key}, ${sql.json(payload)}, ${at})
    on conflict (kind, dedupe_key) do nothing`;
}
