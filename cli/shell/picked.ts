/** Refuses fields of `--json=a,b` that the answer of a command cannot have, before anything is asked for. */
import type { ShapeSpec } from '../command.ts';
import { answers, shapes } from '../gen/answers.ts';
import { UsageError } from './errors.ts';
import { meantHints } from './suggest.ts';

/** `line` is that of the contract: `runners status`. */
export function checkPicked(line: string, fields: readonly string[]): void {
  const name = Object.hasOwn(answers, line) ? answers[line] : undefined;
  const shape = name === undefined ? undefined : shapes[name];
  if (shape === undefined) return;
  for (const field of fields) {
    const known = knownBeside(field.split('.'), shape);
    if (known === undefined) continue;
    throw new UsageError(`--json: there is no field "${field}"`, {
      hints: [...meantHints(field, known), `fields: ${known.join(', ')}`],
    });
  }
}

/** Returns nothing for a field that there is, and else what there is in its place. */
function knownBeside(
  [key = '', ...inner]: readonly string[],
  shape: ShapeSpec,
  prefix = '',
): readonly string[] | undefined {
  const known = Object.keys(shape).map((each) => prefix + each);
  if (!Object.hasOwn(shape, key)) return known;
  const [next] = inner;
  const below = shape[key];
  if (next === undefined || below === '*') return undefined;
  const message = below === undefined || below === '' ? undefined : shapes[below];
  return message === undefined ? known : knownBeside(inner, message, `${prefix}${key}.`);
}
