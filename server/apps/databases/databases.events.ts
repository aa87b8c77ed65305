import type { EventKind } from '../../kit/events/index.ts';

export const events: Readonly<Record<string, EventKind>> = {
  'database.backup_failed': {
    when: 'A backup of a database failed, for the first time since one was good. Earlier ones are kept.',
    scope: 'project:read',
    notifies: true,
    delivered: true,
  },
  'database.lost': {
    when: 'The runner on whose machine a database is was revoked: nobody looks after it any more.',
    scope: 'project:read',
    notifies: true,
    delivered: true,
  },
};
