/** Writes events.md, which says what happens on the platform that somebody may want to know. */
import type { EventKind } from '../../server/kit/events/kinds.ts';
import { code, page, table } from './markdown.ts';

export function eventsPage(events: Readonly<Record<string, EventKind>>): string {
  const rows = Object.entries(events).map(([name, { when, scope, notifies, delivered, recorded }]) => [
    code(name),
    when,
    [
      ...(notifies ? ['notification'] : []),
      ...(delivered ? ['webhook'] : []),
      ...(recorded ? ['diagnostics'] : []),
    ].join(', '),
    code(scope ?? ''),
  ]);
  return page('Events', ABOUT, [table(['event', 'when', 'where it shows', 'scope'], rows)]);
}

const ABOUT =
  'Notifications are for admins and owners of the team (`svc notifications`), webhooks for the endpoints that ask for the event (`svc webhook-endpoints`); who lacks the scope is not told. Diagnostics are the bundle of `svc runners diagnose`.';
