/**
 * Makes the log: one JSON line an event, with everything that may hold a secret taken out twice, by field
 * name and by the look of the value.
 */
import { pino, type DestinationStream, type Logger } from 'pino';

export type { Logger } from 'pino';

/** Field names whose value never belongs into a log. */
const SECRET_FIELDS =
  'authorization cookie currentPassword newPassword otpauthUrl password recoveryCodes secret set-cookie signature signature-input token totpCode'.split(
    ' ',
  );

/**
 * What secrets of ours look like wherever they turn up: keys, tokens, bearer headers, PEM blocks, URLs with a
 * password.
 */
const SECRET_SHAPES: ReadonlyArray<readonly [RegExp, string]> = [
  [/cpk_[a-z]{1,8}_[0-9A-Za-z_]{8,80}/g, 'cpk_[redacted]'],
  [/(sest|invt|enr|apt)_[0-9A-Za-z_-]{20,80}/g, '$1_[redacted]'],
  [/whsec_[0-9A-Za-z+/=]{8,200}/g, 'whsec_[redacted]'],
  [/\b([rs]k_(?:live|test))_[0-9A-Za-z_]{4,200}/g, '$1_[redacted]'],
  [/\b(Bearer|Basic) [^\s"',]{4,400}/gi, '$1 [redacted]'],
  [/-----BEGIN [A-Z ]{3,40}-----[^-]{0,8000}(-----END [A-Z ]{3,40}-----)?/g, '[redacted PEM]'],
  [/:\/\/([^:/@\s]{0,100}):[^@/\s]{1,200}@/g, '://$1:[redacted]@'],
];

const MAY_HOLD_SECRET = /cpk_|t_|[rs]k_|enr_|whsec_|bearer |basic |-----BEGIN|:\/\//i;

/** Applied to each finished line, so that no serializer and no library can go around it. */
export function scrub(line: string): string {
  if (!MAY_HOLD_SECRET.test(line)) return line;
  return SECRET_SHAPES.reduce((text, [shape, replacement]) => text.replace(shape, replacement), line);
}

export interface LogOptions {
  readonly level: string;
  readonly name?: string;
  /** The default is standard error, so that standard output stays for what a person or a script reads. */
  readonly write?: (line: string) => void;
}

export function createLog({
  level,
  name = 'server',
  write = (line) => void process.stderr.write(line),
}: LogOptions): Logger {
  const destination: DestinationStream = { write: (line) => write(scrub(line)) };
  return pino(
    {
      level,
      name,
      base: { name },
      timestamp: pino.stdTimeFunctions.isoTime,
      redact: {
        paths: SECRET_FIELDS.flatMap((field) => [`["${field}"]`, `*["${field}"]`, `*.*["${field}"]`]),
        censor: '[redacted]',
      },
      formatters: { level: (label) => ({ level: label }) },
    },
    destination,
  );
}

export const silentLog: Logger = pino({ level: 'silent' });
