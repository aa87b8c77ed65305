/**
 * The queue within one process, for a server and a gateway that share it. The same promises as the broker's: bounded, hints may be dropped, a consumer that stops
 * leaves what it did not take. Nothing survives the process; the relay fills it again from the database.
 */
import type { ControlEvent, QueueLog, WorkHint, WorkKind, WorkQueue } from './queue.ts';

/** Hints of one pool and kind; the oldest gives way, as at the broker. */
const LENGTH_MAX = 10_000;
/** Deliveries to one consumer at once. */
const PARALLEL_MAX = 8;

interface Reader {
  readonly onHint: (hint: WorkHint) => Promise<void>;
  readonly running: Set<Promise<void>>;
}

interface Line {
  readonly hints: WorkHint[];
  readonly readers: Reader[];
  turn: number;
}

export function createLocalQueue(log?: QueueLog): WorkQueue {
  const lines = new Map<string, Line>();
  const controlListeners = new Set<(event: ControlEvent) => void>();
  let closed = false;
  const lineOf = (poolId: string, kind: WorkKind): Line => {
    const key = `${kind} ${poolId}`;
    const line = lines.get(key) ?? { hints: [], readers: [], turn: 0 };
    lines.set(key, line);
    return line;
  };

  return {
    hint: async (hint) => {
      if (closed) throw new Error('the queue is closed');
      const line = lineOf(hint.poolId, hint.kind);
      if (line.hints.length >= LENGTH_MAX) line.hints.shift();
      line.hints.push(hint);
      // In a turn of its own, as from a broker: the submitter goes on first.
      setImmediate(() => pump(line, log));
    },
    consume: async (poolId, kind, onHint) => {
      const line = lineOf(poolId, kind);
      const reader: Reader = { onHint, running: new Set() };
      line.readers.push(reader);
      setImmediate(() => pump(line, log));
      return {
        stop: async () => {
          const at = line.readers.indexOf(reader);
          if (at >= 0) line.readers.splice(at, 1);
          await Promise.allSettled(reader.running);
          if (line.readers.length === 0 && line.hints.length === 0) lines.delete(`${kind} ${poolId}`);
        },
      };
    },
    publishControl: async (event) => {
      for (const listener of controlListeners) listener(event);
    },
    onControl: (listener) => {
      controlListeners.add(listener);
      return () => void controlListeners.delete(listener);
    },
    get up() {
      return !closed;
    },
    onUp: () => () => undefined,
    close: async () => {
      closed = true;
      lines.clear();
    },
  };
}

/** Hands out what waits, as far as readers have room. */
function pump(line: Line, log: QueueLog | undefined): void {
  for (let reader = freeReader(line); reader !== undefined; reader = freeReader(line)) {
    const hint = line.hints.shift();
    if (hint === undefined) return;
    const { running } = reader;
    const done = deliver(reader, hint, log);
    running.add(done);
    void done.finally(() => {
      running.delete(done);
      pump(line, log);
    });
  }
}

/** The next reader in turn that has room. */
function freeReader(line: Line): Reader | undefined {
  for (let i = 0; i < line.readers.length; i += 1) {
    line.turn = (line.turn + 1) % line.readers.length;
    const reader = line.readers[line.turn];
    if (reader !== undefined && reader.running.size < PARALLEL_MAX) return reader;
  }
  return undefined;
}

async function deliver(reader: Reader, hint: WorkHint, log: QueueLog | undefined): Promise<void> {
  try {
    await reader.onHint(hint);
  } catch (error) {
    log?.warn({ err: error, workId: hint.workId }, 'a hint was not handled');
  }
}
