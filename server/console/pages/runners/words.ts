/** Says what the page tells about a runner, in plain words: how it is, and what to do about it. */
import type { Runner, StuckWork } from '@svc/sdk';
import type { Tone } from '../../fact.tsx';
import { counted } from '../../words.ts';

export interface HealthWords {
  readonly word: string;
  readonly tone: Tone;
  /** Followed by `since` as a time, where there is one. */
  readonly since?: string | undefined;
  /** Advice on what to do, or the meaning. Text between backquotes is typed. */
  readonly advice: string;
}

export function healthWords(runner: Runner): HealthWords {
  switch (runner.health) {
    case 'live':
      return {
        word: runner.leases > 0 ? 'Working' : 'Ready',
        tone: 'good',
        advice: runner.upgradeRecommended ? 'A newer version is recommended: upgrade when it suits.' : '',
      };
    case 'never_seen':
      return {
        word: 'Never called',
        tone: 'warn',
        advice: 'Enrolled, never called: start `svc-runner run` there.',
      };
    case 'silent':
      return {
        word: 'Silent',
        tone: 'bad',
        since: runner.lastSeenAt ?? runner.lastHeartbeatAt,
        advice:
          'Is the machine on, is it online, does `svc-runner run` run? `svc-runner doctor` there says what is wrong.',
      };
    case 'draining':
      return {
        word: 'Stopping',
        tone: 'quiet',
        advice: 'Finishes what it holds and then stops. Start it again for new work.',
      };
    case 'paused':
      return { word: 'Paused', tone: 'quiet', since: runner.pausedAt, advice: '' };
    case 'not_ready':
      return { word: 'Not ready', tone: 'warn', advice: '' };
    case 'flagged':
      return {
        word: 'Flagged',
        tone: 'bad',
        advice: `Gets no new work: ${counted(runner.strikes, 'time', 'times')} its own measure of a run disagreed with ours. Look at its clock and its load, then let an owner clear the flag.`,
      };
    case 'version_too_old':
      return {
        word: 'Too old',
        tone: 'bad',
        advice: `Gets no new work: version ${runner.version === '' ? 'unknown' : runner.version} is below the least that is served. Upgrade \`svc-runner\` there.`,
      };
    case 'revoked':
      return { word: 'Revoked', tone: 'quiet', since: runner.revokedAt, advice: '' };
    default:
      // A word that a newer server knows.
      return { word: runner.health, tone: 'quiet', advice: '' };
  }
}

/** Returns what is to be done for a reason of a runner's own. Its text stands beside it. */
export function reasonAdvice(reason: string): string | undefined {
  if (reason.startsWith('disk')) return 'Free some disk space there.';
  if (reason.startsWith('spool') || reason.startsWith('outbox'))
    return 'It delivers what it has kept as soon as the connection is back.';
  return undefined;
}

/** Returns words that are `3 runs and 1 build`, for example, and an empty text when nothing waits. */
export function stuckWords({ runs, builds }: Pick<StuckWork, 'runs' | 'builds'>): string {
  return [runs > 0 && counted(runs, 'run', 'runs'), builds > 0 && counted(builds, 'build', 'builds')]
    .filter(Boolean)
    .join(' and ');
}

/** `12:05` until the token stops working; `0:00` afterwards. */
export function countdown(untilMs: number, nowMs: number): string {
  const seconds = Math.max(0, Math.ceil((untilMs - nowMs) / 1_000));
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`;
}

/**
 * The command that makes a machine a runner of the team: in a variable, where others on that machine do not
 * see the token.
 */
export function enrollCommand(baseUrl: string, token: string, name: string): string {
  return `SVC_ENROLL_TOKEN=${token} svc-runner enroll --url ${baseUrl}${name === '' ? '' : ` --name ${quoted(name)}`}`;
}

function quoted(text: string): string {
  return /^[\w.-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
