/** Makes the values of CEL from the JSON of an input, once for all policies of a gate. */
import { celList, celMap, type CelInput } from '@bufbuild/cel';
import { fromJson } from '@bufbuild/protobuf';
import { TimestampSchema, timestampFromMs } from '@bufbuild/protobuf/wkt';
import { emptyOf, INPUT, type Scalar, type Shape } from './input.ts';

export type Bindings = Record<string, CelInput>;

/**
 * Follows the shape and not the JSON: what the shape does not name is left out, and what the JSON lacks is
 * empty, as with an input that was recorded before a field existed. A list that is null was not read. Throws
 * if a value is of another type.
 */
export function bindingsOf(input: unknown): Bindings {
  const bindings = Object.create(null) as Bindings;
  for (const [name, shape] of Object.entries(INPUT.fields))
    bindings[name] = valueOf(shape, memberOf(input, name), name);
  return bindings;
}

/** It stands for a part that was not handed over: whatever touches its elements throws. */
const UNREAD = celList(
  new Proxy<CelInput[]>([], {
    get: () => {
      throw new Error('the rule reaches what was not read: it must name what it reads, as in "a.packages"');
    },
  }),
);

function valueOf(shape: Shape, json: unknown, path: string): CelInput {
  if (json === null && typeof shape !== 'string' && 'list' in shape) return UNREAD;
  const value = json ?? emptyOf(shape);
  if (typeof shape === 'string') return scalarOf(shape, value, path);
  if ('list' in shape) {
    if (!Array.isArray(value)) throw misshapen('list', value, path);
    return celList(value.map((each: unknown) => valueOf(shape.list, each, path)));
  }
  if (typeof value !== 'object' || Array.isArray(value)) throw misshapen('object', value, path);
  const members = new Map<string, CelInput>();
  for (const [name, of] of Object.entries(shape.fields))
    members.set(name, valueOf(of, memberOf(value, name), `${path}.${name}`));
  return celMap(members);
}

function scalarOf(shape: Scalar, value: unknown, path: string): CelInput {
  if (shape === 'bool' && typeof value === 'boolean') return value;
  if (shape === 'int' && Number.isSafeInteger(value)) return BigInt(value as number);
  if (shape === 'double' && typeof value === 'number') return value;
  if (shape === 'string' && typeof value === 'string') return value;
  if (shape === 'timestamp' && value === '') return timestampFromMs(0);
  if (shape === 'timestamp' && typeof value === 'string') return fromJson(TimestampSchema, value);
  throw misshapen(shape, value, path);
}

const memberOf = (value: unknown, name: string): unknown =>
  typeof value === 'object' && value !== null && Object.hasOwn(value, name)
    ? (value as Record<string, unknown>)[name]
    : undefined;

const misshapen = (shape: string, value: unknown, path: string): Error =>
  new Error(`${path} must be of type ${shape}, not ${Array.isArray(value) ? 'list' : typeof value}`);
