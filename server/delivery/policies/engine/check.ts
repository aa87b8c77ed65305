/**
 * The tree of an expression is checked here: roots, fields and functions exist, arguments fit as far as their
 * types are known, and the result is a bool. It goes through the tree with a stack of generators instead of
 * recursion, because what a tree looks like is up to whoever wrote the expression.
 */
import { isCelError, plan, type parse } from '@bufbuild/cel';
import { suggestionOf, type Finding } from './findings.ts';
import { INPUT } from './input.ts';
import { language } from './language.ts';
import { costOf, problemOf } from './patterns.ts';
import { either, FUNCTIONS, mayBe, nameOf, typeOfShape, type Overload, type Type } from './types.ts';

type Parsed = ReturnType<typeof parse>;
type Expr = NonNullable<Parsed['expr']>;
type KindOf<C> = Extract<Expr['exprKind'], { case: C }>['value'];
type Call = KindOf<'callExpr'>;

/** Each level multiplies the time by the length of a list, which the limit of a gate's time bounds. */
export const LOOPS_MAX = 3;
const INT_MAX = 2n ** 63n - 1n;
const INT_MIN = -(2n ** 63n);
const TYPE_NAMES = new Set(['bool', 'double', 'int', 'list', 'map', 'null_type', 'string', 'type', 'uint']);
/** Are no functions in the library, because not all of their arguments are always evaluated. */
const OPERATORS = new Set(['_&&_', '_||_', '_?_:_', '_[_]']);
const MACROS: ReadonlyMap<string, string> = new Map([
  ['has', 'has(value.field)'],
  ...['all', 'exists', 'exists_one', 'existsOne', 'filter'].map(
    (name) => [name, `list.${name}(element, condition)`] as const,
  ),
  ['map', 'list.map(element, value)'],
]);

export interface Budget {
  /** See `patterns.ts`. */
  patternsLeft: number;
}

interface Context {
  readonly text: string;
  readonly positions: Readonly<Record<string, number>>;
  readonly budget: Budget;
  readonly findings: Finding[];
}

/** The variables of the loops around a place, innermost first. */
interface Scope {
  readonly name: string;
  readonly type: Type;
  readonly outer: Scope | undefined;
}

interface Place {
  readonly scope: Scope | undefined;
  readonly loops: number;
}

/** Yields what must be known first, and is given its type. */
interface Walk extends Generator<Walk, Type, Type> {}

export function check({ expr, sourceInfo }: Parsed, text: string, budget: Budget): readonly Finding[] {
  const context: Context = { text, positions: sourceInfo?.positions ?? {}, budget, findings: [] };
  if (expr === undefined) return [{ message: 'the expression is empty' }];
  const result = walk(typeOf(context, expr, { scope: undefined, loops: 0 }));
  if (!mayBe(result, 'bool'))
    report(context, expr, `the result is ${named(result)}, where true or false is needed`);
  return context.findings;
}

function walk(root: Walk): Type {
  const stack = [root];
  let known: Type = 'dyn';
  for (let top = stack.at(-1); top !== undefined; top = stack.at(-1)) {
    const step = top.next(known);
    if (step.done === true) {
      stack.pop();
      known = step.value;
    } else stack.push(step.value);
  }
  return known;
}

/** What was reported is `dyn` from there on, so that one mistake is told once. */
function report({ text, positions, findings }: Context, { id }: Expr, said: Finding | string): 'dyn' {
  const finding = typeof said === 'string' ? { message: said } : said;
  const position = positions[id.toString()];
  // The place of a field or method is that of the dot before it.
  const isDot = position !== undefined && text[position] === '.';
  findings.push({ ...(position !== undefined && { position: position + (isDot ? 1 : 0) }), ...finding });
  return 'dyn';
}

function* typeOf(context: Context, expr: Expr | undefined, place: Place): Walk {
  const kind = expr?.exprKind;
  switch (kind?.case) {
    case 'constExpr':
      return constantType(context, expr as Expr, kind.value);
    case 'identExpr':
      return rootType(context, expr as Expr, { name: kind.value.name, scope: place.scope });
    case 'selectExpr': {
      const operand = yield typeOf(context, kind.value.operand, place);
      const field = fieldType(context, expr as Expr, { operand, name: kind.value.field });
      return kind.value.testOnly ? 'bool' : field;
    }
    case 'listExpr': {
      let element: Type = 'nothing';
      for (const each of kind.value.elements) element = either(element, yield typeOf(context, each, place));
      return { list: element };
    }
    case 'structExpr':
      if (kind.value.messageName !== '')
        return report(
          context,
          expr as Expr,
          `values of type "${kind.value.messageName}" cannot be made here`,
        );
      for (const { keyKind, value } of kind.value.entries) {
        if (keyKind.case === 'mapKey') yield typeOf(context, keyKind.value, place);
        yield typeOf(context, value, place);
      }
      return 'map';
    case 'callExpr':
      return yield callType(context, { expr: expr as Expr, call: kind.value }, place);
    case 'comprehensionExpr':
      return yield loopType(context, { expr: expr as Expr, loop: kind.value }, place);
    default:
      return 'dyn';
  }
}

const CONSTANTS: Readonly<Record<string, Type>> = {
  boolValue: 'bool',
  stringValue: 'string',
  doubleValue: 'double',
  nullValue: 'null_type',
};

function constantType(context: Context, expr: Expr, { constantKind }: KindOf<'constExpr'>): Type {
  const { case: kind, value } = constantKind;
  if (kind === 'uint64Value' && value <= 2n ** 64n - 1n) return 'uint';
  if (kind === 'int64Value' && value >= INT_MIN && value <= INT_MAX) return 'int';
  const isNumber = kind === 'uint64Value' || kind === 'int64Value';
  const problem = isNumber
    ? 'the number has more than 64 bits'
    : 'bytes are not supported: nothing of the input is bytes';
  return CONSTANTS[kind ?? ''] ?? report(context, expr, problem);
}

interface Named {
  readonly name: string;
  readonly scope: Scope | undefined;
}

function rootType(context: Context, expr: Expr, { name, scope }: Named): Type {
  const known: string[] = [];
  for (let at = scope; at !== undefined; at = at.outer) {
    if (at.name === name) return at.type;
    known.push(at.name);
  }
  // A leading dot says that no variable is meant, but a part of the input.
  const root = name.replace(/^\./, '');
  const shape = ownOf(INPUT.fields, root);
  if (shape !== undefined) return typeOfShape(shape);
  if (TYPE_NAMES.has(root)) return 'type';
  return report(context, expr, {
    message: `the input has no "${shown(root)}"`,
    ...suggestionOf(root, [...known, ...Object.keys(INPUT.fields)]),
  });
}

function fieldType(
  context: Context,
  expr: Expr,
  { operand, name }: { readonly operand: Type; readonly name: string },
): Type {
  if (typeof operand !== 'string' && 'fields' in operand) {
    const shape = ownOf(operand.fields, name);
    if (shape !== undefined) return typeOfShape(shape);
    return report(context, expr, {
      message: `there is no field "${shown(name)}"`,
      ...suggestionOf(name, Object.keys(operand.fields)),
    });
  }
  if (mayBe(operand, 'map')) return 'dyn';
  const hint = nameOf(operand) === 'list' ? ': all() and exists() go through its elements' : '';
  return report(context, expr, `${named(operand)} has no field "${shown(name)}"${hint}`);
}

function* loopType(
  context: Context,
  { expr, loop }: { readonly expr: Expr; readonly loop: KindOf<'comprehensionExpr'> },
  place: Place,
): Walk {
  const range = yield typeOf(context, loop.iterRange, place);
  if (!mayBe(range, 'list') && !mayBe(range, 'map'))
    report(context, expr, `a loop goes through a list, not ${named(range)}`);
  if (place.loops === LOOPS_MAX)
    // What is inside would be reported at every level.
    return report(context, expr, `more than ${LOOPS_MAX} loops are nested`);
  const before = yield typeOf(context, loop.accuInit, place);
  const scopeOf = (type: Type): Scope => ({ name: loop.accuVar, type, outer: place.scope });
  const step = yield typeOf(context, loop.loopStep, {
    scope: { name: loop.iterVar, type: elementOf(range), outer: scopeOf(before) },
    loops: place.loops + 1,
  });
  return yield typeOf(context, loop.result, { ...place, scope: scopeOf(either(before, step)) });
}

function elementOf(range: Type): Type {
  if (typeof range === 'string') return 'dyn';
  return 'list' in range ? range.list : 'string';
}

interface Called {
  readonly expr: Expr;
  readonly call: Call;
}

/** The library expands what has the form of a macro, and leaves a call where it has not. */
function unknownProblem(name: string): Finding | undefined {
  const form = MACROS.get(name);
  if (form !== undefined) return { message: `"${name}" is written as ${form}` };
  if (FUNCTIONS.has(name) || OPERATORS.has(name)) return undefined;
  const words = [...FUNCTIONS.keys(), ...MACROS.keys()].filter((word) => /^\w+$/.test(word));
  return { message: `there is no function "${shown(name)}"`, ...suggestionOf(name, words) };
}

function* callType(context: Context, { expr, call }: Called, place: Place): Walk {
  const unknown = unknownProblem(call.function);
  if (unknown !== undefined) return report(context, expr, unknown);
  const operands = [...(call.target === undefined ? [] : [call.target]), ...call.args];
  const types: Type[] = [];
  for (const operand of operands) types.push(yield typeOf(context, operand, place));
  const [first = 'dyn', second = 'dyn', third = 'dyn'] = types;
  const needBool = (count: number): void => {
    for (const [index, operand] of operands.slice(0, count).entries()) {
      const type = types[index] ?? 'dyn';
      if (!mayBe(type, 'bool'))
        report(context, operand, `"${signOf(call.function)}" takes true or false, not ${named(type)}`);
    }
  };
  switch (call.function) {
    case '_&&_':
    case '_||_':
      needBool(2);
      return 'bool';
    case '_?_:_':
      needBool(1);
      return either(second, third);
    case '_[_]':
      return indexType(context, { expr, call }, [first, second]);
    default:
      return functionType(context, { expr, call }, types);
  }
}

function indexType(context: Context, { expr, call }: Called, [of, by]: readonly [Type, Type]): Type {
  if (mayBe(of, 'list') && mayBe(by, 'int')) return elementOf(of);
  if (!mayBe(of, 'map') || (typeof of !== 'string' && !mayBe(by, 'string')))
    return report(context, expr, `${named(of)} has no elements by ${named(by)}`);
  const key = textOf(call.args[1]);
  return key === undefined ? 'dyn' : fieldType(context, expr, { operand: of, name: key });
}

function functionType(context: Context, { expr, call }: Called, types: readonly Type[]): Type {
  const name = call.function;
  const isMethod = call.target !== undefined;
  const overloads = FUNCTIONS.get(name) ?? [];
  const sameForm = overloads.filter((overload) => overload.isMethod === isMethod);
  if (sameForm.length === 0)
    return report(context, expr, {
      message: `"${name}" is written as ${isMethod ? `${name}(value)` : `value.${name}(…)`}`,
    });
  const sameCount = sameForm.filter(({ takes }) => takes.length === types.length);
  if (sameCount.length === 0) return report(context, expr, wrongCount(call, sameForm));
  const fitting = sameCount.filter(({ takes }) => takes.every((take, at) => mayBe(types[at] ?? 'dyn', take)));
  if (fitting.length === 0)
    return report(context, expr, `"${signOf(name)}" does not apply to ${types.map(named).join(' and ')}`);
  const literal = literalProblem(context.budget, expr, call);
  if (literal !== undefined) return report(context, expr, literal);
  const [left = 'dyn', right = 'dyn'] = types;
  if (name === '_+_' && nameOf(left) === 'list') return either(left, right);
  return fitting.map(({ gives }) => gives).reduce(either);
}

function wrongCount({ function: name, args }: Call, overloads: readonly Overload[]): string {
  const counts = new Set(overloads.map(({ takes, isMethod }) => takes.length - (isMethod ? 1 : 0)));
  return `"${signOf(name)}" is given ${args.length} arguments, and takes ${[...counts].join(' or ')}`;
}

/** Tries what is written out: a pattern must be, and a time that cannot be read would fail each time. */
function literalProblem(budget: Budget, expr: Expr, { function: name, args }: Call): Finding | undefined {
  const text = textOf(args[0]);
  if (name === 'matches') {
    if (text === undefined) return { message: 'the pattern of "matches" must be a literal text' };
    const problem = problemOf(text, budget.patternsLeft);
    budget.patternsLeft -= costOf(text);
    return problem;
  }
  if (text === undefined || (name !== 'timestamp' && name !== 'duration')) return undefined;
  if (!isCelError(plan(language, expr)())) return undefined;
  const example = name === 'duration' ? '2160h or 30m' : '2026-11-25T08:00:00Z';
  return { message: `"${shown(text)}" is no ${name}: write it like ${example}` };
}

function textOf(expr: Expr | undefined): string | undefined {
  if (expr?.exprKind.case !== 'constExpr') return undefined;
  const { constantKind } = expr.exprKind.value;
  return constantKind.case === 'stringValue' ? constantKind.value : undefined;
}

const ownOf = <T>(fields: Readonly<Record<string, T>>, name: string): T | undefined =>
  Object.hasOwn(fields, name) ? fields[name] : undefined;

/** `_==_`, `_?_:_` and `@in` are written `==`, `?:` and `in`. */
export const signOf = (name: string): string =>
  /^\w*[a-zA-Z]\w*$/.test(name) ? name : name.replace(/[_@]/g, '');
const shown = (word: string): string => (word.length > 64 ? `${word.slice(0, 64)}…` : word);
const named = (type: Type): string => `${nameOf(type) === 'int' ? 'an' : 'a'} ${nameOf(type)}`;
