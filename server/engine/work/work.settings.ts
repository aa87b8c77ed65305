/** Dispatch: its times, the versions of runners that it takes, strikes, and how long output is kept. */
import { expected, number, text, type Setting } from '@svc/proto/process/settings.ts';
import { defaultWorkSettings as defaults } from './settings.ts';

const HOUR = 3_600_000;

/** These settings are times of dispatch; tests and the fault suite shorten them. */
const dispatchTime = (name: string, fallback: number, about: string): Setting<number> =>
  number(name, { about, unit: 'ms', fallback, min: 10, max: HOUR });

const version = (name: string, about: string): Setting<string> =>
  text(name, {
    about,
    type: 'version',
    fallback: '',
    parse: (given) =>
      given === '' || /^\d{1,6}\.\d{1,6}\.\d{1,6}$/.test(given)
        ? given
        : expected(given, 'three numbers such as 1.2.0'),
  });

const dispatch = {
  pollWaitMs: number('POLL_WAIT_MS', {
    about: 'How long a poll of a runner waits for work.',
    unit: 'ms',
    fallback: defaults.pollWaitMs,
    min: 10,
    max: 50_000,
  }),
  heartbeatMs: dispatchTime('HEARTBEAT_MS', defaults.heartbeatMs, 'Time between heartbeats of a runner.'),
  offerMs: dispatchTime('OFFER_MS', defaults.offerMs, 'How long an offer waits for the first heartbeat.'),
  leaseMs: dispatchTime('LEASE_MS', defaults.leaseMs, 'Lease of work that runs, at least three heartbeats.'),
  graceMs: dispatchTime(
    'LEASE_GRACE_MS',
    defaults.graceMs,
    'How long after its end a lease is still honoured.',
  ),
  sweepEveryMs: dispatchTime(
    'SWEEP_EVERY_MS',
    defaults.sweepEveryMs,
    'Time between searches for leases that have ended.',
  ),
  relayEveryMs: dispatchTime(
    'RELAY_EVERY_MS',
    defaults.relayEveryMs,
    'Time between searches for unsent pointers to work.',
  ),
  silentMs: dispatchTime(
    'RUNNER_SILENT_MS',
    defaults.silentMs,
    'A runner is silent after this long without a heartbeat, at least two of them.',
  ),
  stuckMs: dispatchTime(
    'RUNNER_STUCK_MS',
    defaults.stuckMs,
    'Work counts as stuck after it has waited this long.',
  ),
  watchEveryMs: dispatchTime(
    'RUNNER_WATCH_EVERY_MS',
    defaults.watchEveryMs,
    'Time between searches for teams without a working runner.',
  ),
};

export const settings = {
  logRetentionDays: number('LOG_RETENTION_DAYS', {
    about: 'How long output of runs and builds is kept. It must outlive all attempts of a run.',
    unit: 'days',
    fallback: 90,
    min: 7,
    max: 3_650,
  }),
  strikesMax: number('RUNNER_DURATION_DIVERGENCE_STRIKE_THRESHOLD', {
    about: 'Strikes for diverging durations from which a runner receives no work.',
    fallback: 3,
    min: 1,
    max: 1_000,
  }),
  minVersion: version(
    'RUNNER_MIN_VERSION',
    'Runners below it are given no new work. Empty takes any version.',
  ),
  recommendedVersion: version(
    'RUNNER_RECOMMENDED_VERSION',
    'Runners below it are advised to upgrade. Empty advises none.',
  ),
  dispatch,
};
