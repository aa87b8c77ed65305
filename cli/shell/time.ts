/** Reads and writes times and durations as people do. */

const UNIT_MS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/**
 * Reads `90`, `90s`, `1.5m`, `1h30m` as milliseconds; a bare number is seconds. Returns undefined for any
 * other text.
 */
export function parseDuration(text: string): number | undefined {
  if (/^\d+(\.\d+)?$/.test(text)) return Math.round(Number(text) * 1_000);
  if (!/^(\d+(\.\d+)?(ms|s|m|h|d))+$/.test(text)) return undefined;
  let total = 0;
  for (const [, amount, unit] of text.matchAll(/(\d+(?:\.\d+)?)(ms|s|m|h|d)/g))
    total += Number(amount) * (UNIT_MS[unit ?? ''] ?? 0);
  return Math.round(total);
}

/** Writes `340ms`, `1.2s`, `2m 5s`, `1h 3m`, `4d 2h`, and never more than two units. */
export function formatDuration(ms: number): string {
  const sign = ms < 0 ? '-' : '';
  const size = Math.abs(ms);
  if (size < 1_000) return `${sign}${Math.round(size)}ms`;
  if (size < 59_950) return `${sign}${trimZero((size / 1_000).toFixed(1))}s`;
  const seconds = Math.round(size / 1_000);
  if (seconds < 3_600) return sign + two(seconds, 60, ['m', 's']);
  const minutes = Math.round(seconds / 60);
  if (minutes < 1_440) return sign + two(minutes, 60, ['h', 'm']);
  return sign + two(Math.round(minutes / 60), 24, ['d', 'h']);
}

function two(amount: number, size: number, [large, small]: readonly [string, string]): string {
  const rest = amount % size;
  return `${Math.floor(amount / size)}${large}${rest === 0 ? '' : ` ${rest}${small}`}`;
}

function trimZero(text: string): string {
  return text.endsWith('.0') ? text.slice(0, -2) : text;
}

/** Writes `just now`, `3m ago`, `in 2h`. */
export function formatRelative(atMs: number, nowMs: number): string {
  const size = Math.abs(nowMs - atMs);
  if (size < 2_000) return 'just now';
  const text =
    formatDuration(size)
      .split(' ')[0]
      ?.replace(/\.\d+s$/, 's') ?? '';
  return atMs < nowMs ? `${text} ago` : `in ${text}`;
}

const RFC_3339 = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?(Z|[+-]\d{2}:\d{2})$/i;

/** Returns the milliseconds since 1970 of an RFC 3339 text, or undefined for anything else. */
export function parseTime(text: string): number | undefined {
  if (!RFC_3339.test(text)) return undefined;
  const ms = Date.parse(text);
  return Number.isNaN(ms) ? undefined : ms;
}
