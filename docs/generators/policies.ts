/**
 * Writes policies.md, which says what rules of policies are given, and what they can be written with, from
 * what judges them.
 */
import { LOOPS_MAX, signOf } from '../../server/delivery/policies/engine/check.ts';
import { ACTIONS } from '../../server/delivery/policies/engine/document.ts';
import { ABOUT_FORMS, ABOUT_FUNCTIONS } from '../../server/delivery/policies/engine/functions-about.ts';
import { ABOUT } from '../../server/delivery/policies/engine/input-about.ts';
import { INPUT, type ObjectShape, type Shape } from '../../server/delivery/policies/engine/input.ts';
import { FUNCTIONS, nameOf, type Overload } from '../../server/delivery/policies/engine/types.ts';
import { code, page, table } from './markdown.ts';

export function policiesPage(): string {
  const forms = Object.entries(ABOUT_FORMS).map(([form, about]) => [code(form), about]);
  return page('Rules of policies', INTRODUCTION, [
    '## Input',
    'One shape for all actions: what an action does not have is empty and never missing, so that a rule needs no `has()`. A text that is empty is `""`, a time `1970-01-01T00:00:00Z`.',
    table(['field', 'kind', 'what it is'], fieldRows(INPUT)),
    '## Language',
    `Rules are expressions of [CEL](https://cel.dev) that give true or false. At most ${LOOPS_MAX} loops are nested.`,
    table(['form', 'what it gives'], forms),
    '## Functions',
    table(['function', 'what it gives', 'takes'], functionRows()),
  ]);
}

const INTRODUCTION = `Rules of [policies](../delivery.md#policies) are judged at ${ACTIONS.map(code).join(', ')}. This is what they are given, and what they can be written with.`;

function fieldRows({ fields }: ObjectShape, before = ''): string[][] {
  return Object.entries(fields).flatMap(([name, shape]) => {
    const path = `${before}${name}`;
    const inner = typeof shape !== 'string' && 'list' in shape ? shape.list : shape;
    const isList = inner !== shape;
    const about = (ABOUT as Readonly<Record<string, string>>)[path] ?? '';
    return [
      [code(path), kindOf(shape), about],
      ...(typeof inner !== 'string' && 'fields' in inner
        ? fieldRows(inner, `${path}${isList ? '[]' : ''}.`)
        : []),
    ];
  });
}

function kindOf(shape: Shape): string {
  if (typeof shape === 'string') return shape;
  if ('fields' in shape) return 'object';
  return `list of ${kindOf(shape.list)}, at most ${shape.max}`;
}

/** Throws for a function that the runtime has and nobody described, and the other way round. */
function functionRows(): string[][] {
  // The one name `-` is two functions.
  const written = new Map<string, string[]>();
  for (const [name, overloads] of FUNCTIONS) {
    const sign = signOf(name);
    const texts = overloads.map((overload) => code(overloadText(sign, overload)));
    written.set(sign, [...new Set([...(written.get(sign) ?? []), ...texts])]);
  }
  const names = [...new Set([...written.keys(), ...Object.keys(ABOUT_FUNCTIONS)])].toSorted();
  return names.map((name) => {
    const about = ABOUT_FUNCTIONS[name];
    const takes = written.get(name);
    if (about === undefined || takes === undefined)
      throw new Error(
        `"${name}" is ${about === undefined ? 'not described' : 'described, and no function of policies'}`,
      );
    return [code(name), about, takes.join('; ')];
  });
}

function overloadText(name: string, { isMethod, takes, gives }: Overload): string {
  const [first = '', ...others] = takes;
  const result = nameOf(gives);
  if (!/^[a-zA-Z]/.test(name) || name === 'in')
    return `${others.length === 0 ? `${name}${first}` : `${first} ${name} ${others.join(' ')}`} → ${result}`;
  return isMethod
    ? `${first}.${name}(${others.join(', ')}) → ${result}`
    : `${name}(${takes.join(', ')}) → ${result}`;
}
