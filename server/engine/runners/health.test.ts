import { describe, expect, it } from 'vitest';
import { Health } from '@svc/proto/gen/svc/runners/v1/runners_pb.ts';
import { healthOf, type HealthFacts } from './row.ts';

const now = new Date('2026-11-20T12:00:00.000Z');
const ago = (ms: number): Date => new Date(now.getTime() - ms);
const limits = { strikesMax: 3, silentMs: 60_000, minVersion: '1.2.0', recommendedVersion: '' };
const fine: HealthFacts = {
  revokedAt: null,
  strikes: 0,
  pausedAt: null,
  pausedUntil: null,
  lastSeenAt: ago(1_000),
  draining: false,
  notReady: [],
  version: '1.2.0',
};

describe('the health of a runner', () => {
  it.each<[string, Partial<HealthFacts>, Health]>([
    ['live while it calls', {}, Health.LIVE],
    ['live at exactly the limit of silence', { lastSeenAt: ago(60_000) }, Health.LIVE],
    ['silent a millisecond later', { lastSeenAt: ago(60_001) }, Health.SILENT],
    ['never seen before its first call', { lastSeenAt: null }, Health.NEVER_SEEN],
    ['too old below the least version', { version: '1.1.9', draining: true }, Health.VERSION_TOO_OLD],
    ['live with a version that cannot be read', { version: 'dev' }, Health.LIVE],
    ['draining while it finishes', { draining: true }, Health.DRAINING],
    [
      'silent rather than draining when it is gone',
      { draining: true, lastSeenAt: ago(61_000) },
      Health.SILENT,
    ],
    ['not ready when it says why', { notReady: ['disk 812 MB < 1024 MB'] }, Health.NOT_READY],
    ['paused without an end', { pausedAt: ago(1) }, Health.PAUSED],
    ['paused until its end', { pausedAt: ago(1), pausedUntil: new Date(now.getTime() + 1) }, Health.PAUSED],
    ['live when its pause is over', { pausedAt: ago(2), pausedUntil: now }, Health.LIVE],
    ['paused even when it is silent', { pausedAt: ago(1), lastSeenAt: ago(90_000) }, Health.PAUSED],
    ['live below the threshold of strikes', { strikes: 2 }, Health.LIVE],
    ['flagged at the threshold, paused or not', { strikes: 3, pausedAt: ago(1) }, Health.FLAGGED],
    ['revoked before everything else', { revokedAt: ago(1), strikes: 9, lastSeenAt: null }, Health.REVOKED],
  ])('is %s', (_name, change, expected) => {
    expect(healthOf({ ...fine, ...change }, now, limits)).toBe(expected);
  });
});
