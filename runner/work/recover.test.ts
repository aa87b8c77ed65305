import { existsSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Api } from '../control-plane/api.ts';
import { openJournal, type JournalEvent } from '../disk/journal.ts';
import { openSpool, spoolPath } from '../output/log-spool.ts';
import { openOutbox } from '../disk/outbox.ts';
import { closeLeftovers, sendLeftOutput } from './recover.ts';
import { CallError, type Verdict } from '../control-plane/retryable.ts';
import { collectedLog } from '../../test/setup/runner/collected-log.ts';
import { tempDir } from '../../test/setup/runner/temp-dir.ts';
import { waitFor } from '../../test/setup/wait-for.ts';
import type { LogsReply, LogsRequest } from '../control-plane/wire.ts';

const ref = { id: 'bld_1', epoch: 1 };
const WRITTEN = 'pushed sha256:1\n';
const WHOLE = `${WRITTEN}\n==> the runner's daemon died here\n`;

/** Leaves the files of a daemon that died in the middle of a build. */
async function deadDaemon(): Promise<string> {
  const folder = tempDir();
  await mkdir(join(folder, 'spool'));
  const journal = await openJournal({ path: join(folder, 'journal.jsonl') });
  await journal.record('started', ref);
  await journal.record('phase', ref, { phase: 'publishing' });
  await journal.close();
  const spool = await openSpool(join(folder, 'spool'), ref);
  await spool.append('stdout', Buffer.from(WRITTEN));
  await spool.close();
  return folder;
}

type Answer = (request: LogsRequest) => LogsReply | { verdict: Verdict; code: string };

/** Plays the next daemon, until there is nothing more to be done about the output. */
async function nextDaemon(
  folder: string,
  answer: Answer,
): Promise<{ output: string; last: JournalEvent | undefined; kept: boolean }> {
  const log = collectedLog();
  const spoolFolder = join(folder, 'spool');
  const journal = await openJournal({ path: join(folder, 'journal.jsonl') });
  const outbox = await openOutbox({ folder: join(folder, 'outbox'), machineBoot: 'm', log });
  const abandon = new AbortController();
  let output = '';
  let asked = 0;
  const api = {
    async call(_name: string, request: LogsRequest) {
      asked += 1;
      const reply = answer(request);
      if ('verdict' in reply) throw new CallError({ ...reply, message: reply.code });
      output += request.chunks.map(({ data }) => Buffer.from(data, 'base64').toString()).join('');
      return await Promise.resolve({ value: reply, sentMonotonicMs: 1 });
    },
  } as unknown as Pick<Api, 'call'>;
  const options = {
    journal,
    outbox,
    spoolFolder,
    log,
    api,
    abandon: abandon.signal,
    inContact: () => true,
    presence: { pause: async () => undefined },
  };
  await sendLeftOutput(options, (await closeLeftovers(options)).builds);
  await waitFor('an answer', () => asked > 0);
  const kept = () => existsSync(spoolPath(spoolFolder, ref));
  if (answer !== nobody) await waitFor('the end of the output', () => !kept());
  abandon.abort();
  const last = journal.last(ref);
  await journal.close();
  return { output, last, kept: kept() };
}

const sizeOf = ({ chunks }: LogsRequest) =>
  chunks.reduce((sum, { data }) => sum + Buffer.from(data, 'base64').length, 0);
const all: Answer = (request) => ({
  nextOffset: request.offset + sizeOf(request),
  complete: request.end !== undefined,
});
const nobody: Answer = () => ({ verdict: 'retry', code: 'unavailable' });

describe('output of a build that died with its daemon', () => {
  it('is kept by a process that ends before it is answered, and sent by a later one', async () => {
    const folder = await deadDaemon();
    for (const _ of [1, 2])
      expect(await nextDaemon(folder, nobody)).toEqual({ output: '', last: 'phase', kept: true });
    expect(await nextDaemon(folder, all)).toEqual({ output: WHOLE, last: 'dropped', kept: false });
  });

  it('is dropped when the control plane wants no more of it', async () => {
    for (const code of ['stale_epoch', 'validation_failed']) {
      const folder = await deadDaemon();
      const ended = await nextDaemon(folder, () => ({ verdict: 'refused', code }));
      expect(ended).toEqual({ output: '', last: 'dropped', kept: false });
    }
  });
});
