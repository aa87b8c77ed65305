import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createReadiness, type DiskUse, type Readiness } from './readiness.ts';
import { collectedLog } from '../../test/setup/runner/collected-log.ts';
import { tempDir } from '../../test/setup/runner/temp-dir.ts';

interface Machine {
  readiness: Readiness;
  use: DiskUse;
  outbox: number;
  engine: Error | undefined;
  looks: number;
}

function start(): Machine {
  const machine: Machine = {
    use: { freeMb: 5_000, spoolBytes: 0 },
    outbox: 0,
    engine: undefined,
    looks: 0,
    readiness: createReadiness({
      dataDir: '/nowhere',
      spoolFolder: '/nowhere',
      limits: { minFreeMb: 1_000, maxSpoolMb: 100, maxOutbox: 10 },
      executor: {
        name: 'podman',
        reap: async () => {
          machine.looks += 1;
          if (machine.engine !== undefined) throw machine.engine;
          return await Promise.resolve([]);
        },
      },
      isLive: () => false,
      outboxDepth: () => machine.outbox,
      log: collectedLog(),
      measure: async () => await Promise.resolve({ ...machine.use }),
    }),
  };
  return machine;
}

/** The measured free space is used for 2 s. */
const LATER_MS = 2_001;

describe('readiness', () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ['hrtime', 'Date'] }));
  afterEach(() => void vi.useRealTimers());
  const later = async (machine: Machine, ms = LATER_MS): Promise<string[]> => {
    vi.advanceTimersByTime(ms);
    return await machine.readiness.reasons();
  };

  it('2.13 says how much disk is missing, and goes on only when there is clearly enough again', async () => {
    const machine = start();
    expect(await later(machine)).toEqual([]);
    machine.use.freeMb = 999;
    expect(await later(machine)).toEqual(['disk: 999 MB free, 1100 MB needed']);
    machine.use.freeMb = 1_050;
    expect(await later(machine)).toEqual(['disk: 1050 MB free, 1100 MB needed']);
    machine.use.freeMb = 1_100;
    expect(await later(machine)).toEqual([]);
    machine.use.freeMb = 1_000;
    expect(await later(machine)).toEqual([]);
  });

  it('2.13 looks at the disk of the engine, too, where that is another one', async () => {
    const machine = start();
    machine.use.engineFreeMb = 20;
    expect(await later(machine)).toEqual(['disk of podman: 20 MB free, 1100 MB needed']);
    machine.use.engineFreeMb = 2_000;
    expect(await later(machine)).toEqual([]);
  });

  it('measures another disk by itself, and leaves one out that it cannot look at', async () => {
    const look = async (storageFolder: string): Promise<string[]> => {
      const dataDir = tempDir();
      mkdirSync(join(dataDir, 'spool'));
      const readiness = createReadiness({
        dataDir,
        spoolFolder: join(dataDir, 'spool'),
        // The limit is more than /dev/shm or any disk has, so every disk that is measured is named.
        limits: { minFreeMb: 1_000_000_000, maxSpoolMb: 1, maxOutbox: 1 },
        executor: { name: 'docker', reap: async () => await Promise.resolve([]), storageFolder },
        isLive: () => false,
        outboxDepth: () => 0,
        log: collectedLog(),
      });
      return (await readiness.reasons()).map((reason) => reason.split(':')[0] ?? '');
    };
    expect(await look('/dev/shm')).toEqual(['disk', 'disk of docker']);
    expect(await look(tempDir())).toEqual(['disk']);
    expect(await look('/no/such/folder')).toEqual(['disk']);
  });

  it('takes nothing more while output or results pile up that nobody takes', async () => {
    const machine = start();
    machine.use.spoolBytes = 101 * 1_048_576;
    machine.outbox = 11;
    expect(await later(machine)).toEqual([
      'spool: 101 MB of undelivered output, at most 90 MB to go on',
      'outbox: 11 undelivered results, at most 9 to go on',
    ]);
    machine.use.spoolBytes = 95 * 1_048_576;
    machine.outbox = 10;
    expect(await later(machine)).toHaveLength(2);
    machine.use.spoolBytes = 0;
    machine.outbox = 9;
    expect(await later(machine)).toEqual([]);
  });

  it('calls an engine mended after two good looks in a row, and looks at a broken one more often', async () => {
    const machine = start();
    await machine.readiness.checkEngine();
    machine.engine = new Error('no space left on device');
    vi.advanceTimersByTime(59_999);
    await machine.readiness.checkEngineIfDue();
    expect(machine.looks).toBe(1);
    vi.advanceTimersByTime(1);
    await machine.readiness.checkEngineIfDue();
    const broken = ['engine podman: no space left on device'];
    expect(await machine.readiness.reasons()).toEqual(broken);

    machine.engine = undefined;
    const recheck = async () => {
      vi.advanceTimersByTime(10_000);
      await machine.readiness.checkEngineIfDue();
      return await machine.readiness.reasons();
    };
    expect(await recheck()).toEqual(broken);
    machine.engine = new Error('no space left on device');
    expect(await recheck()).toEqual(broken);
    machine.engine = undefined;
    expect(await recheck()).toEqual(broken);
    expect(await recheck()).toEqual([]);
  });
});
