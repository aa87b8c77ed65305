/** Events that leave for people and their systems, and the scope with which the same is read elsewhere: who lacks it is not told of them. */
import type { Caller } from './context.ts';

const SCOPES: Readonly<Record<string, string>> = {
  'build.finished': 'project:read',
  'run.finished': 'run:read',
  'runner.degraded': 'runner:read',
  'runner.flagged': 'runner:read',
  'runner.recovered': 'runner:read',
  'runner.revoked': 'runner:read',
  'webhook_endpoint.disabled': 'team:manage',
};

/** An event that stands in no list is for staff. */
export function scopeOfEvent(event: string): string {
  return SCOPES[event] ?? 'staff';
}

export function eventsSeenBy({ scopes }: Pick<Caller, 'scopes'>): readonly string[] {
  return Object.keys(SCOPES).filter((event) => scopes.has(scopeOfEvent(event)));
}
