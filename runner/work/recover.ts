/**
 * Takes over what the last process left: results in the outbox are delivered, all other work that was begun
 * is closed.
 *
 * A task whose daemon died was killed by the reaping before this; nothing is reported for it, because nobody
 * saw how it ended: its lease is given back where the death is proven, or runs out, and the work goes back to
 * the queue. Its output is not sent any more either: an append would renew that lease. The output of a build
 * is sent: a person may have to judge by it what was pushed or deployed, and one renewal only puts the end of
 * the lease off a little.
 */
import type { Deliveries } from './delivery.ts';
import { removeIfThere } from '../disk/durable-file.ts';
import { errorText } from '../platform/errors.ts';
import type { Api } from '../control-plane/api.ts';
import type { Heartbeat } from '../control-plane/heartbeat.ts';
import type { Journal, JournalEntry } from '../disk/journal.ts';
import { LEASES_MAX } from '../control-plane/lease-book.ts';
import { holdLease } from './lease.ts';
import type { Log } from '../platform/log.ts';
import { startLogSender, type LogsOutcome } from '../output/log-sender.ts';
import { listSpools, openSpool, spoolPath, type Spool } from '../output/log-spool.ts';
import type { Outbox, OutboxEntry } from '../disk/outbox.ts';
import type { Presence } from '../control-plane/presence.ts';
import { refKey, type WorkRef } from '../control-plane/work-ref.ts';

export interface RecoverOptions {
  journal: Journal;
  outbox: Outbox;
  spoolFolder: string;
  heartbeat: Heartbeat;
  deliveries: Deliveries;
  api: Pick<Api, 'call'>;
  abandon: AbortSignal;
  presence: Pick<Presence, 'pause'>;
  inContact: () => boolean;
  onPhase: (ref: { id: string; epoch: number }, phase: 'reporting' | undefined) => void;
  log: Log;
}

const DIED = { reason: 'daemon_died' };
const DIED_LINE = Buffer.from("\n==> the runner's daemon died here\n");

/**
 * Closes the work that cannot be resumed; afterwards `redeliver` may be called for the rest. Runs before the
 * first heartbeat. Returns the builds whose output is still to be sent, and the runs.
 */
export async function closeLeftovers(
  options: Pick<RecoverOptions, 'journal' | 'outbox' | 'spoolFolder' | 'log'>,
): Promise<{ builds: WorkRef[]; runs: JournalEntry[] }> {
  const { journal, outbox, log } = options;
  const builds: WorkRef[] = [];
  const runs: JournalEntry[] = [];
  for (const { report } of outbox.entries()) {
    const last = journal.last(report);
    // The process died between the answer and the deletion of the file.
    if (last === 'reported' || last === 'dropped') await outbox.remove(report);
  }
  const waiting = new Set(outbox.entries().map(({ report }) => refKey(report)));
  for (const entry of journal.open()) {
    if (waiting.has(refKey(entry))) continue;
    const { phase } = entry;
    log.warn(
      {
        id: entry.id,
        epoch: entry.epoch,
        last: entry.event,
        ...(phase === undefined ? {} : { phase }),
      },
      phase === 'publishing' || phase === 'deploying'
        ? `the last daemon died during this build while it was ${phase}; it is not done again here, the control plane decides`
        : 'the last daemon died during this work; it goes back to the queue',
    );
    // Builds alone have phases. They stay open until their output has a definite answer: this process may die
    // before it, too.
    if (phase !== undefined) builds.push({ id: entry.id, epoch: entry.epoch });
    else {
      await journal.record('dropped', entry, DIED);
      runs.push(entry);
    }
  }
  const kept = new Set([...waiting, ...builds.map(refKey)]);
  for (const ref of (await listSpools(options.spoolFolder)).refs) {
    if (!kept.has(refKey(ref))) await removeIfThere(spoolPath(options.spoolFolder, ref));
  }
  return { builds, runs };
}

/**
 * Tells the control plane that nothing runs of these any more, so that it does not wait for their leases to
 * run out. A control plane that does not know the word refuses it, and waits. Resolves at a definite answer.
 */
export async function giveBack(
  {
    api,
    bootId,
    signal,
    presence,
    log,
  }: Pick<RecoverOptions, 'presence' | 'log'> & {
    api: Pick<Api, 'callUntilAnswered'>;
    bootId: string;
    signal: AbortSignal;
  },
  runs: readonly WorkRef[],
): Promise<void> {
  if (runs.length === 0) return;
  const givenBack = runs.slice(0, LEASES_MAX).map(({ id, epoch }) => ({ id, epoch }));
  try {
    const options = { signal, presence };
    await api.callUntilAnswered('heartbeat', () => ({ bootId, leases: [], givenBack }), options);
  } catch (error) {
    log.info(
      { problem: errorText(error) },
      'leases of the last process could not be given back, they run out',
    );
  }
}

/** Sends the undelivered output of builds that died with their daemon. Does not wait for the answers. */
export async function sendLeftOutput(
  options: Pick<
    RecoverOptions,
    'journal' | 'spoolFolder' | 'api' | 'abandon' | 'inContact' | 'presence' | 'log'
  >,
  builds: readonly WorkRef[],
): Promise<void> {
  for (const ref of builds) {
    const spool = await openSpool(options.spoolFolder, ref);
    // A process in between may have appended the line already.
    if (!(await endsWith(spool, DIED_LINE))) await spool.append('runner', DIED_LINE);
    await spool.end();
    const sender = startLogSender({
      spool,
      api: options.api,
      kind: 'build',
      log: options.log,
      signal: options.abandon,
      resume: true,
      inContact: options.inContact,
      presence: options.presence,
    });
    void sender.done
      .then(async (outcome) => await closeOutput(options.journal, spool, outcome))
      .catch((error: unknown) =>
        options.log.error(
          { id: ref.id, problem: errorText(error) },
          'the output of a dead build could not be closed, the next start tries again',
        ),
      );
  }
}

async function endsWith(spool: Spool, line: Buffer): Promise<boolean> {
  const { chunks } = await spool.read(Math.max(0, spool.bytes - line.length));
  return Buffer.concat(chunks.map(({ data }) => data)).equals(line);
}

/** Writes the journal first, as with a report. Without a definite answer both stay for the next process. */
async function closeOutput(journal: Journal, spool: Spool, outcome: LogsOutcome): Promise<void> {
  if (outcome === 'stopped') return await spool.close();
  try {
    await journal.record('dropped', spool.ref, DIED);
  } catch (error) {
    await spool.close();
    throw error;
  }
  await spool.remove();
}

/** The delivery of every report in the outbox is resumed. This does not wait for the answers. */
export async function redeliver(options: RecoverOptions): Promise<void> {
  for (const entry of options.outbox.entries()) {
    await redeliverOne(options, entry);
  }
}

async function redeliverOne(options: RecoverOptions, entry: OutboxEntry): Promise<void> {
  const ref = { id: entry.report.id, epoch: entry.report.epoch };
  options.log.info(ref, 'delivering the result of an earlier process');
  options.onPhase(ref, 'reporting');
  const spool = await openSpool(options.spoolFolder, ref);
  await spool.end();
  const lease = holdLease(options.heartbeat, ref, undefined);
  const sender = startLogSender({
    spool,
    api: options.api,
    ...(entry.kind === undefined ? {} : { kind: entry.kind }),
    log: options.log,
    signal: options.abandon,
    resume: true,
    onState: (state, sentMonotonicMs) => lease.update(state, sentMonotonicMs),
    inContact: options.inContact,
    presence: options.presence,
  });
  void options.deliveries
    .deliver({ entry, spool, lease, logs: sender.done })
    .then(() => options.onPhase(ref, undefined));
}
