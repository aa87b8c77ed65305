/**
 * Reads the logs of Dokku's own nginx, of which its commands print the newest lines. What a look has printed
 * is found again at the beginning of the next one: what stands behind it is new. The first look of a process
 * finds nothing new. Requests are not counted, because nobody knows how many lines came between two looks.
 */
import type { Clock } from '@svc/proto/process/clock.ts';
import type { LogBatch, LogKind } from '../edge/logs/edge-logs.ts';
import { AGENT_CHARS_MAX, ERROR, ERROR_CHARS_MAX, METHOD_CHARS_MAX } from '../edge/logs/line.ts';
import { networkOf, printable, redactedError, withoutQuery } from '../edge/logs/redact.ts';

const EVERY_MS = 60_000;
const LINES_MAX = 200;
const KINDS = ['access', 'error'] as const;

export interface DokkuApp {
  readonly environmentId: string;
  readonly app: string;
}

/** Prints both logs of an app; undefined for one that is not of the environment, or cannot be asked for. */
export type PrintOf = (app: DokkuApp) => Promise<Readonly<Record<LogKind, string>> | undefined>;

interface Taken {
  readonly seq: number;
  readonly batches: LogBatch[];
}

export function createDokkuLogs(print: PrintOf, apps: () => readonly DokkuApp[], clock: Clock) {
  const seen = new Map<string, readonly string[]>();
  let atMs = Number.NEGATIVE_INFINITY;
  let taken: Taken | undefined;
  const news = (environmentId: string, kind: LogKind, printed: string): LogBatch[] => {
    const key = `${environmentId} ${kind}`;
    const lines = printed.split('\n').filter((line) => line !== '');
    const fresh = behind(seen.get(key) ?? lines, lines);
    seen.set(key, lines);
    const read = fresh.slice(-LINES_MAX).flatMap((line) => LINE_OF[kind](line) ?? []);
    const dropped = fresh.length - read.length;
    return fresh.length === 0 ? [] : [{ environmentId, kind, lines: read, dropped, minutes: [] }];
  };
  return {
    async take(): Promise<Taken | undefined> {
      if (taken !== undefined || clock.monotonicMs() < atMs) return taken;
      atMs = clock.monotonicMs() + EVERY_MS;
      const batches: LogBatch[] = [];
      for (const app of apps()) {
        const printed = await print(app);
        if (printed === undefined) continue;
        for (const kind of KINDS) batches.push(...news(app.environmentId, kind, printed[kind]));
      }
      // Numbers rise over restarts, since there are minutes between two looks.
      if (batches.length > 0) taken = { seq: Math.floor(clock.now().getTime() / 1_000), batches };
      return taken;
    },
    confirm(seq: number): Promise<void> {
      if (taken?.seq === seq) taken = undefined;
      return Promise.resolve();
    },
  };
}

/** Returns the lines behind those that end the former ones and begin the latter. */
export function behind(before: readonly string[], after: readonly string[]): readonly string[] {
  for (let count = Math.min(before.length, after.length); count > 0; count -= 1) {
    const start = before.length - count;
    if (after.slice(0, count).every((line, n) => line === before[start + n])) return after.slice(count);
  }
  return after;
}

/**
 * Format `combined` of nginx, which escapes quotes in what a visitor sent. Nothing in it can be read in two
 * ways: a visitor writes the rest of the line, and would choose one that takes long.
 */
const COMBINED = /^(\S+) - [^[]* \[([^\]]{1,40})\] "([^"]*)" (\d{3}) (\d+) "[^"]*" "([^"]*)"$/;
/** `28/Nov/2026:20:15:42 +0000` */
const TIME = /^(\d\d)\/(\w{3})\/(\d{4}):(\d\d:\d\d:\d\d ([+-]\d{4}))$/;

const LINE_OF = {
  access: (text: string) => {
    const [, remote = '', time = '', request = '', status, bytes, agent = ''] = COMBINED.exec(text) ?? [];
    const at = Date.parse(time.replace(TIME, '$1 $2 $3 $4'));
    if (Number.isNaN(at)) return undefined;
    const [method = '', path = ''] = request.split(' ');
    return {
      at: new Date(at).toISOString(),
      remote: networkOf(remote),
      method: printable(method, METHOD_CHARS_MAX),
      path: withoutQuery(path),
      status: Number(status),
      bytes: Number(bytes),
      userAgent: printable(agent, AGENT_CHARS_MAX),
    };
  },
  error: (text: string) => {
    const [, year, month, day, time, level = '', rest = ''] = ERROR.exec(text) ?? [];
    // It is the time of the machine, on which this runs.
    const at = Date.parse(`${year}-${month}-${day}T${time}`);
    if (Number.isNaN(at)) return undefined;
    return { at: new Date(at).toISOString(), level, text: redactedError(rest, ERROR_CHARS_MAX) };
  },
};
