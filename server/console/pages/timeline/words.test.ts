import { describe, expect, it } from 'vitest';
import type { CiStatus, TimelineEntry } from '@svc/sdk';
import {
  commitUrl,
  commitWords,
  newsWords,
  reasonOf,
  scaleOf,
  statusOf,
  timesOf,
  timesWords,
} from './words.ts';

const MINUTE = 60_000;
const at = (ms: number): string => new Date(ms).toISOString();
const run = (status: CiStatus, more: Partial<TimelineEntry> = {}): TimelineEntry => ({
  kind: 'ci_run',
  id: 'cir_1',
  at: at(0),
  name: 'tests',
  status,
  ciStatus: status,
  blocked: false,
  soft: false,
  mergeQueue: false,
  attempt: 1,
  ...more,
});
const said = (entry: TimelineEntry, nowMs: number): string => timesWords(timesOf(entry, nowMs));

describe('statusOf()', () => {
  it('has a word of its own for each, and shows those of a newer server as they are', () => {
    expect(statusOf(run('success'))).toEqual(['Succeeded', 'good']);
    expect(statusOf(run('queued', { blocked: true }))).toEqual(['Waiting', 'warn']);
    expect(
      statusOf({ ...run('success'), kind: 'build', status: 'publishing', buildState: 'publishing' }),
    ).toEqual(['Publishing', 'busy']);
    expect(statusOf({ ...run('success'), status: 'resting', ciStatus: 'resting' as CiStatus })).toEqual([
      'resting',
      'quiet',
    ]);
  });
});

describe('timesWords()', () => {
  const queuedAt = at(0);
  const startedAt = at(4_000);

  it('says what is known, of what is over and of what goes on', () => {
    expect(said(run('success', { queuedAt, startedAt, finishedAt: at(64_000) }), 0)).toBe(
      'waited 4 s, ran 1 min',
    );
    expect(said(run('running', { queuedAt, startedAt }), 6_900)).toBe('waited 4 s, running for 2 s');
    expect(said(run('queued', { queuedAt }), 9_000)).toBe('waiting for 9 s');
    expect(said(run('success', { durationMs: 1_500 }), 0)).toBe('ran 2 s');
    expect(said(run('success', { queuedAt, startedAt: at(300), durationMs: 1_500 }), 0)).toBe('ran 2 s');
  });

  it('counts neither on for what nobody heard the end of, nor for what stopped for a person', () => {
    expect(said(run('unknown', { queuedAt, startedAt }), 99 * MINUTE)).toBe('waited 4 s');
    expect(said(run('running', { queuedAt, startedAt, blocked: true }), 99 * MINUTE)).toBe('waited 4 s');
    expect(said(run('queued', { queuedAt, blocked: true }), 2 * MINUTE)).toBe('waiting for 2 min');
    expect(said(run('failed'), 99 * MINUTE)).toBe('');
  });

  it('lets one that lost its runner wait again', () => {
    expect(said(run('queued', { queuedAt, startedAt }), 9_000)).toBe('waiting for 9 s');
  });

  it('never goes below nothing, whatever the clocks of CI systems say', () => {
    expect(
      said(run('success', { queuedAt: at(9_000), startedAt: at(8_000), finishedAt: at(7_000) }), 0),
    ).toBe('ran 0 ms');
  });
});

describe('scaleOf()', () => {
  const times = (...lengths: number[]) =>
    lengths.map((ranMs) => ({ waitedMs: undefined, ranMs, goesOn: false }));

  it('is the longest, unless one would make slivers of all others', () => {
    expect(scaleOf(times(MINUTE, 2 * MINUTE, 3 * MINUTE))).toBe(3 * MINUTE);
    expect(scaleOf(times(MINUTE, MINUTE, 600 * MINUTE))).toBe(4 * MINUTE);
    expect(scaleOf([])).toBe(10_000);
  });
});

describe('reasonOf()', () => {
  it('is left out where it says nothing', () => {
    expect(reasonOf(run('success', { reason: 'whatever' }))).toBe('');
    expect(reasonOf(run('failed', { reason: 'exit' }))).toBe('');
    expect(reasonOf(run('failed', { reason: 'timed_out' }))).toBe('took too long');
    expect(reasonOf(run('failed', { reason: 'out_of_credits' }))).toBe('out of credits');
  });
});

describe('sums', () => {
  it('say of a commit what people want to know first', () => {
    expect(commitWords([run('success'), run('failed'), run('running'), run('success')])).toBe(
      '1 failed, 1 under way, 2 succeeded',
    );
    expect(commitWords([run('success')])).toBe('');
  });

  it('say what came in few words', () => {
    const all = [run('failed'), run('success', { name: 'lint' }), run('running'), run('running')];
    expect(newsWords(all)).toBe('tests: failed; lint: succeeded; 2 more changes');
    expect(newsWords(all.slice(0, 1))).toBe('tests: failed');
  });
});

describe('commitUrl()', () => {
  it.each([
    ['https://github.com/acme/web.git', 'https://github.com/acme/web/commit/abc'],
    ['https://gitlab.com/acme/group/web', 'https://gitlab.com/acme/group/web/-/commit/abc'],
    ['https://bitbucket.org/acme/web/', 'https://bitbucket.org/acme/web/commits/abc'],
    ['https://git.example.com/acme/web', undefined],
    ['http://github.com/acme/web', undefined],
    ['javascript:alert(1)', undefined],
    ['git@github.com:acme/web.git', undefined],
    [undefined, undefined],
  ])('of %s is %s', (repository, url) => {
    expect(commitUrl(repository, 'abc')).toBe(url);
  });
});
