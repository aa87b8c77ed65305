/** Refuses fields of `--json=a,b` that the answer of a command cannot have, before anything is asked for. */
import { answers, shapes } from '../gen/answers.ts';
import { commandLine, type AnswerShape, type Command } from './command.ts';
import { UsageError } from './errors.ts';
import type { Globals } from './globals.ts';
import { meantHints } from './suggest.ts';

/** Tells if the fields that an answer has are known at all. */
export function checkPicked(
  { spec, answer }: Pick<Command, 'spec' | 'answer'>,
  { fields = [], jq }: Pick<Globals, 'fields' | 'jq'>,
): boolean {
  if (answer === false)
    throw new UsageError(
      `"${commandLine(spec)}" prints no JSON, which ${jq === undefined ? '--json=fields' : '--jq'} needs`,
    );
  const shape = shapeOf(answer);
  if (shape === undefined) return false;
  for (const field of fields) {
    const known = knownBeside(field.split('.'), shape);
    if (known === undefined) continue;
    throw new UsageError(`--json: there is no field "${field}"`, {
      hints: [
        ...meantHints(field, known),
        known.length === 0 ? 'the answer has no fields' : `fields: ${known.join(', ')}`,
      ],
    });
  }
  return true;
}

/** Returns nothing where any field may be there. */
export function shapeOf(answer: string | AnswerShape): AnswerShape | undefined {
  if (typeof answer === 'object') return answer;
  const name = Object.hasOwn(answers, answer) ? answers[answer] : undefined;
  return name === undefined ? undefined : shapes[name];
}

/** Returns nothing for a field that there is, and else what there is in its place. */
function knownBeside(
  [key = '', ...inner]: readonly string[],
  shape: AnswerShape,
  prefix = '',
): readonly string[] | undefined {
  const known = Object.keys(shape).map((each) => prefix + each);
  if (!Object.hasOwn(shape, key)) return known;
  const [next] = inner;
  const below = shape[key];
  if (next === undefined || below === '*') return undefined;
  const message = typeof below === 'object' ? below : shapes[below ?? ''];
  return message === undefined ? known : knownBeside(inner, message, `${prefix}${key}.`);
}
