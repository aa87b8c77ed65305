import { describe, expect, it, vi } from 'vitest';

vi.hoisted(() => {
  vi.stubGlobal('window', {
    location: { href: 'http://localhost/' },
    addEventListener: () => undefined,
  });
});
const { filterOf } = await import('./filter.ts');

describe('the filter of the ledger', () => {
  const none = { action: '', target: '', actorId: '', since: '', until: '' };

  it('leaves out what is empty, and what is no time', () => {
    expect(filterOf(none)).toEqual({});
    expect(filterOf({ ...none, action: 'policy.', target: '  ', since: 'soon' })).toEqual({
      action: 'policy.',
    });
  });

  it('takes times of the zone of the reader', () => {
    const since = '2026-11-28T09:30';
    expect(filterOf({ ...none, since })).toEqual({ since: new Date(since).toISOString() });
  });
});
