/** Here it is tested to what the verdicts of a gate lead. */
import { expect, it } from 'vitest';
import type { PolicyMode } from './document.ts';
import { decide, type Outcome, type Verdict } from './verdict.ts';

const verdictOf = (mode: PolicyMode, outcome: Outcome): Verdict => ({
  policyId: `${mode} ${outcome}`,
  revision: 1,
  mode,
  outcome,
  failed: [],
  ms: 1,
});

it.each([
  ['enforce', 'allow', true, 0],
  ['enforce', 'skipped', true, 0],
  ['enforce', 'deny', false, 0],
  ['enforce', 'error', false, 0],
  ['warn', 'allow', true, 0],
  ['warn', 'warn', true, 1],
  ['warn', 'error', true, 1],
  ['audit', 'skipped', true, 0],
  ['audit', 'warn', true, 1],
  ['audit', 'error', true, 1],
] as const)('decides for a policy in mode %s that says %s', (mode, outcome, allowed, warned) => {
  const decision = decide([verdictOf(mode, outcome)]);
  expect(decision.allowed).toBe(allowed);
  expect(decision.denied).toHaveLength(allowed ? 0 : 1);
  expect(decision.warned).toHaveLength(warned);
});

it('allows where no policy is, and denies by one of many', () => {
  expect(decide([])).toEqual({ allowed: true, denied: [], warned: [] });
  const deny = verdictOf('enforce', 'deny');
  const warn = verdictOf('warn', 'warn');
  const both = { allowed: false, denied: [deny], warned: [warn] };
  expect(decide([verdictOf('enforce', 'allow'), warn, deny])).toEqual(both);
});
