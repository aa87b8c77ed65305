/** Keeps the last warnings and errors of this process for its state file, redacted like the log. */
import { redact, type Log, type LogFields } from '../platform/log.ts';

const KEPT = 10;
const LENGTH_MAX = 500;

export interface Problem {
  at: string;
  level: 'warn' | 'error';
  message: string;
}

export function createProblems() {
  const kept: Problem[] = [];
  const note = (level: Problem['level'], fields: LogFields, message: string): void => {
    const { problem } = fields;
    const text = typeof problem === 'string' ? `${message}: ${problem}` : message;
    kept.push({ at: new Date().toISOString(), level, message: redact(text).slice(0, LENGTH_MAX) });
    if (kept.length > KEPT) kept.shift();
  };
  return {
    /** Returns a log that writes to this one and keeps warnings and errors. */
    listen: (log: Log): Log => ({
      debug: (fields, message) => log.debug(fields, message),
      info: (fields, message) => log.info(fields, message),
      warn(fields, message) {
        note('warn', fields, message);
        log.warn(fields, message);
      },
      error(fields, message) {
        note('error', fields, message);
        log.error(fields, message);
      },
    }),
    /** It returns them, the oldest first. */
    last: () => [...kept],
  };
}

export type Problems = ReturnType<typeof createProblems>;
