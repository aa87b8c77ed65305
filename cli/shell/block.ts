/** Writes one object of the API as lines. It is pure. */
import { cellForPeople, cellForPrograms, numberForPeople, type CellOf } from './cells.ts';
import { colorOfState, type Paint } from './color.ts';
import { currencyOf, isOfCents, withoutCents, type Currency } from './money.ts';
import { isRecord } from './paths.ts';
import { neutraliseLine, padEnd, displayWidth } from './text.ts';
import { formatRelative, parseTime } from './time.ts';

interface Line {
  readonly label: string;
  readonly value: string;
}

/**
 * Writes for people: names and values side by side, nested objects indented, lists of objects one after the
 * other.
 */
export function blockForPeople(value: unknown, nowMs: number, paint: Paint): string[] {
  const lines = linesOf(value, { indent: '', nowMs });
  const width = Math.max(0, ...lines.map(({ label }) => displayWidth(label)));
  return lines.map(({ label, value: text }) => {
    if (text === '') return paint('dim', label);
    const color = colorOfState(text);
    return `${paint('dim', padEnd(label, width))}  ${color === undefined ? text : paint(color, text)}`;
  });
}

interface Place {
  readonly indent: string;
  readonly nowMs: number;
  /** Currency that an object around it states. */
  readonly currency?: Currency | undefined;
}

function linesOf(value: unknown, place: Place): Line[] {
  const { indent, nowMs } = place;
  if (!isRecord(value)) return [{ label: indent, value: cellForPeople(value, { name: '', nowMs }) }];
  const currency = currencyOf(value) ?? place.currency;
  const below = { indent: `${indent}  `, nowMs, currency };
  return Object.entries(value).flatMap(([key, inner]): Line[] => {
    const label = indent + neutraliseLine(key);
    if (isRecord(inner)) {
      const nested = linesOf(inner, below);
      return nested.length === 0 ? [{ label, value: '-' }] : [{ label, value: '' }, ...nested];
    }
    if (Array.isArray(inner) && inner.some(isRecord)) {
      return inner.flatMap((item, index) => [
        { label: `${label} ${index + 1}`, value: '' },
        ...linesOf(item, below),
      ]);
    }
    if (currency !== undefined && typeof inner === 'number' && isOfCents(key))
      return [{ label: withoutCents(label), value: numberForPeople(inner, { name: key, currency }) }];
    return [{ label, value: scalar(inner, { name: key, nowMs, currency }) }];
  });
}

/** Here is room for both the exact and the readable form. */
function scalar(value: unknown, of: CellOf): string {
  if (typeof value === 'string') {
    const atMs = parseTime(value);
    if (atMs !== undefined) return `${value} (${formatRelative(atMs, of.nowMs)})`;
  }
  if (typeof value === 'number') {
    const readable = numberForPeople(value, of);
    return readable === String(value) ? readable : `${readable} (${value})`;
  }
  return cellForPeople(value, of);
}

/** Writes for programs `path<TAB>value`, nested paths dotted, one line each. */
export function blockForPrograms(value: unknown, path = ''): string[] {
  if (isRecord(value)) {
    return Object.entries(value).flatMap(([key, inner]) =>
      blockForPrograms(inner, path === '' ? neutraliseLine(key) : `${path}.${neutraliseLine(key)}`),
    );
  }
  return [path === '' ? cellForPrograms(value) : `${path}\t${cellForPrograms(value)}`];
}
