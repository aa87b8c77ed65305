import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createLocalQueue } from '@svc/proto/queue/local.ts';
import type { WorkHint, WorkQueue } from '@svc/proto/queue/queue.ts';
import { createHints } from './hints.ts';

const hint = (workId: string, poolId = 'team_a', kind: WorkHint['kind'] = 'run'): WorkHint => ({
  workId,
  poolId,
  kind,
  epoch: 0,
});

describe('createHints()', () => {
  let sent: string[];
  let isUp: boolean;
  let broken: Error | undefined;
  let queue: WorkQueue;
  const errors: unknown[] = [];
  beforeEach(() => {
    vi.useFakeTimers();
    sent = [];
    isUp = true;
    broken = undefined;
    errors.length = 0;
    queue = Object.defineProperty(
      {
        ...createLocalQueue(),
        hint: async ({ workId }: WorkHint) => {
          sent.push(workId);
          if (broken !== undefined) throw broken;
        },
      },
      'up',
      { get: () => isUp },
    );
  });
  afterEach(() => void vi.useRealTimers());
  const create = () => createHints({ queue, onError: (error) => errors.push(error) });

  it('sends the first one of a pool at once, and those that follow while it has no runner together', async () => {
    const hints = create();
    for (const id of ['run_1', 'run_2', 'run_3']) hints.submitted(hint(id));
    expect(sent).toEqual(['run_1']);
    await vi.advanceTimersByTimeAsync(19);
    expect(sent).toEqual(['run_1']);
    await vi.advanceTimersByTimeAsync(1);
    expect(sent).toEqual(['run_1', 'run_2', 'run_3']);
  });

  it('sends each at once where one item comes after the other has its runner, however quickly', () => {
    const hints = create();
    for (const id of ['run_1', 'run_2', 'run_3']) {
      hints.submitted(hint(id));
      hints.granted(id);
    }
    expect(sent).toEqual(['run_1', 'run_2', 'run_3']);
  });

  it('does not send one whose item was granted meanwhile', async () => {
    const hints = create();
    for (const id of ['run_1', 'run_2', 'run_3']) hints.submitted(hint(id));
    hints.granted('run_2');
    hints.granted('run_1'); // sent already
    hints.granted('run_9'); // another server's
    await vi.advanceTimersByTimeAsync(20);
    expect(sent).toEqual(['run_1', 'run_3']);
  });

  it('gathers again after gathered ones, sends at once after a pause, and keeps nothing', async () => {
    const hints = create();
    hints.submitted(hint('run_1'));
    hints.submitted(hint('run_2'));
    await vi.advanceTimersByTimeAsync(20);
    hints.submitted(hint('run_3'));
    expect(sent).toEqual(['run_1', 'run_2']);
    await vi.advanceTimersByTimeAsync(20);
    expect(sent).toEqual(['run_1', 'run_2', 'run_3']);
    await vi.advanceTimersByTimeAsync(20);
    hints.submitted(hint('run_4'));
    expect(sent.at(-1)).toBe('run_4');
    await vi.advanceTimersByTimeAsync(20);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('keeps pools and kinds apart', () => {
    const hints = create();
    hints.submitted(hint('run_1'));
    hints.submitted(hint('run_2', 'team_b'));
    hints.submitted(hint('bld_1', 'team_a', 'build'));
    expect(sent).toEqual(['run_1', 'run_2', 'bld_1']);
  });

  it('leaves them to the relay while the broker is down, and tells of one that failed', async () => {
    const hints = create();
    isUp = false;
    hints.submitted(hint('run_1'));
    hints.submitted(hint('run_2'));
    isUp = true;
    broken = new Error('no broker');
    await vi.advanceTimersByTimeAsync(20);
    expect(sent).toEqual(['run_2']);
    expect(errors).toEqual([broken]);
  });
});
