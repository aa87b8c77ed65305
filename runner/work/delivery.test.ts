import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Api } from '../control-plane/api.ts';
import { createDeliveries } from './delivery.ts';
import { openJournal, type JournalEvent } from '../disk/journal.ts';
import type { Lease } from './lease.ts';
import type { LogsOutcome } from '../output/log-sender.ts';
import { openSpool } from '../output/log-spool.ts';
import { openOutbox } from '../disk/outbox.ts';
import { CallError } from '../control-plane/retryable.ts';
import { collectedLog } from '../../test/setup/runner/collected-log.ts';
import { tempDir } from '../../test/setup/runner/temp-dir.ts';
import type { ReportReply, ReportRequest, WorkKind } from '../control-plane/wire.ts';

const result = { id: 'w_1', epoch: 1, reportId: 'report-0001', reason: 'exit', exitCode: 1 } as const;

interface Delivered {
  sent: { call: string; body: ReportRequest }[];
  last: JournalEvent | undefined;
  left: number;
}

/** Delivers one result; an answer that is a string is the code of a refusal. */
async function deliver(
  what: { kind?: WorkKind; logs?: LogsOutcome; message?: string },
  ...answers: (string | ReportReply)[]
): Promise<Delivered> {
  const folder = tempDir();
  const log = collectedLog();
  const journal = await openJournal({ path: join(folder, 'journal.jsonl') });
  const outbox = await openOutbox({ folder: join(folder, 'outbox'), machineBoot: 'm', log });
  const message = what.message === undefined ? {} : { message: what.message };
  const entry = await outbox.put({ ...result, ...message }, what.kind);
  const sent: Delivered['sent'] = [];
  const api = {
    async callUntilAnswered(call: string, body: () => ReportRequest) {
      sent.push({ call, body: body() });
      const answer = answers[sent.length - 1] ?? 'more calls than answers';
      if (typeof answer === 'string')
        throw new CallError({ verdict: 'refused', code: answer, message: answer });
      return await Promise.resolve({ value: answer, sentMonotonicMs: 1 });
    },
  } as unknown as Pick<Api, 'callUntilAnswered'>;
  const deliveries = createDeliveries({
    api,
    outbox,
    journal,
    machineBoot: 'm',
    signal: new AbortController().signal,
    presence: { pause: async () => undefined },
    onFatal: () => undefined,
    log,
  });
  const spool = await openSpool(folder, result);
  const lease = { release: () => undefined } as Lease;
  await deliveries.deliver({ entry, spool, lease, logs: Promise.resolve(what.logs ?? 'complete') });
  await journal.close();
  return { sent, last: journal.last(result), left: outbox.depth };
}

describe('deliver()', () => {
  it('sends a result once more without its message when the control plane refuses it as invalid', async () => {
    const { sent, last, left } = await deliver({ message: 'odd text' }, 'validation_failed', {
      accepted: true,
    });
    expect(sent.map(({ body }) => body.message)).toEqual(['odd text', undefined]);
    expect(sent[1]?.body).toMatchObject(result);
    expect(sent[1]?.body).not.toHaveProperty('message');
    expect([last, left]).toEqual(['reported', 0]);
  });

  it('does not send a result again that is invalid without a message, or refused for another reason', async () => {
    expect((await deliver({}, 'validation_failed')).sent).toHaveLength(1);
    expect((await deliver({ message: 'text' }, 'stale_epoch')).sent).toHaveLength(1);
    const twice = await deliver({ message: 'text' }, 'validation_failed', 'validation_failed');
    expect([twice.sent.length, twice.last, twice.left]).toEqual([2, 'dropped', 0]);
  });

  it('reports a build whose grant is over: the control plane keeps the late report', async () => {
    const { sent, last, left } = await deliver({ kind: 'build', logs: 'superseded' }, 'stale_epoch');
    expect(sent.map(({ call }) => call)).toEqual(['build-report']);
    expect([last, left]).toEqual(['dropped', 0]);
  });

  it('does not report a run whose grant is over', async () => {
    const { sent, last, left } = await deliver({ kind: 'run', logs: 'superseded' });
    expect([sent, last, left]).toEqual([[], 'dropped', 0]);
  });
});
