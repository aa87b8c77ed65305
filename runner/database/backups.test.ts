/**
 * Tests which backups stay, when each is due, and what programs of databases are given; real ones are made in
 * daemon-databases.test.ts.
 */
import { describe, expect, it } from 'vitest';
import { DATABASES } from '@svc/proto/hosting/databases.ts';
import { readDatabases } from '../build/database-plan.ts';
import { tooMany } from './backups.ts';
import { lastMomentMs } from './databases.ts';
import { KINDS } from './kinds.ts';
import { passwordOf } from './passwords.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const NOW_MS = Date.parse('2026-11-28T12:00:00Z');

const filesAt = (...agesMs: number[]) =>
  agesMs
    .map((ageMs) => ({ path: String(ageMs / HOUR_MS), atMs: NOW_MS - ageMs, bytes: 1 }))
    .toSorted((a, b) => a.atMs - b.atMs);

describe('tooMany()', () => {
  it('keeps a backup of each of seven days and four weeks, and everything of the last 24 hours', () => {
    const daily = filesAt(...Array.from({ length: 60 }, (_, day) => day * DAY_MS));
    const gone = new Set(tooMany(daily, NOW_MS).map(({ path }) => path));
    const kept = daily.filter(({ path }) => !gone.has(path)).map(({ path }) => Number(path) / 24);
    expect(kept.filter((days) => days < 7)).toEqual([6, 5, 4, 3, 2, 1, 0]);
    // The newest of the last two weeks are among those of days.
    expect(kept.filter((days) => days >= 7)).toEqual([17, 10]);
    expect(tooMany(filesAt(0, HOUR_MS, 2 * HOUR_MS, 20 * HOUR_MS), NOW_MS)).toEqual([]);
    expect(tooMany(filesAt(26 * HOUR_MS, 27 * HOUR_MS), NOW_MS).map(({ path }) => path)).toEqual(['27']);
  });

  it('never removes the only one, however old', () => {
    expect(tooMany(filesAt(900 * DAY_MS), NOW_MS)).toEqual([]);
    expect(tooMany([], NOW_MS)).toEqual([]);
  });
});

describe('lastMomentMs()', () => {
  it('is one moment of each day, of each database another one', () => {
    const moments = ['dba_1', 'dba_2', 'dba_3'].map((id) => lastMomentMs(id, NOW_MS));
    expect(new Set(moments.map((at) => at % DAY_MS)).size).toBe(3);
    for (const [at, id] of moments.map((each, index) => [each, `dba_${index + 1}`] as const)) {
      expect(NOW_MS - at).toBeLessThan(DAY_MS);
      expect(at).toBeLessThanOrEqual(NOW_MS);
      expect(lastMomentMs(id, at)).toBe(at);
      expect(lastMomentMs(id, at - 1)).toBe(at - DAY_MS);
    }
  });
});

describe('passwordOf()', () => {
  it('is of one database on one machine, and has nothing that an address would escape', () => {
    const [one, two] = [Buffer.alloc(32, 1), Buffer.alloc(32, 2)];
    const all = [passwordOf(one, 'dba_1'), passwordOf(one, 'dba_2'), passwordOf(two, 'dba_1')];
    expect(new Set(all).size).toBe(3);
    for (const each of all) expect(each).toMatch(/^[A-Za-z0-9]{32}$/);
    expect(passwordOf(one, 'dba_1')).toBe(all[0]);
  });
});

describe.each(Object.entries(KINDS))('%s', (type, kind) => {
  it('has its password in no argument, and in its address', () => {
    const password = 'P'.repeat(32);
    const argv = [
      kind.command,
      kind.testCommand,
      kind.ready,
      kind.dump,
      kind.readBack,
      kind.restore,
      kind.shell,
    ];
    expect(argv.flat().join(' ')).not.toContain(password);
    expect(Object.values(kind.env(password))).toContain(password);
    const url = new URL(kind.url(password, 'database'));
    expect(url).toMatchObject({ hostname: 'database', port: String(kind.port), password });
    expect(DATABASES).toHaveProperty(type);
  });
});

describe('readDatabases()', () => {
  const said = { id: 'dba_1', type: 'postgres', image: 'docker.io/library/postgres:17', digest: '' } as const;

  it('reads what a control plane says', () => {
    expect(readDatabases([said])).toEqual([
      { id: 'dba_1', type: 'postgres', image: said.image, remove: false },
    ]);
  });

  it.each([
    [{ id: '../x' }, 'id'],
    [{ id: 'a,b=c' }, 'id'],
    [{ type: 'sqlite' }, 'type'],
    [{ type: 'constructor' }, 'type'],
    [{ image: '--privileged' }, 'reference'],
    [{ image: 'localhost/svc-build:bld_1-1' }, 'no image of a build'],
    [{ image: 'dir:/etc' }, 'reference'],
    [{ digest: 'sha256:short' }, 'digest'],
  ])('refuses %j', (change, word) => {
    const read = readDatabases([{ ...said, ...(change as object) }]);
    expect(read).toHaveProperty('problem', expect.stringContaining(word));
  });

  it('refuses one that is said twice', () => {
    expect(readDatabases([said, said])).toHaveProperty('problem', expect.stringContaining('twice'));
  });
});
