/**
 * Makes the daemon's own log: JSON lines on standard error, or short lines for people when that is a
 * terminal.
 *
 * It never holds a key, a token or a value of a task's environment: callers pass chosen fields only, and
 * whatever looks like a credential is redacted when a line is written.
 *
 */
import { pino, type DestinationStream } from 'pino';

export type LogFields = Readonly<Record<string, unknown>>;

export interface Log {
  debug(fields: LogFields, message: string): void;
  info(fields: LogFields, message: string): void;
  warn(fields: LogFields, message: string): void;
  error(fields: LogFields, message: string): void;
}

export type LogLevel = keyof Log | 'silent';
export const LOG_LEVELS: readonly LogLevel[] = ['debug', 'info', 'warn', 'error', 'silent'];

export interface LogOptions {
  level: LogLevel;
  /** Lines for people instead of JSON. */
  human: boolean;
  write: (text: string) => void;
}

export function createLog(options: LogOptions): Log {
  const destination: DestinationStream = {
    write: (line) => options.write(redact(options.human ? humanLine(line) : line)),
  };
  return pino({ level: options.level, base: {}, timestamp: pino.stdTimeFunctions.isoTime }, destination);
}

/** A log that keeps nothing. */
export const SILENT: Log = pino({ level: 'silent' });

/** Enrollment tokens, private keys, bearer credentials and passwords inside of URLs. */
const CREDENTIALS: readonly (readonly [RegExp, string])[] = [
  [/\benr_[A-Za-z0-9_-]{4,}/g, 'enr_***'],
  [/-----BEGIN [A-Z ]*PRIVATE KEY-----.*?-----END [A-Z ]*PRIVATE KEY-----/gs, '***'],
  [/\b(Bearer|Basic) [A-Za-z0-9._~+/=-]{8,}/gi, '$1 ***'],
  [/(\/\/[^/\s:@"]*):[^/\s@"]+@/g, '$1:***@'],
];

export function redact(text: string): string {
  return CREDENTIALS.reduce((kept, [pattern, mask]) => kept.replace(pattern, mask), text);
}

const LEVEL_WORDS: Readonly<Record<number, string>> = { 20: 'debug', 30: 'info ', 40: 'warn ', 50: 'error' };

function humanLine(line: string): string {
  const { time, level, msg, ...fields } = JSON.parse(line) as Record<string, unknown>;
  const clock = String(time).slice(11, 19);
  const rest = Object.entries(fields).map(
    ([name, value]) => ` ${name}=${typeof value === 'string' ? value : JSON.stringify(value)}`,
  );
  return `${clock} ${LEVEL_WORDS[Number(level)] ?? level} ${String(msg)}${rest.join('')}\n`;
}
