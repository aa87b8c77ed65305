import type { EventKind } from '../../kit/events/index.ts';

export const events: Readonly<Record<string, EventKind>> = {
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
};
