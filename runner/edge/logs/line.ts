/**
 * Reads the lines of nginx: JSON of the format `svc` in the access log, its own text in the log of errors.
 */
import { networkOf, printable, redactedError, withoutQuery } from './redact.ts';

/** A request, as every nginx logs it. */
export interface CommonLine {
  /** RFC 3339 time at which the answer was complete. */
  at: string;
  /** Network of the visitor. */
  remote: string;
  method: string;
  path: string;
  status: number;
  bytes: number;
  userAgent: string;
}

export interface AccessLine extends CommonLine {
  host: string;
  durationMs: number;
}

export interface ErrorLine {
  at: string;
  level: string;
  text: string;
}

/** `line` is absent for a line that belongs to an environment and cannot be read. */
export interface Read<Line> {
  environmentId: string;
  line?: Line;
}

export const METHOD_CHARS_MAX = 32;
const HOST_CHARS_MAX = 253;
export const AGENT_CHARS_MAX = 256;
export const ERROR_CHARS_MAX = 1_000;
/** The format puts it first, so that it is known of lines that are cut. */
const ENVIRONMENT = /^\{"env":"([A-Za-z0-9_-]{1,64})"/;

/** Returns undefined for a line of no environment, such as a request for a name that is not served. */
export function readAccess(bytes: Buffer): Read<AccessLine> | undefined {
  // Bytes that are no UTF-8 pass nginx as they are, and are replaced here.
  const text = bytes.toString('utf8');
  const environmentId = ENVIRONMENT.exec(text)?.[1];
  if (environmentId === undefined) return undefined;
  try {
    const { t, a, m, h, s, b, d, u, p } = JSON.parse(text) as Record<string, string | undefined>;
    const [at, status, sent, seconds] = [Number(t), Number(s), Number(b), Number(d)];
    if (![at, status, sent, seconds].every(Number.isFinite) || at <= 0) return { environmentId };
    const line: AccessLine = {
      at: new Date(at * 1_000).toISOString(),
      remote: networkOf(a ?? ''),
      method: printable(m ?? '', METHOD_CHARS_MAX),
      host: printable(h ?? '', HOST_CHARS_MAX),
      path: withoutQuery(p ?? ''),
      status,
      bytes: sent,
      durationMs: Math.round(seconds * 1_000),
      userAgent: printable(u ?? '', AGENT_CHARS_MAX),
    };
    return { environmentId, line };
  } catch {
    return { environmentId };
  }
}

/** Its groups are those of the time, the level and the text. */
export const ERROR = /^(\d{4})\/(\d\d)\/(\d\d) (\d\d:\d\d:\d\d) \[(\w+)\] \d+#\d+: (?:\*\d+ )?(.*)$/s;
const SERVER = /, client: [^,\s]+, server: ([^,\s]*)/g;

export function readError(
  bytes: Buffer,
  environmentOf: (name: string) => string | undefined,
): Read<ErrorLine> | undefined {
  const text = bytes.toString('utf8');
  // The line has what a visitor or an app sent without escapes, and that may pretend to be of another site: a
  // line that names two is of none.
  const servers = new Set([...text.matchAll(SERVER)].map(([, server = '']) => server));
  const [server] = servers;
  const environmentId = servers.size === 1 && server !== undefined ? environmentOf(server) : undefined;
  if (environmentId === undefined) return undefined;
  const [, year, month, day, time, level = '', rest = ''] = ERROR.exec(text) ?? [];
  if (time === undefined) return { environmentId };
  const line = {
    at: `${year}-${month}-${day}T${time}.000Z`,
    level,
    text: redactedError(rest, ERROR_CHARS_MAX),
  };
  return { environmentId, line };
}
