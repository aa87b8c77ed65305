/**
 * The events of the platform, which features declare: when each happens, how people and their systems learn
 * of it, and the scope with which the same is read elsewhere.
 */
import type { Caller } from '../context.ts';

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

export type EventKinds = Readonly<Record<string, EventKind>>;

const declared = new Map<string, EventKind>();

/** Throws for an event that another feature has declared. */
export function declareEvents(kinds: EventKinds): void {
  for (const [event, kind] of Object.entries(kinds)) {
    if (declared.has(event)) throw new Error(`two features declare the event ${event}`);
    declared.set(event, kind);
  }
}

/** Returns the names of those of which `is` is true, sorted. */
function named(is: (kind: EventKind) => boolean): readonly string[] {
  return [...declared].flatMap(([event, kind]) => (is(kind) ? [event] : [])).toSorted();
}

/** Admins and owners find these among their notifications. */
export const notifyingEvents = (): readonly string[] => named(({ notifies }) => notifies === true);

/** Webhook endpoints may ask for these. */
export const deliveredEvents = (): readonly string[] => named(({ delivered }) => delivered === true);

/** An event that leaves to nobody by its declaration is for staff. */
export function scopeOfEvent(event: string): string {
  return declared.get(event)?.scope ?? 'staff';
}

export function eventsSeenBy({ scopes }: Pick<Caller, 'scopes'>): readonly string[] {
  return named(({ scope }) => scope !== undefined && scopes.has(scope));
}
