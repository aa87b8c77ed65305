/** The gateway's log: one JSON line an event on standard error. Nothing it logs is a secret; what libraries add is scrubbed. */
import { pino, type Logger } from 'pino';

/** Passwords in URLs, bearer tokens and enrollment tokens, wherever an error text carries them. */
const SECRET_SHAPES: readonly (readonly [RegExp, string])[] = [
  [/:\/\/([^:/@\s]{0,100}):[^@/\s]{1,200}@/g, '://$1:[redacted]@'],
  [/\bBearer [^\s"',]{4,400}/gi, 'Bearer [redacted]'],
  [/\benr[a-z]?_[0-9A-Za-z_-]{12,80}/g, 'enr_[redacted]'],
];

export function createLog(
  level: string,
  write = (line: string): void => void process.stderr.write(line),
): Logger {
  const scrubbed = (line: string): void =>
    write(SECRET_SHAPES.reduce((text, [shape, instead]) => text.replace(shape, instead), line));
  return pino(
    {
      level,
      base: { name: 'gateway' },
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
    },
    { write: scrubbed },
  );
}
