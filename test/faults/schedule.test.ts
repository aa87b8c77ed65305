import { describe, expect, it } from 'vitest';
import { describeFault, FAULT_NAMES, ROWS, rowOf, scheduleOf } from './schedule.ts';

const options = {
  seed: 1,
  durationMs: 30_000,
  everyMs: 1_500,
  servers: 2,
  gateways: 2,
  runners: 4,
  leaseMs: 3_000,
};

describe('scheduleOf()', () => {
  it('is the same for the same seed and another for another', () => {
    expect(scheduleOf(options)).toEqual(scheduleOf(options));
    expect(scheduleOf({ ...options, seed: 2 })).not.toEqual(scheduleOf(options));
  });

  it('holds every kind of fault, in order of time, each at a part that exists', () => {
    for (let seed = 0; seed < 50; seed += 1) {
      const faults = scheduleOf({ ...options, seed });
      const kinds = new Set(faults.map(rowOf));
      expect([...kinds].toSorted(), `seed ${seed}`).toEqual([...FAULT_NAMES].toSorted());
      expect(faults.map(({ atMs }) => atMs)).toEqual(
        faults.map(({ atMs }) => atMs).toSorted((a, b) => a - b),
      );
      for (const fault of faults) {
        if (fault.kind === 'freeze') expect(fault.forMs).toBeGreaterThan(options.leaseMs);
        if ('index' in fault)
          expect(fault.index).toBeLessThan('role' in fault && fault.role === 'runner' ? 4 : 2);
        expect(describeFault(fault)).not.toContain('undefined');
      }
    }
  });

  it('reaches every row of the plan by its name', () => {
    for (const row of ROWS) {
      for (let seed = 0; seed < 10; seed += 1) {
        const faults = scheduleOf({ ...options, seed, only: [row] });
        expect(new Set(faults.map(rowOf)), `seed ${seed}`).toEqual(new Set([row]));
        for (const fault of faults) expect(describeFault(fault)).not.toContain('undefined');
      }
    }
  });

  it('kills the parts of a kind in turn', () => {
    const servers = scheduleOf({ ...options, only: ['server'] }).map((fault) =>
      'index' in fault ? fault.index : -1,
    );
    expect(servers.every((index, i) => i === 0 || index !== servers[i - 1])).toBe(true);
  });
});
