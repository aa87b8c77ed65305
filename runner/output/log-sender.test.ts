import { appendFileSync } from 'node:fs';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { Api } from '../control-plane/api.ts';
import { startLogSender, type LogSenderOptions } from './log-sender.ts';
import { openSpool, spoolPath, type Spool } from './log-spool.ts';
import { CallError, type Failure } from '../control-plane/retryable.ts';
import { collectedLog, type CollectedLog } from '../../test/setup/runner/collected-log.ts';
import { tempDir } from '../../test/setup/runner/temp-dir.ts';
import { waitFor } from '../../test/setup/wait-for.ts';
import type { LogsReply, LogsRequest } from '../control-plane/wire.ts';
import { TIMED } from '../../test/setup/timed.ts';

interface Bench {
  spool: Spool;
  calls: LogsRequest[];
  log: CollectedLog;
  options: LogSenderOptions;
  stop: AbortController;
}

async function bench(answer: (request: LogsRequest, call: number) => LogsReply | Failure): Promise<Bench> {
  const spool = await openSpool(tempDir(), { id: 'run_1', epoch: 1 });
  const calls: LogsRequest[] = [];
  const log = collectedLog();
  const stop = new AbortController();
  onTestFinished(() => stop.abort());
  const api = {
    call: async (_name: string, request: LogsRequest) => {
      calls.push(request);
      const reply = answer(request, calls.length);
      if ('verdict' in reply) throw new CallError(reply);
      return await Promise.resolve({ value: reply, sentMonotonicMs: 1 });
    },
  } as unknown as Pick<Api, 'call'>;
  return { spool, calls, log, stop, options: { spool, api, log, signal: stop.signal } };
}

const sizeOf = (request: LogsRequest) =>
  request.chunks.reduce((sum, chunk) => sum + Buffer.from(chunk.data, 'base64').length, 0);
const stored = (request: LogsRequest): LogsReply => ({
  nextOffset: request.offset + sizeOf(request),
  complete: request.end !== undefined,
  state: 'ok',
});
const failure = (verdict: Failure['verdict'], code: string, details?: Record<string, unknown>): Failure => ({
  verdict,
  code,
  message: code,
  ...(details === undefined ? {} : { details }),
});

describe('log sender', () => {
  it('sends a full batch at once and collects small output for a moment', TIMED, async () => {
    const { spool, calls, options } = await bench(stored);
    const sender = startLogSender(options);
    for (let at = 0; at < 20; at += 1) await spool.append('stdout', Buffer.from(`line ${at}\n`));
    await waitFor('the first call', () => calls.length === 1);
    expect(sizeOf(calls[0] as LogsRequest)).toBe(spool.bytes);
    const begunMs = performance.now();
    await spool.append('stdout', Buffer.alloc(300_000, 'x'));
    await waitFor('the batch', () => calls.length === 2);
    expect(performance.now() - begunMs).toBeLessThan(500);
    await spool.end();
    expect(await sender.done).toBe('complete');
  });

  it('delivers the end of a run without output', async () => {
    const { spool, calls, options } = await bench(stored);
    const sender = startLogSender(options);
    await spool.end();
    expect(await sender.done).toBe('complete');
    expect(calls).toMatchObject([{ offset: 0, chunks: [], end: { bytes: 0 } }]);
  });

  it('asks how much is stored before it goes on with the spool of an earlier process', async () => {
    const { spool, calls, options } = await bench((request) =>
      request.chunks.length === 0 && request.end === undefined ? { nextOffset: 4 } : stored(request),
    );
    await spool.append('stdout', Buffer.from('abcdefgh'));
    await spool.end();
    expect(await startLogSender({ ...options, resume: true }).done).toBe('complete');
    expect(calls.map((call) => [call.offset, sizeOf(call)])).toEqual([
      [0, 0],
      [4, 4],
    ]);
  });

  it('ends when the epoch is over', async () => {
    const { spool, options } = await bench(() => failure('refused', 'stale_epoch'));
    await spool.append('stdout', Buffer.from('x'));
    expect(await startLogSender(options).done).toBe('superseded');
  });

  it('2.3 sends everything again once when the digest differs, and then says that output is missing', async () => {
    const { spool, calls, log, options } = await bench((request) =>
      request.end === undefined
        ? stored(request)
        : failure('refused', 'log_digest_mismatch', { nextOffset: 0 }),
    );
    await spool.append('stdout', Buffer.from('abc'));
    await spool.end();
    expect(await startLogSender(options).done).toBe('refused');
    expect(calls.filter((call) => call.offset === 0 && sizeOf(call) === 3)).toHaveLength(2);
    expect(log.lines.at(-1)).toMatchObject({ level: 'error', message: 'output is not delivered' });
  });

  it('does not send the same bytes for ever to a store that takes nothing', async () => {
    const { spool, calls, options } = await bench(() => ({ nextOffset: 0, state: 'ok' }));
    await spool.append('stdout', Buffer.from('abc'));
    await spool.end();
    expect(await startLogSender(options).done).toBe('refused');
    expect(calls.length).toBeLessThan(30);
  });

  it('passes on what the control plane says of the lease', async () => {
    const { spool, options } = await bench((request) => ({ ...stored(request), state: 'cancelled' }));
    const states: string[] = [];
    await spool.append('stdout', Buffer.from('x'));
    await spool.end();
    await startLogSender({ ...options, onState: (state) => void states.push(state) }).done;
    expect(states).toEqual(['cancelled']);
  });

  it('stops at once when it is told to, also while it waits to try again', async () => {
    const { spool, calls, options, stop } = await bench(() => ({
      ...failure('retry', 'unavailable'),
      retryAfterMs: 60_000,
    }));
    await spool.append('stdout', Buffer.from('x'));
    const sender = startLogSender(options);
    await waitFor('the failure', () => calls.length === 1);
    stop.abort();
    expect(await sender.done).toBe('stopped');
    expect(sender.acknowledged).toBe(0);
  });

  it('leaves alone what the control plane has when this machine lost its own copy, and says that output may be missing', async () => {
    const { spool, calls, options } = await bench((request) => ({
      nextOffset: Math.max(90, request.offset + sizeOf(request)),
      state: 'ok',
    }));
    await spool.append('stdout', Buffer.from('all that is left'));
    await spool.end();
    expect(await startLogSender({ ...options, resume: true }).done).toBe('refused');
    expect(calls.map((call) => [call.offset, call.end])).toEqual([
      [0, undefined],
      [90, undefined],
    ]);
    expect(calls[1]?.chunks).toMatchObject([{ stream: 'runner', missingBytes: 1 }]);
  });

  it('tells how many bytes are missing, as a number', async () => {
    const folder = tempDir();
    const { calls, options } = await bench(stored);
    appendFileSync(spoolPath(folder, { id: 'run_1', epoch: 1 }), Buffer.alloc(25, 0xff));
    const spool = await openSpool(folder, { id: 'run_1', epoch: 1 });
    await spool.append('stdout', Buffer.from('after'));
    await spool.end();
    expect(await startLogSender({ ...options, spool }).done).toBe('complete');
    expect(calls[0]?.chunks).toMatchObject([{ stream: 'runner', missingBytes: 20 }, { stream: 'stdout' }]);
  });
});
