/**
 * Reads the contract options as plain JSON through the descriptors at hand rather than through generated
 * code, so that generating needs no generated code first: a changed option counts in the very run that reads
 * it.
 */
import {
  type DescEnumValue,
  type DescField,
  type DescMessage,
  type DescMethod,
  type DescService,
  type Message,
  type Registry,
  getOption,
  hasOption,
  isMessage,
  toJson,
} from '@bufbuild/protobuf';
import type { Field, Operation, Resource, Shape, Value } from '../gen/svc/options/v1/options_pb.ts';

/**
 * An option in proto JSON. What is absent has the default value, and an enum is the name of its value, or a
 * number that has none.
 */
type OptionJson<M> = {
  readonly [K in Exclude<keyof M, keyof Message>]?: ValueJson<NonNullable<M[K]>>;
};
type ValueJson<T> = T extends string | boolean
  ? T
  : T extends readonly (infer Item)[]
    ? readonly ValueJson<Item>[]
    : T extends number
      ? NumberJson<`${T}`>
      : OptionJson<T>;
type NumberJson<Text extends string> = `${number}` extends Text ? number : string | number;

export type ResourceOption = OptionJson<Resource>;
export type OperationOption = OptionJson<Operation>;
export type FieldOption = OptionJson<Field>;

/** It holds what an RPC says, and what it has from its service alone. */
export type CompleteOperation = OperationOption & Pick<ResourceOption, 'whenOff'>;

/** google.api.HttpRule in proto JSON. */
export interface HttpRule {
  readonly get?: string;
  readonly put?: string;
  readonly post?: string;
  readonly delete?: string;
  readonly patch?: string;
  readonly custom?: { readonly kind?: string; readonly path?: string };
  readonly body?: string;
  readonly responseBody?: string;
  readonly additionalBindings?: readonly HttpRule[];
}

export interface OptionReader {
  resource(desc: DescService): ResourceOption | undefined;
  /** As it stands in the contract; defaults.ts knows what is left out. */
  operation(desc: DescMethod): OperationOption | undefined;
  http(desc: DescMethod): HttpRule | undefined;
  field(desc: DescField): FieldOption;
  value(desc: DescEnumValue): OptionJson<Value>;
  shape(desc: DescMessage): OptionJson<Shape>;
}

export function createOptionReader(registry: Registry): OptionReader {
  const read = (
    desc: DescService | DescMethod | DescMessage | DescField | DescEnumValue,
    typeName: string,
  ): unknown => {
    const extension = registry.getExtension(typeName);
    if (!extension?.message || !hasOption(desc, extension)) return undefined;
    const value: unknown = getOption(desc, extension);
    if (!isMessage(value)) throw new Error(`option ${typeName} is not a message`);
    return toJson(extension.message, value as Message, { registry });
  };
  // The types above are those of the generated code; a test covers every field.
  return {
    resource: (desc) => read(desc, 'svc.options.v1.resource') as ResourceOption | undefined,
    operation: (desc) => read(desc, 'svc.options.v1.op') as OperationOption | undefined,
    http: (desc) => read(desc, 'google.api.http') as HttpRule | undefined,
    field: (desc) => (read(desc, 'svc.options.v1.field') ?? {}) as FieldOption,
    value: (desc) => (read(desc, 'svc.options.v1.value') ?? {}) as OptionJson<Value>,
    shape: (desc) => (read(desc, 'svc.options.v1.shape') ?? {}) as OptionJson<Shape>,
  };
}
