/** These settings say how long sessions of people last. */
import { number, type Setting, type SettingsOf } from '@svc/proto/process/settings.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

const sessionTime = (name: string, fallback: number, about: string): Setting<number> =>
  number(name, { about, unit: 'ms', fallback, min: 1_000, max: 90 * DAY });

export const settings = {
  idleMs: sessionTime('SESSION_IDLE_MS', 12 * HOUR, 'A session ends after this long without a request.'),
  absoluteMs: sessionTime('SESSION_ABSOLUTE_MS', 7 * DAY, 'A session ends this long after its sign-in.'),
  staffIdleMs: sessionTime(
    'SESSION_STAFF_IDLE_MS',
    30 * MINUTE,
    'The same without a request, for staff accounts.',
  ),
  staffAbsoluteMs: sessionTime(
    'SESSION_STAFF_ABSOLUTE_MS',
    12 * HOUR,
    'The same after the sign-in, for staff accounts.',
  ),
};

export type SessionTimes = SettingsOf<typeof settings>;
