import { readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { openOutbox, readMachineBoot, waitedMs } from './outbox.ts';
import { collectedLog } from '../../test/setup/runner/collected-log.ts';
import { tempDir } from '../../test/setup/runner/temp-dir.ts';
import { TIMED } from '../../test/setup/timed.ts';

const report = { id: 'run_1', epoch: 2, reportId: 'report-0001', reason: 'exit', exitCode: 0 } as const;

describe('outbox', () => {
  it('2.10 keeps a report across restarts until it is removed', async () => {
    const folder = join(tempDir(), 'outbox');
    const options = { folder, machineBoot: readMachineBoot(), log: collectedLog() };
    await (await openOutbox(options)).put(report);
    const second = await openOutbox(options);
    expect(second.entries().map((entry) => entry.report)).toEqual([report]);
    expect(statSync(join(folder, 'run_1-2.json')).mode & 0o777).toBe(0o600);
    await second.remove(report);
    expect(second.depth).toBe(0);
    expect(readdirSync(folder)).toEqual([]);
  });

  it('sets an unreadable report aside and keeps the others', async () => {
    const folder = join(tempDir(), 'outbox');
    const log = collectedLog();
    const options = { folder, machineBoot: 'm', log };
    await (await openOutbox(options)).put(report);
    writeFileSync(join(folder, 'run_9-1.json'), '{"report":');
    expect((await openOutbox(options)).depth).toBe(1);
    expect(log.lines).toHaveLength(1);
    expect(readdirSync(folder).sort()).toEqual(['run_1-2.json', 'run_9-1.json.unreadable']);
  });

  it('tells how long a report waited, never a negative time', TIMED, async () => {
    const outbox = await openOutbox({
      folder: join(tempDir(), 'outbox'),
      machineBoot: 'before',
      log: collectedLog(),
    });
    const entry = await outbox.put(report);
    expect(waitedMs(entry, 'before')).toBeLessThan(1_000);
    expect(
      waitedMs({ ...entry, putMonotonicMs: entry.putMonotonicMs - 5_000 }, 'before'),
    ).toBeGreaterThanOrEqual(5_000);
    expect(waitedMs({ ...entry, putAtMs: Date.now() + 3_600_000 }, 'after a reboot with a wrong clock')).toBe(
      0,
    );
  });
});
