/** One object of the API as lines. Pure. */
import { cellForPeople, cellForPrograms, numberForPeople } from './cells.ts';
import { colorOfState, type Paint } from './color.ts';
import { isRecord } from './paths.ts';
import { neutraliseLine, padEnd, displayWidth } from './text.ts';
import { formatRelative, parseTime } from './time.ts';

interface Line {
  readonly label: string;
  readonly value: string;
}

/** For people: names and values side by side, nested objects indented, lists of objects one after the other. */
export function blockForPeople(value: unknown, nowMs: number, paint: Paint): string[] {
  const lines = linesOf(value, '', nowMs);
  const width = Math.max(0, ...lines.map(({ label }) => displayWidth(label)));
  return lines.map(({ label, value: text }) => {
    if (text === '') return paint('dim', label);
    const color = colorOfState(text);
    return `${paint('dim', padEnd(label, width))}  ${color === undefined ? text : paint(color, text)}`;
  });
}

function linesOf(value: unknown, indent: string, nowMs: number): Line[] {
  if (!isRecord(value)) return [{ label: indent, value: cellForPeople(value, '', nowMs) }];
  return Object.entries(value).flatMap(([key, inner]): Line[] => {
    const label = indent + neutraliseLine(key);
    if (isRecord(inner)) {
      const nested = linesOf(inner, `${indent}  `, nowMs);
      return nested.length === 0 ? [{ label, value: '-' }] : [{ label, value: '' }, ...nested];
    }
    if (Array.isArray(inner) && inner.some(isRecord)) {
      return inner.flatMap((item, index) => [
        { label: `${label} ${index + 1}`, value: '' },
        ...linesOf(item, `${indent}  `, nowMs),
      ]);
    }
    return [{ label, value: scalar(inner, key, nowMs) }];
  });
}

/** Here is room for both the exact and the readable form. */
function scalar(value: unknown, key: string, nowMs: number): string {
  if (typeof value === 'string') {
    const atMs = parseTime(value);
    if (atMs !== undefined) return `${value} (${formatRelative(atMs, nowMs)})`;
  }
  if (typeof value === 'number') {
    const readable = numberForPeople(value, key);
    return readable === String(value) ? readable : `${readable} (${value})`;
  }
  return cellForPeople(value, key, nowMs);
}

/** For programs: `path<TAB>value`, nested paths dotted, one line each. */
export function blockForPrograms(value: unknown, path = ''): string[] {
  if (isRecord(value)) {
    return Object.entries(value).flatMap(([key, inner]) =>
      blockForPrograms(inner, path === '' ? neutraliseLine(key) : `${path}.${neutraliseLine(key)}`),
    );
  }
  return [path === '' ? cellForPrograms(value) : `${path}\t${cellForPrograms(value)}`];
}
