import { describe, expect, it } from 'vitest';
import type { Api } from '../control-plane/api.ts';
import { countCalls, createCounters } from './counters.ts';
import { CallError } from '../control-plane/retryable.ts';

describe('counted calls', () => {
  const answers = (answer: object | CallError): Api => {
    const give = async () => {
      await Promise.resolve();
      if (answer instanceof CallError) throw answer;
      return { value: answer, sentMonotonicMs: 0 };
    };
    return {
      call: give,
      async callUntilAnswered(_name: string, body: () => unknown) {
        body();
        return await give();
      },
    } as unknown as Api;
  };
  const failure = (verdict: 'retry' | 'aborted' | 'refused') =>
    new CallError({ verdict, code: verdict, message: verdict });
  const poll = { pollId: 'p', waitMs: 0, slots: 1, leases: [] };
  const report = { id: 'run_1', epoch: 1, reportId: 'report_1', reason: 'exit' as const };

  it('counts polls by kind and result, and does not count what the daemon itself cut short', async () => {
    const counters = createCounters();
    await countCalls(answers({}), counters).call('poll', poll);
    await countCalls(answers({ run: { id: 'run_1', epoch: 1 } }), counters).call('poll', poll);
    await countCalls(answers({ build: { id: 'bld_1', epoch: 1 } }), counters).call('build-poll', poll);
    for (const verdict of ['retry', 'aborted'] as const)
      await expect(countCalls(answers(failure(verdict)), counters).call('poll', poll)).rejects.toThrow();
    expect(counters.all()).toEqual([
      ['polls', { kind: 'run', result: 'empty' }, 1],
      ['polls', { kind: 'run', result: 'offer' }, 1],
      ['offers', { kind: 'run' }, 1],
      ['polls', { kind: 'build', result: 'offer' }, 1],
      ['offers', { kind: 'build' }, 1],
      ['polls', { kind: 'run', result: 'failed' }, 1],
    ]);
  });

  it('counts work by how it ended, and what the control plane refused', async () => {
    const counters = createCounters();
    const ok = countCalls(answers({ accepted: true }), counters);
    await ok.callUntilAnswered('report', () => ({ ...report, exitCode: 0 }));
    await ok.callUntilAnswered('report', () => ({ ...report, exitCode: 3 }));
    await ok.callUntilAnswered('build-report', () => ({ ...report, reason: 'timeout' as const }));
    const refused = countCalls(answers(failure('refused')), counters);
    await expect(refused.callUntilAnswered('report', () => report)).rejects.toThrow();
    expect(counters.all()).toEqual([
      ['work_ended', { kind: 'run', outcome: 'succeeded' }, 1],
      ['work_ended', { kind: 'run', outcome: 'failed' }, 1],
      ['work_ended', { kind: 'build', outcome: 'timeout' }, 1],
      ['work_ended', { kind: 'run', outcome: 'refused' }, 1],
    ]);
  });
});
