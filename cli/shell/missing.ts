/** Says what a command line lacks. It is pure. */
import type { FieldSpec } from '../command.ts';
import { commandLine, type Spec } from './command.ts';
import { UsageError } from './errors.ts';
import { helpHint } from './parse.ts';
import { isAsked, oneOf } from './source.ts';

/** Returns one error for all that is missing. */
export function missingError(spec: Spec, missing: readonly FieldSpec[]): UsageError {
  const [first] = missing;
  if (first !== undefined && missing.every(isAsked))
    return new UsageError(
      `${oneOf(first)} is needed: --${first.flag}-stdin or --${first.flag}-file, as there is no terminal to ask on`,
      { hints: [helpHint(spec)] },
    );
  const names = missing.map((field) => {
    if (isAsked(field)) return `--${field.flag}-file`;
    if (spec.positionals.includes(field)) return `<${field.placeholder}>`;
    return field.rest === true ? `-- <${field.placeholder}>` : `--${field.flag}`;
  });
  return new UsageError(`"${commandLine(spec)}" needs ${names.join(', ')}`, { hints: [helpHint(spec)] });
}
