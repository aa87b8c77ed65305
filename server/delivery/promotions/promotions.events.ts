import type { EventKind } from '../../kit/events/index.ts';

const told = (when: string): EventKind => ({ when, scope: 'release:read', delivered: true });
const notified = (when: string): EventKind => ({ ...told(when), notifies: true });

export const events: Readonly<Record<string, EventKind>> = {
  'promotion.approved': told('The last approval of a promotion was given.'),
  'promotion.created': notified(
    'Somebody asked for a release to go to an environment; it waits for approvals.',
  ),
  'promotion.deployed': told('The release of a promotion runs in its environment.'),
  'promotion.failed': notified('The deploy of a promotion failed.'),
  'promotion.rejected': told(
    'A promotion was rejected, a newer one of its environment was approved, or nobody approved it for 30 days.',
  ),
};
