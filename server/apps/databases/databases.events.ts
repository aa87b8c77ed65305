import type { EventKind } from '../../kit/events/index.ts';

export const events: Readonly<Record<string, EventKind>> = {
  'database.backup_failed': {
    when: 'A backup of a database failed, for the first time since one was good. Earlier ones are kept.',
    scope: 'project:read',
    notifies: true,
    delivered: true,
  },
};
