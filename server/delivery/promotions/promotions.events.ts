import type { EventKind } from '../../kit/events/index.ts';

export const events: Readonly<Record<string, EventKind>> = {
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
};
