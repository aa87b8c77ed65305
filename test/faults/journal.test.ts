import { appendFileSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openJournal, readJournal } from './journal.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'svc-journal-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

type Entry = { readonly event: string; readonly n: number };

describe('openJournal()', () => {
  it('has every acknowledged entry on disk, in order and with its time', async () => {
    const path = join(folder, 'a.jsonl');
    const journal = openJournal<Entry>(path);
    await Promise.all(Array.from({ length: 50 }, async (_, n) => await journal.append({ event: 'e', n })));
    expect(readFileSync(path, 'utf8').split('\n')).toHaveLength(51);
    const entries = readJournal<Entry>(path);
    expect(entries.map(({ n }) => n)).toEqual(Array.from({ length: 50 }, (_, n) => n));
    expect(entries.every(({ wall, mono }, i) => wall > 0 && mono >= (entries[i - 1]?.mono ?? 0))).toBe(true);
    await journal.close();
  });

  it('is read past what a kill left torn', async () => {
    const path = join(folder, 'b.jsonl');
    const before = openJournal<Entry>(path);
    await before.append({ event: 'e', n: 1 });
    await before.close();
    appendFileSync(path, '{"event":"e","n":2,"wa');
    expect(readJournal<Entry>(path).map(({ n }) => n)).toEqual([1]);
    const after = openJournal<Entry>(path);
    await after.append({ event: 'e', n: 3 });
    await after.close();
    expect(readJournal<Entry>(path).map(({ n }) => n)).toEqual([1, 3]);
  });
});
