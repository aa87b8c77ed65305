/**
 * Writes one value of the API as text, for people (`cellForPeople`) and for programs that read columns
 * (`cellForPrograms`).
 */
import { cents, currencyOf, isOfCents, withoutCents, type Currency } from './money.ts';
import { isRecord } from './paths.ts';
import { neutraliseLine } from './text.ts';
import { formatDuration, formatRelative, parseTime } from './time.ts';

/** Never holds a tab or a line break, so that one row is one line. Nothing is shortened or made relative. */
export function cellForPrograms(value: unknown, name = ''): string {
  if (value === undefined || value === null) return '';
  if (isCommand(name, value)) return cellForPrograms(asTyped(value));
  if (Array.isArray(value) && value.every((item) => !isRecord(item) && !Array.isArray(item)))
    return value.map((item) => cellForPrograms(item)).join(',');
  if (typeof value === 'object') return neutraliseLine(JSON.stringify(value));
  // The backslash is doubled so that "\n" written out and a line break stay two things.
  return neutraliseLine(String(value).replaceAll('\\', '\\\\'));
}

export interface CellOf {
  /** JSON path: its last word says what a number means. */
  readonly name: string;
  readonly nowMs: number;
  /** The object that holds the value states it. Minor units stay numbers where it does not. */
  readonly currency?: Currency | undefined;
}

export function cellForPeople(value: unknown, of: CellOf): string {
  const { nowMs } = of;
  if (value === undefined || value === null || value === '') return '-';
  if (typeof value === 'number') return numberForPeople(value, of);
  if (typeof value === 'string') {
    const atMs = parseTime(value);
    return atMs === undefined ? neutraliseLine(value) : formatRelative(atMs, nowMs);
  }
  if (isCommand(of.name, value)) return neutraliseLine(asTyped(value));
  if (Array.isArray(value)) return listForPeople(value);
  if (isRecord(value)) {
    const currency = currencyOf(value) ?? of.currency;
    const entries = Object.entries(value).map(
      ([key, inner]) => `${neutraliseLine(key)}=${cellForPeople(inner, { name: key, nowMs, currency })}`,
    );
    return entries.length === 0 ? '-' : entries.join(' ');
  }
  return neutraliseLine(String(value));
}

export function numberForPeople(value: number, { name, currency }: Omit<CellOf, 'nowMs'>): string {
  if (currency !== undefined && isOfCents(name) && Number.isSafeInteger(value)) return cents(value, currency);
  if (/(^m|M)s$/.test(name)) return formatDuration(value);
  if (/(^b|B)ytes$/.test(name)) return formatBytes(value);
  return String(value);
}

function isCommand(name: string, value: unknown): value is readonly string[] {
  return (
    /(^|\.)command$/.test(name) && Array.isArray(value) && value.every((word) => typeof word === 'string')
  );
}

/** It writes a command line as one would type it. */
function asTyped(words: readonly string[]): string {
  return words
    .map((word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`))
    .join(' ');
}

function listForPeople(list: readonly unknown[]): string {
  if (list.length === 0) return '-';
  if (list.some((item) => typeof item === 'object' && item !== null)) return `${list.length} items`;
  return list.map((item) => neutraliseLine(String(item))).join(', ');
}

export function formatBytes(bytes: number): string {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  let size = bytes;
  let unit = 0;
  while (Math.abs(size) >= 1024 && unit < units.length - 1) {
    size /= 1024;
    unit += 1;
  }
  return `${unit === 0 ? size : size.toFixed(1).replace(/\.0$/, '')} ${units[unit]}`;
}

/**
 * `lastHeartbeatAt` is `LAST HEARTBEAT`, `meteredMs` is `METERED`: cells carry the unit. `actor.display`
 * shows the `ACTOR`. `netCents` is `NET` where rows state their currency.
 */
export function heading(path: string, hasCurrency = false): string {
  const last =
    path
      .replace(/\.display$/, '')
      .split('.')
      .at(-1) ?? path;
  return (hasCurrency ? withoutCents(last) : last)
    .replace(/(At|Ms|Bytes)$/, (unit, _group, offset: number) => (offset === 0 ? unit : ''))
    .replace(/[A-Z]/g, (letter) => ` ${letter}`)
    .toUpperCase();
}
