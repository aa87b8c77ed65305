/** Says where a decoder stands in a JSON value, and words its refusals. */
import { problem } from './json-text.ts';

/** Pushed and popped on the way, printed only in an error. */
export type Path = (string | number)[];

export function refuse(path: Path, rule: string, message: string): Error {
  return problem(printPath(path), rule, message);
}

/** Prints `limits.cpus`, `leases[3].id`, `labels["a b"]`. */
export function printPath(path: Path): string {
  let text = '';
  for (const step of path) {
    if (typeof step === 'number') text += `[${step}]`;
    else if (/^[A-Za-z_$][\w$]*$/.test(step)) text += text === '' ? step : `.${step}`;
    else text += `[${JSON.stringify(step.slice(0, 100))}]`;
  }
  return text;
}

export function kindOf(value: unknown): string {
  if (value === null) return 'null';
  return Array.isArray(value) ? 'an array' : typeof value === 'object' ? 'an object' : `a ${typeof value}`;
}

/** It shows a value in an error message: short, and nothing but what the caller sent. */
export function shown(value: unknown): string {
  if (typeof value !== 'string')
    return typeof value === 'number' || typeof value === 'boolean' ? String(value) : kindOf(value);
  return JSON.stringify(value.length > 40 ? `${value.slice(0, 40)}…` : value);
}
