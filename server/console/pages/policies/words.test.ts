import type { SimulatedGate, Simulation } from '@svc/sdk';
import { describe, expect, it } from 'vitest';
import { isOtherwise, messagesOf, reasonsOf, resultOf, standing, whyOf } from './words.ts';

const gate = (more: Partial<SimulatedGate>): SimulatedGate => ({
  gateId: 'pgt_1',
  action: 'deploy',
  subject: 'bld_1',
  at: '2026-11-28T08:00:00Z',
  now: 'allow',
  failed: [],
  newlyDenied: false,
  ...more,
});

describe('what is said of policies', () => {
  it('is whether one is in force, and that it guards nothing', () => {
    expect(standing({ enabled: true, scopeDeleted: false })[0]).toBe('Enabled');
    expect(standing({ enabled: true, scopeDeleted: true })[1]).toBe('warn');
  });

  it('is why it decided so', () => {
    const failed = [{ id: 'a', message: 'no image' }];
    expect(reasonsOf({ failed, overrideReason: 'INC-7' })).toEqual(['no image', 'overridden: INC-7']);
    expect(reasonsOf({ failed: [], reason: 'time' })).toEqual(['could not be judged: it took too long']);
    expect(reasonsOf({ failed, reason: 'rule' })).toEqual(['no image']);
    expect(reasonsOf({ failed: [], reason: 'rule' })).toHaveLength(1);
  });

  it('is why it would decide so, by the messages of the document', () => {
    const messages = messagesOf({ rules: [{ id: 'a', message: 'no image' }, null, 7] });
    expect(whyOf(gate({ now: 'deny', failed: ['a', 'b'] }), messages)).toEqual(['no image', 'rule b']);
    expect(whyOf(gate({ now: 'error', problem: 'index 7' }), messages)).toEqual(['index 7']);
    expect(messagesOf(undefined).size).toBe(0);
  });

  it.each([
    ['newly refused', gate({ now: 'deny', newlyDenied: true }), true],
    ['newly allowed', gate({ before: 'deny', now: 'warn' }), true],
    ['not judged', gate({ before: 'error', now: 'error' }), true],
    ['refused as before', gate({ before: 'deny', now: 'deny' }), false],
    ['allowed as before', gate({ before: 'allow', now: 'allow' }), false],
  ])('is what would be otherwise: %s', (_what, of, expected) => {
    expect(isOtherwise(of)).toBe(expected);
  });

  it('is the result of a simulation', () => {
    const none: Simulation = {
      replayed: 0,
      newlyDenied: 0,
      newlyAllowed: 0,
      unchanged: 0,
      errors: 0,
      results: [],
      truncated: false,
    };
    expect(resultOf(none)).toContain('Nothing has passed');
    expect(resultOf({ ...none, replayed: 100, newlyDenied: 2, newlyAllowed: 1, errors: 3 })).toBe(
      '2 of 100 would newly be refused, 1 would newly be allowed, 3 could not be judged.',
    );
  });
});
