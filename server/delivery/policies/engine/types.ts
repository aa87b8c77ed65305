/**
 * Types of CEL as far as they are told apart when a document is written, and what the library's functions
 * take and give.
 */
import { language } from './language.ts';
import type { ObjectShape, Scalar, Shape } from './input.ts';

/** `dyn`: known at run time only. `nothing`: the element of a list that is empty. */
export type Kind = Scalar | 'uint' | 'duration' | 'null_type' | 'type' | 'map' | 'dyn' | 'nothing';
export type Type = Kind | ListType | ObjectShape;
export interface ListType {
  readonly list: Type;
}

export interface Overload {
  readonly isMethod: boolean;
  /** Kinds of the arguments; of a method's target first. */
  readonly takes: readonly string[];
  readonly gives: Type;
}

const KINDS: ReadonlyMap<string, Type> = new Map<string, Type>([
  ...(['bool', 'int', 'uint', 'double', 'string', 'type', 'map', 'dyn'] as const).map(
    (kind) => [kind, kind] as const,
  ),
  ['list', { list: 'dyn' }],
  ['google.protobuf.Timestamp', 'timestamp'],
  ['google.protobuf.Duration', 'duration'],
]);

export const typeOfShape = (shape: Shape): Type =>
  typeof shape === 'string' || 'fields' in shape ? shape : { list: typeOfShape(shape.list) };

/** What a type is called, in messages and by the functions of the library. */
export function nameOf(type: Type): string {
  if (typeof type === 'string') return type;
  return 'list' in type ? 'list' : 'map';
}

export const mayBe = (type: Type, name: string): boolean =>
  name === 'dyn' || type === 'dyn' || type === 'nothing' || nameOf(type) === name;

/** The type of a value that is either the one or the other. */
export function either(one: Type, other: Type): Type {
  if (one === other || other === 'nothing') return one;
  if (one === 'nothing') return other;
  if (typeof one !== 'string' && typeof other !== 'string' && 'list' in one && 'list' in other)
    return { list: either(one.list, other.list) };
  return 'dyn';
}

/**
 * The functions of the library by name. Without those for bytes: no part of the input has any, and their
 * memory is outside of what a thread's limit covers.
 */
export const FUNCTIONS: ReadonlyMap<string, readonly Overload[]> = functionsOf();

function functionsOf(): Map<string, Overload[]> {
  const functions = new Map<string, Overload[]>();
  for (const { name, target, arguments: parameters, result } of language.funcs) {
    const all = [...(target === undefined ? [] : [target]), ...parameters].map((type) => type.name);
    const takes = all.map((type) => nameOf(KINDS.get(type) ?? 'nothing'));
    const gives = KINDS.get(result.name);
    if (gives === undefined || takes.includes('nothing')) continue;
    const overloads = functions.get(name) ?? [];
    functions.set(name, [...overloads, { isMethod: target !== undefined, takes, gives }]);
  }
  return functions;
}
