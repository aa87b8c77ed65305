import { appendFileSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { openJournal } from './journal.ts';
import { smallDisk, tempDir } from '../../test/setup/runner/temp-dir.ts';

const ref = { id: 'run_1', epoch: 1 };

describe('journal', () => {
  it('knows after a restart how far each grant came', async () => {
    const path = join(tempDir(), 'journal.jsonl');
    const first = await openJournal({ path });
    await first.record('offered', ref);
    await first.record('accepted', ref);
    await first.record('started', ref);
    await first.record('offered', { id: 'run_1', epoch: 2 });
    await first.record('reported', { id: 'run_1', epoch: 2 }, { reportId: 'r' });
    await first.close();
    const second = await openJournal({ path });
    expect(second.last(ref)).toBe('started');
    expect(second.last({ id: 'run_1', epoch: 2 })).toBe('reported');
    expect(second.last({ id: 'run_1', epoch: 3 })).toBeUndefined();
    expect(second.open()).toMatchObject([{ ...ref, event: 'started' }]);
    await second.close();
    expect(statSync(path).mode & 0o777).toBe(0o600);
  });

  it('leaves out a torn last line and goes on behind it', async () => {
    const path = join(tempDir(), 'journal.jsonl');
    const first = await openJournal({ path });
    await first.record('offered', ref);
    await first.close();
    appendFileSync(path, '{"id":"run_1","epoch":1,"event":"star');
    const second = await openJournal({ path });
    expect(second.last(ref)).toBe('offered');
    await second.record('dropped', ref, { reason: 'restart' });
    await second.close();
    const third = await openJournal({ path });
    expect(third.last(ref)).toBe('dropped');
    await third.close();
  });

  it('forgets only closed grants, the oldest first', async () => {
    const path = join(tempDir(), 'journal.jsonl');
    appendFileSync(path, `${JSON.stringify({ id: 'open', epoch: 1, event: 'started', at: '' })}\n`);
    for (let at = 0; at < 1_500; at += 1)
      appendFileSync(path, `${JSON.stringify({ id: `c${at}`, epoch: 1, event: 'reported', at: '' })}\n`);
    const journal = await openJournal({ path });
    expect(journal.last({ id: 'open', epoch: 1 })).toBe('started');
    expect(journal.last({ id: 'c0', epoch: 1 })).toBeUndefined();
    expect(journal.last({ id: 'c1499', epoch: 1 })).toBe('reported');
    await journal.close();
    expect(readFileSync(path, 'utf8').trim().split('\n')).toHaveLength(1_001);
  });

  it('2.3 takes a line out again that the disk had no room for, so that the next one is whole', async ({
    skip,
  }) => {
    const folder = smallDisk(skip);
    const path = join(folder, 'journal.jsonl');
    const journal = await openJournal({ path });
    await journal.record('offered', ref);
    const { size } = statSync(path);
    const tooLong = { reason: 'x'.repeat(80_000) };
    await expect(journal.record('dropped', ref, tooLong)).rejects.toThrow('ENOSPC');
    expect(statSync(path).size).toBe(size);
    expect(journal.last(ref)).toBe('offered');
    await journal.record('accepted', ref);
    await journal.close();
    const next = await openJournal({ path });
    expect(next.last(ref)).toBe('accepted');
    await next.close();
  });
});
