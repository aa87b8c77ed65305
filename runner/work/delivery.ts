/**
 * Delivers ended work: its last output, then its result, then the end of the lease, in this order, because
 * the control plane may take no more output of a run after its report.
 *
 *   in the outbox → output delivered → report answered → journal `reported` | `dropped` → files deleted,
 *   lease released
 *
 * Each delivery repeats until it has a definite answer, however long that takes. When the process ends first,
 * the outbox holds it for the next one.
 */
import type { Api } from '../control-plane/api.ts';
import { monotonicMs, pause } from '../platform/clock.ts';
import { errorText } from '../platform/errors.ts';
import type { Journal } from '../disk/journal.ts';
import type { Lease } from './lease.ts';
import type { Log } from '../platform/log.ts';
import type { LogsOutcome } from '../output/log-sender.ts';
import type { Spool } from '../output/log-spool.ts';
import { type Outbox, type OutboxEntry, waitedMs } from '../disk/outbox.ts';
import type { Presence } from '../control-plane/presence.ts';
import { CallError, type FinalRefusal } from '../control-plane/retryable.ts';
import { createSlots } from './slots.ts';
import { WORK_CALLS } from '../control-plane/wire.ts';

/** The limit keeps a full outbox from reaching the control plane all at once after a long outage. */
const DELIVERIES_AT_ONCE = 8;
const MESSAGE_LENGTH_MAX = 2_000;

export interface DeliveryItem {
  entry: OutboxEntry;
  spool: Spool;
  lease: Lease;
  /** The outcome of sending the output. */
  logs: Promise<LogsOutcome>;
}

export interface DeliveryOptions {
  api: Pick<Api, 'callUntilAnswered'>;
  outbox: Outbox;
  journal: Journal;
  machineBoot: string;
  /** Aborted when the process has no more time: undelivered results stay in the outbox. */
  signal: AbortSignal;
  /** Waits at most until the control plane serves runners again. */
  presence: Pick<Presence, 'pause'>;
  onFatal: (refusal: FinalRefusal) => void;
  log: Log;
}

export function createDeliveries(options: DeliveryOptions) {
  const turns = createSlots(DELIVERIES_AT_ONCE);
  const pending = new Set<Promise<void>>();
  return {
    /** Never rejects; resolves when the item is delivered, dropped or left for the next process. */
    async deliver(item: DeliveryItem) {
      const delivery = deliverOne(options, turns, item).catch((error: unknown) => {
        options.log.error(
          { id: item.entry.report.id, problem: errorText(error) },
          'a result could not be handled, it stays in the outbox',
        );
      });
      pending.add(delivery);
      await delivery;
      pending.delete(delivery);
    },
    get pending() {
      return pending.size;
    },
    /** Resolves when nothing is pending, or after `ms`. */
    async settle(ms: number) {
      const deadline = monotonicMs() + ms;
      while (pending.size > 0 && monotonicMs() < deadline) {
        const patience = new AbortController();
        await Promise.race([Promise.all(pending), pause(deadline - monotonicMs(), patience.signal)]);
        patience.abort();
      }
    },
  };
}

export type Deliveries = ReturnType<typeof createDeliveries>;

async function deliverOne(
  options: DeliveryOptions,
  turns: ReturnType<typeof createSlots>,
  item: DeliveryItem,
): Promise<void> {
  const outcome = await item.logs;
  if (outcome === 'stopped' || !(await turns.take(options.signal))) return await leave(item);
  try {
    // A run whose grant is over belongs to somebody else. A build may have pushed or deployed already: the
    // control plane keeps its late report.
    const skipped = outcome === 'superseded' && item.entry.kind !== 'build';
    const dropped = skipped ? 'superseded' : await deliverReport(options, item, outcome);
    if (dropped === 'left') return await leave(item);
    await close(options, item, dropped);
  } finally {
    turns.release();
  }
}

/**
 * Returns undefined when the report was accepted, now or by an earlier call; `left` without a definite
 * answer; otherwise the code of the refusal. A report that breaks a rule of the contract is sent once more
 * without its message, so that a message cannot cost the result.
 */
async function deliverReport(
  options: DeliveryOptions,
  item: DeliveryItem,
  logs: LogsOutcome,
): Promise<string | undefined> {
  const { entry } = item;
  const { id } = entry.report;
  const note = logs === 'refused' ? { message: withNote(entry.report.message) } : {};
  const report: OutboxEntry['report'] = { ...entry.report, ...note };
  const first = await sendReport(options, entry, report);
  if (first !== 'validation_failed' || report.message === undefined) return first;
  options.log.warn({ id, message: report.message }, 'the result is sent once more, without its message');
  const { message: _message, ...plain } = report;
  return await sendReport(options, entry, plain);
}

async function sendReport(
  options: DeliveryOptions,
  entry: OutboxEntry,
  report: OutboxEntry['report'],
): Promise<string | undefined> {
  const { id, epoch } = report;
  // The state of the lease does not count any more: the task is dead, and only the answer to the report is
  // definite.
  try {
    const { value } = await options.api.callUntilAnswered(
      WORK_CALLS[entry.kind ?? 'run'].report,
      () => ({ ...report, waitedMs: waitedMs(entry, options.machineBoot) }),
      {
        signal: options.signal,
        presence: options.presence,
        onFailure(failure, failures) {
          if (failures === 1)
            options.log.warn(
              { id, problem: failure.message },
              'the result cannot be delivered, trying again',
            );
        },
      },
    );
    options.log.info(
      { id, epoch, reason: report.reason, accepted: value.accepted === true },
      'result delivered',
    );
    return value.accepted === true ? undefined : 'not_accepted';
  } catch (error) {
    if (!(error instanceof CallError)) throw error;
    const { verdict, code, message } = error.failure;
    if (verdict === 'refused') {
      options.log.warn({ id, epoch, problem: message }, 'the result was refused');
      return code;
    }
    if (verdict === 'revoked' || verdict === 'boot_superseded') options.onFatal({ verdict, message });
    return 'left';
  }
}

/**
 * Writes the journal first: when the process dies in between, the next one finds the outbox file of a closed
 * grant and deletes it.
 */
async function close(
  options: DeliveryOptions,
  item: DeliveryItem,
  dropped: string | undefined,
): Promise<void> {
  const { report: sent } = item.entry;
  await options.journal
    .record(
      dropped === undefined ? 'reported' : 'dropped',
      sent,
      dropped === undefined ? { reportId: sent.reportId } : { reason: dropped },
    )
    .catch((error: unknown) =>
      options.log.error({ id: sent.id, problem: errorText(error) }, 'the journal cannot be written'),
    );
  await options.outbox.remove(sent);
  await item.spool.remove();
  item.lease.release();
}

/** The files stay for the next process; the lease stays named until this one ends. */
async function leave(item: DeliveryItem): Promise<void> {
  await item.spool.close();
}

function withNote(message: string | undefined): string {
  const note = 'the output is incomplete: the control plane refused a part of it';
  return (message === undefined ? note : `${message}; ${note}`).slice(0, MESSAGE_LENGTH_MAX);
}
