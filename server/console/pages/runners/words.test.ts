import { describe, expect, it } from 'vitest';
import type { Health, Runner } from '@svc/sdk';
import { countdown, enrollCommand, healthWords, stuckWords } from './words.ts';

const runner = (health: Health, more: Partial<Runner> = {}): Runner => ({
  id: 'rnr_1',
  teamId: 'team_1',
  name: 'box-7',
  health,
  labels: {},
  setLabels: {},
  leases: 0,
  strikes: 0,
  flagged: false,
  notReady: [],
  version: '1.2.0',
  isolation: 'container',
  executor: 'podman',
  enrolledAt: '2026-11-20T10:00:00Z',
  upgradeRecommended: false,
  ...more,
});

describe('healthWords()', () => {
  it('says what to do about each that gets no work and does not know it', () => {
    expect(healthWords(runner('never_seen')).advice).toContain('start `svc-runner run` there');
    expect(healthWords(runner('silent', { lastSeenAt: '2026-11-20T11:00:00Z' }))).toMatchObject({
      tone: 'bad',
      since: '2026-11-20T11:00:00Z',
      advice: expect.stringContaining('svc-runner doctor') as string,
    });
    expect(healthWords(runner('flagged', { strikes: 1 })).advice).toContain('1 time its own measure');
    expect(healthWords(runner('version_too_old')).advice).toContain('version 1.2.0 is below');
  });

  it('tells one at work from one that waits for work', () => {
    expect([healthWords(runner('live')).word, healthWords(runner('live', { leases: 2 })).word]).toEqual([
      'Ready',
      'Working',
    ]);
  });

  it('shows a word of a newer server as it is', () => {
    expect(healthWords(runner('resting' as Health)).word).toBe('resting');
  });
});

describe('stuckWords()', () => {
  it('names what there is', () => {
    expect([
      stuckWords({ runs: 3, builds: 1 }),
      stuckWords({ runs: 1, builds: 0 }),
      stuckWords({ runs: 0, builds: 0 }),
    ]).toEqual(['3 runs and 1 build', '1 run', '']);
  });
});

describe('countdown()', () => {
  it('counts whole seconds down to nothing', () => {
    expect([countdown(900_000, 0), countdown(900_000, 100), countdown(1_000, 1), countdown(0, 9)]).toEqual([
      '15:00',
      '15:00',
      '0:01',
      '0:00',
    ]);
  });
});

describe('enrollCommand()', () => {
  it('keeps names with spaces and quotes in one word', () => {
    expect(enrollCommand('https://svc.example', 'enr_1', '')).toBe(
      'SVC_ENROLL_TOKEN=enr_1 svc-runner enroll --url https://svc.example',
    );
    expect(enrollCommand('https://svc.example', 'enr_1', "Ada's box; rm -rf ~")).toBe(
      String.raw`SVC_ENROLL_TOKEN=enr_1 svc-runner enroll --url https://svc.example --name 'Ada'\''s box; rm -rf ~'`,
    );
  });
});
