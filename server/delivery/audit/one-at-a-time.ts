/**
 * Long work that reads much: one of a name at a time, few of all names, and each done once for all who wait
 * for the same answer. Who comes while one is at work waits for the next, because what it has read already
 * may be older than their question.
 *
 * State: of each name the end of its line, and what waits in it by question. Work is aborted when the last
 * who asked for it has left.
 */
import { unlessAborted } from '@svc/proto/http/abort.ts';
import { tooMany } from '../../base/rate-limit.ts';

export interface Question {
  readonly name: string;
  /** Equal questions that wait share their answer. */
  readonly question: string;
  readonly signal: AbortSignal;
}

export type OneAtATime = <T>(asked: Question, work: (signal: AbortSignal) => Promise<T>) => Promise<T>;

interface Shared {
  readonly answer: Promise<unknown>;
  readonly abandoned: AbortController;
  callers: number;
}

interface Line {
  end: Promise<unknown>;
  readonly waiting: Map<string, Shared>;
}

/** Work at once, of all names. Each reads the files of checkpoints and the database. */
const AT_WORK_MAX = 2;
/** Different questions that wait under one name. */
const WAITING_MAX = 8;
const RETRY_MS = 10_000;

export function createOneAtATime(): OneAtATime {
  const lines = new Map<string, Line>();
  const places = createPlaces(AT_WORK_MAX);

  const begin = <T>({ name, question }: Question, work: (signal: AbortSignal) => Promise<T>): Shared => {
    const line = lines.get(name) ?? { end: Promise.resolve(), waiting: new Map<string, Shared>() };
    lines.set(name, line);
    const known = line.waiting.get(question);
    if (known !== undefined) return known;
    if (line.waiting.size >= WAITING_MAX)
      throw tooMany(`${line.waiting.size} verifications of this ledger wait already`, RETRY_MS);
    const abandoned = new AbortController();
    const before = line.end;
    const answer = before.then(async () => {
      const leave = await places();
      line.waiting.delete(question);
      try {
        abandoned.signal.throwIfAborted();
        return await work(abandoned.signal);
      } finally {
        leave();
      }
    });
    const shared: Shared = { answer, abandoned, callers: 0 };
    line.waiting.set(question, shared);
    const end = answer.then(
      () => undefined,
      () => undefined, // told to those who asked
    );
    line.end = end;
    void end.then(() => {
      if (line.end === end) lines.delete(name);
    });
    return shared;
  };

  return async <T>(asked: Question, work: (signal: AbortSignal) => Promise<T>): Promise<T> => {
    const shared = begin(asked, work);
    shared.callers += 1;
    try {
      return (await unlessAborted(shared.answer, asked.signal)) as T;
    } finally {
      shared.callers -= 1;
      if (shared.callers === 0) {
        shared.abandoned.abort(asked.signal.reason);
        const line = lines.get(asked.name);
        // Whoever comes now must not be given what nobody waits for any more.
        if (line?.waiting.get(asked.question) === shared) line.waiting.delete(asked.question);
      }
    }
  };
}

/** Resolves with how the place is given back. */
function createPlaces(max: number): () => Promise<() => void> {
  let taken = 0;
  const waiting: Array<() => void> = [];
  const leave = (): void => {
    const next = waiting.shift();
    if (next === undefined) taken -= 1;
    else next();
  };
  return async () => {
    if (taken < max) taken += 1;
    else await new Promise<void>((resolve) => waiting.push(resolve));
    return leave;
  };
}
