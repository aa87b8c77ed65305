import { describe, expect, it } from 'vitest';
import { blockForPeople, blockForPrograms } from './block.ts';
import { cellForPeople, cellForPrograms, formatBytes, heading } from './cells.ts';
import { plain, wantsColor } from './color.ts';
import { columnWidths, formatHeader, formatRow } from './table.ts';
import { displayWidth } from './text.ts';

const now = Date.parse('2026-11-20T12:00:00Z');

describe('cellForPrograms()', () => {
  it.each([
    [undefined, ''],
    [null, ''],
    [0, '0'],
    [false, 'false'],
    ['2026-11-20T08:00:00Z', '2026-11-20T08:00:00Z'],
    [['a', 'b'], 'a,b'],
    [{ a: 1 }, '{"a":1}'],
    [[{ a: 1 }], '[{"a":1}]'],
    ['tab\tline\nback\\slash', 'tab\\tline\\nback\\\\slash'],
    ['\u001b[2J', '\\x1b[2J'],
  ])('writes %j', (value, text) => expect(cellForPrograms(value)).toBe(text));
});

describe('cellForPeople()', () => {
  it.each([
    [undefined, 'x', '-'],
    ['', 'x', '-'],
    [1_200, 'meteredMs', '1.2s'],
    [2_048, 'logBytes', '2 KiB'],
    [3, 'items', '3'],
    ['2026-11-20T11:57:00Z', 'createdAt', '3m ago'],
    [['run:read', 'run:write'], 'scopes', 'run:read, run:write'],
    [[{}, {}], 'leases', '2 items'],
    [{ a: 1, b: 'x' }, 'labels', 'a=1 b=x'],
    ['a\u001b]0;x\u0007', 'name', 'a\\x1b]0;x\\x07'],
  ])('writes %j of %s', (value, name, text) => expect(cellForPeople(value, { name, nowMs: now })).toBe(text));

  it('writes sizes', () => {
    expect(formatBytes(1023)).toBe('1023 B');
    expect(formatBytes(16_777_216)).toBe('16 MiB');
    expect(formatBytes(1_500_000)).toBe('1.4 MiB');
  });
});

it('turns JSON names into headings', () => {
  expect(heading('lastHeartbeatAt')).toBe('LAST HEARTBEAT');
  expect(heading('meteredMs')).toBe('METERED');
  expect(heading('limits.cpus')).toBe('CPUS');
  expect(heading('actor.display')).toBe('ACTOR');
  expect(heading('at')).toBe('AT');
});

describe('a table', () => {
  const columns = [
    { heading: 'ID', whole: true },
    { heading: 'NAME', whole: false },
    { heading: 'STATE', whole: false },
  ];
  const rows = [
    ['run_0123456789', 'a name that is rather long for this', 'queued'],
    ['run_1', '日本語', 'running'],
  ];

  it('fits the terminal by cutting the widest column, never the id', () => {
    const widths = columnWidths(columns, rows, 40);
    const lines = rows.map((row) => formatRow(row, { columns, widths }, plain));
    for (const line of lines) expect(displayWidth(line)).toBeLessThanOrEqual(40);
    expect(lines[0]).toContain('run_0123456789  ');
    expect(lines[0]).toContain('…');
  });

  it('aligns columns, wide characters too', () => {
    const widths = columnWidths(columns, rows, 200);
    const [first = '', second = ''] = rows.map((row) => formatRow(row, { columns, widths }, plain));
    const start = first.indexOf('queued');
    expect(displayWidth(second.slice(0, second.indexOf('running')))).toBe(start);
    expect(formatHeader(columns, widths, plain).indexOf('STATE')).toBe(start);
  });

  it('gives up on a terminal that is too narrow', () => {
    expect(columnWidths(columns, rows, 5)).toEqual([14, 8, 7]);
  });
});

describe('a block', () => {
  const value = {
    id: 'run_1',
    state: 'queued',
    createdAt: '2026-11-20T11:57:00Z',
    meteredMs: 1_500,
    limits: { cpus: 1 },
    labels: {},
    events: [{ kind: 'a' }, { kind: 'b' }],
  };

  it('shows people the exact and the readable form', () => {
    expect(blockForPeople(value, now, plain)).toEqual([
      'id         run_1',
      'state      queued',
      'createdAt  2026-11-20T11:57:00Z (3m ago)',
      'meteredMs  1.5s (1500)',
      'limits',
      '  cpus     1',
      'labels     -',
      'events 1',
      '  kind     a',
      'events 2',
      '  kind     b',
    ]);
  });

  it('shows programs one line a path', () => {
    expect(blockForPrograms(value)).toEqual([
      'id\trun_1',
      'state\tqueued',
      'createdAt\t2026-11-20T11:57:00Z',
      'meteredMs\t1500',
      'limits.cpus\t1',
      'events\t[{"kind":"a"},{"kind":"b"}]',
    ]);
  });
});

describe('wantsColor()', () => {
  it('asks the flag, then NO_COLOR, then FORCE_COLOR, then the terminal', () => {
    expect(wantsColor({}, true, undefined)).toBe(true);
    expect(wantsColor({}, false, undefined)).toBe(false);
    expect(wantsColor({ NO_COLOR: 'anything' }, true, undefined)).toBe(false);
    expect(wantsColor({ NO_COLOR: '' }, true, undefined)).toBe(true);
    expect(wantsColor({ FORCE_COLOR: '1' }, false, undefined)).toBe(true);
    expect(wantsColor({ FORCE_COLOR: '0' }, true, undefined)).toBe(false);
    expect(wantsColor({ NO_COLOR: '1', FORCE_COLOR: '1' }, true, undefined)).toBe(false);
    expect(wantsColor({ NO_COLOR: '1' }, false, true)).toBe(true);
    expect(wantsColor({ TERM: 'dumb' }, true, undefined)).toBe(false);
  });
});
