import type { PlatformFeature } from '@svc/sdk';
import { describe, expect, it } from 'vitest';
import { actorName, isBlocked, lockReason, outcome, effectiveState } from './words.ts';

const feature = (changes: Partial<PlatformFeature>): PlatformFeature => ({
  key: 'host.a',
  description: 'A.',
  owner: 'team',
  lifecycle: 'preview',
  visibility: 'public',
  dependsOn: [],
  state: 'enabled',
  defaultState: 'enabled',
  enabled: true,
  reason: 'enabled',
  blockedBy: [],
  rootCauses: [],
  toggleable: true,
  revision: 0,
  ...changes,
});

describe('effectiveState()', () => {
  it.each([
    [true, 'enabled', 'on'],
    [false, 'disabled', 'off'],
    [false, 'dependency_disabled', 'blocked'],
    [false, 'cycle_detected', 'blocked'],
    [false, 'unknown_feature', 'off'],
  ] as const)('of enabled %s for reason %s is %s', (enabled, reason, state) => {
    expect(effectiveState({ enabled, reason })).toBe(state);
    expect(isBlocked({ enabled, reason })).toBe(state === 'blocked');
  });
});

describe('lockReason()', () => {
  it('is none for a switch that can be moved, even with a variable beside it', () => {
    expect(lockReason(feature({}))).toBeUndefined();
    expect(lockReason(feature({ environmentVariable: 'RUNNERS_ENABLED' }))).toBeUndefined();
  });

  it('names the variable, or that there is nothing to switch on yet', () => {
    expect(lockReason(feature({ toggleable: false, environmentVariable: 'JOB_RUNNER_ENABLED' }))).toBe(
      'Locked: JOB_RUNNER_ENABLED decides',
    );
    expect(lockReason(feature({ toggleable: false, lifecycle: 'planned' }))).toBe(
      'Locked: planned, not built yet',
    );
  });
});

describe('words', () => {
  it('say what becomes of a feature', () => {
    expect(outcome(true, 'enabled', [])).toBe('on');
    expect(outcome(false, 'disabled', [])).toBe('off');
    expect(outcome(false, 'dependency_disabled', ['host.a', 'host.b'])).toBe('blocked by host.a and host.b');
    expect(outcome(false, 'cycle_detected', ['host.a'])).toBe('blocked by its own dependencies');
  });

  it('name who did it', () => {
    expect(actorName({ kind: 'user', id: 'user_1', display: 'ada@example.com' })).toBe('ada@example.com');
    expect(actorName({ kind: 'user', id: 'user_1', display: '' })).toBe('user_1');
    expect(actorName({ kind: 'environment', id: 'X', display: 'X' })).toBe('the environment (X)');
  });
});
