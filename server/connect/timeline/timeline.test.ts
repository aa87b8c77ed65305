import { describe, expect, it } from 'vitest';
import { formatCursor, groupByCommit, parseCursor } from './cursor.ts';

describe('parseCursor()', () => {
  const id = 'cir_01234567890123456789012345';

  it('reads what formatCursor() writes', () => {
    const at = new Date('2026-11-20T16:00:00.123Z');
    expect(parseCursor(formatCursor({ at, id }))).toEqual({ at, id });
  });

  it.each([
    ['2026-11-20T16:00:00Z', '2026-11-20T16:00:00.000Z'],
    ['2026-11-20T16:00:00.5Z', '2026-11-20T16:00:00.500Z'],
    ['2026-11-20T18:00:00+02:00', '2026-11-20T16:00:00.000Z'],
    ['2026-11-20T18:00:00 02:00', '2026-11-20T16:00:00.000Z'], // `+` as it comes out of a query
    ['2026-11-20T16:00:00', '2026-11-20T16:00:00.000Z'],
    ['2026-11-20', '2026-11-20T00:00:00.000Z'],
  ])('reads %s without an id', (text, at) => {
    expect(parseCursor(text)).toEqual({ at: new Date(at), id: '' });
  });

  it.each([
    '',
    'yesterday',
    '1795191840',
    '2026-13-40T00:00:00Z',
    '2026-11-20T16:00:00Z~',
    'x~cir_1',
    '0000-01-01',
    '9999-12-31T23:59:59-14:00',
  ])('refuses %j', (text) => {
    expect(() => parseCursor(text)).toThrow('expected an ISO 8601 time');
  });
});

describe('groupByCommit()', () => {
  it('puts a commit where its newest entry stands', () => {
    const entries = [
      { id: '5', commitSha: 'b' },
      { id: '4', commitSha: null },
      { id: '3', commitSha: 'a' },
      { id: '2', commitSha: 'b' },
      { id: '1', commitSha: null },
    ];
    expect(groupByCommit(entries).map(({ id }) => id)).toEqual(['5', '2', '4', '3', '1']);
  });
});
