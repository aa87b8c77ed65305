/**
 * Appends to journals: they hold one JSON object a line, written before `append` resolves, so that what a
 * process knew is in the file whenever it is killed. They are not synced: processes die here, the machine
 * does not. Each file has one writer.
 */
import { closeSync, openSync, readFileSync, writeSync } from 'node:fs';

/** Time at which something happened. */
export interface Stamp {
  /** Milliseconds since 1970: comparable with the database's clock, which runs on the same machine. */
  readonly wall: number;
  /** CLOCK_MONOTONIC in milliseconds: on Linux one clock for all processes of the machine. */
  readonly mono: number;
}

export function stamp(): Stamp {
  return { wall: Date.now(), mono: Number(process.hrtime.bigint() / 1_000n) / 1_000 };
}

export interface Journal<E extends object> {
  /** Stamps the entry now; resolves when it is in the file. */
  append(entry: E): Promise<void>;
  close(): Promise<void>;
}

export function openJournal<E extends object>(path: string): Journal<E> {
  const file = openSync(path, 'a');
  return {
    append: async (entry) => void writeSync(file, `${JSON.stringify({ ...entry, ...stamp() })}\n`),
    close: async () => closeSync(file),
  };
}

/**
 * Returns the entries that are in the file, in order. A torn last line, left by a kill in mid-write, was
 * never acknowledged to its writer and is left out.
 */
export function readJournal<E extends object>(path: string): Array<E & Stamp> {
  const text = readOrEmpty(path);
  const lines = text.split('\n');
  const torn = lines.pop();
  const entries = lines.filter((line) => line !== '').map((line) => parseLine<E>(path, line));
  if (torn !== undefined && torn !== '') entries.push(...tryParse<E>(torn));
  return entries;
}

function parseLine<E extends object>(path: string, line: string): E & Stamp {
  try {
    return JSON.parse(line) as E & Stamp;
  } catch (error) {
    // A writer that was killed left a torn line and its successor wrote behind it: both halves are on one
    // line.
    const last = line.lastIndexOf('{"event":');
    if (last > 0) return JSON.parse(line.slice(last)) as E & Stamp;
    throw new Error(`${path} holds a line that is not JSON: ${line.slice(0, 200)}`, { cause: error });
  }
}

function tryParse<E extends object>(line: string): Array<E & Stamp> {
  try {
    return [JSON.parse(line) as E & Stamp];
  } catch {
    return []; // Torn by a kill.
  }
}

function readOrEmpty(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return '';
    throw error;
  }
}
