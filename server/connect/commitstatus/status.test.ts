import { describe, expect, it } from 'vitest';
import { contextOf, DESCRIPTION_MAX, descriptionOf, commitStateOf } from './status.ts';

const run = {
  status: 'success',
  reason: null,
  lost: false,
  soft: false,
  durationMs: null,
  pipelineName: 'CI',
} as const;

describe('commitStateOf()', () => {
  it('says what a run comes to for its commit', () => {
    const words = (
      [
        [{ status: 'queued' }, undefined],
        [{ status: 'running' }, 'pending'],
        [{ status: 'success' }, 'success'],
        [{ status: 'failed' }, 'failure'],
        [{ status: 'failed', reason: 'timed_out' }, 'failure'],
        [{ status: 'failed', reason: 'error' }, 'error'],
        [{ status: 'cancelled' }, 'cancelled'],
        [{ status: 'cancelled', reason: 'skipped' }, 'success'],
        [{ status: 'unknown', reason: 'stale' }, undefined],
        [{ status: 'unknown', reason: 'lost', lost: true }, 'error'],
        [{ status: 'unknown', reason: 'gone', lost: true }, 'error'],
      ] as const
    ).map(([reported, state]) => [commitStateOf({ ...run, ...reported }), state]);
    for (const [is, expected] of words) expect(is).toBe(expected);
  });
});

describe('descriptionOf()', () => {
  it('says what happened and how long it took', () => {
    expect(descriptionOf({ ...run, durationMs: 192_400 })).toBe('CI: succeeded after 3 min 12 s');
    expect(descriptionOf({ ...run, status: 'failed', reason: 'timed_out', durationMs: 21_600_000 })).toBe(
      'CI: failed after 6 h 0 min (timed_out)',
    );
    expect(descriptionOf({ ...run, status: 'cancelled', reason: 'skipped' })).toBe('CI: was skipped');
    expect(descriptionOf({ ...run, soft: true })).toBe('CI: succeeded, with failures that were allowed');
  });

  it('is never longer than 140 code points, and cuts no character in two', () => {
    const long = descriptionOf({ ...run, pipelineName: '🚀'.repeat(200), durationMs: 5_000 });
    expect([...long]).toHaveLength(DESCRIPTION_MAX);
    expect(long).toMatch(/^🚀+…: succeeded after 5 s$/u);
    const reason = descriptionOf({ ...run, status: 'failed', reason: '🚀'.repeat(300) });
    expect([...reason]).toHaveLength(DESCRIPTION_MAX);
    expect(Buffer.from(reason).toString()).toBe(reason);
  });

  it('is one line', () => {
    expect(descriptionOf({ ...run, pipelineName: 'a\n\tb\u0000' })).toBe('a b: succeeded');
  });
});

describe('contextOf()', () => {
  it('is stable, begins as our own are known, and stays within what hosts take', () => {
    expect(contextOf('build', '')).toBe('svc/build');
    expect(contextOf('CI', '.github/workflows/b.yml')).toBe('svc/CI (.github/workflows/b.yml)');
    const long = contextOf('x'.repeat(300), '');
    expect(long).toHaveLength(250);
    expect(long).toBe(contextOf('x'.repeat(300), ''));
    expect(long).not.toBe(contextOf(`${'x'.repeat(299)}y`, ''));
  });
});
