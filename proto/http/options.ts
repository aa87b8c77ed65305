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

/** svc.options.v1.Resource in proto JSON; absent is the default value. */
export interface ResourceOption {
  readonly sdk?: string;
  readonly cli?: string;
  readonly summary?: string;
  readonly feature?: string;
  readonly audience?: string;
  readonly area?: string | number;
  readonly readScope?: string | number;
  readonly writeScope?: string | number;
  readonly noScope?: boolean;
  readonly stability?: string | number;
  readonly whenOff?: string | number;
}

/** svc.options.v1.Operation in proto JSON. */
export interface OperationOption {
  readonly sdk?: string;
  readonly args?: readonly string[];
  readonly optionalArgs?: readonly string[];
  readonly command?: string;
  readonly commandArgs?: readonly string[];
  readonly auth?: string | number;
  readonly scope?: string | number;
  readonly role?: string | number;
  readonly feature?: string;
  readonly idempotency?: string | number;
  readonly successStatus?: number;
  readonly page?: { readonly items?: string; readonly defaultLimit?: number; readonly maxLimit?: number };
  readonly stream?: { readonly idField?: string; readonly resumeField?: string };
  readonly destructive?: boolean;
  readonly timeoutMs?: number;
  readonly bodyBytesMax?: number;
  readonly rateLimit?: string;
  readonly stability?: string | number;
  readonly examples?: readonly { readonly title?: string; readonly cli?: string; readonly sdk?: string }[];
  readonly sdkReturns?: string;
  readonly columns?: readonly string[];
  readonly idTokens?: boolean;
  readonly noScope?: boolean;
  readonly sessionOnly?: boolean;
  readonly emptyWithout?: string;
}

/** What an RPC says, and what it has from its service alone. */
export type CompleteOperation = OperationOption & Pick<ResourceOption, 'whenOff'>;

/** svc.options.v1.Field in proto JSON. */
export interface FieldOption {
  readonly sensitive?: boolean;
  readonly flag?: string;
  readonly short?: string;
  readonly hidden?: boolean;
  readonly placeholder?: string;
  readonly cliFormat?: string;
  readonly rest?: boolean;
  readonly query?: boolean;
  readonly sessionOnly?: boolean;
  readonly document?: string | number;
  readonly documentBytesMax?: number;
  readonly packed?: boolean;
}

/** svc.options.v1.Shape in proto JSON. */
export interface ShapeOption {
  readonly bare?: string;
}

/** svc.options.v1.Value in proto JSON. */
export interface ValueOption {
  readonly name?: string;
}

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
  value(desc: DescEnumValue): ValueOption;
  shape(desc: DescMessage): ShapeOption;
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
  // The descriptors of these options are the ones the interfaces above were written from; a test covers every
  // field.
  return {
    resource: (desc) => read(desc, 'svc.options.v1.resource') as ResourceOption | undefined,
    operation: (desc) => read(desc, 'svc.options.v1.op') as OperationOption | undefined,
    http: (desc) => read(desc, 'google.api.http') as HttpRule | undefined,
    field: (desc) => (read(desc, 'svc.options.v1.field') ?? {}) as FieldOption,
    value: (desc) => (read(desc, 'svc.options.v1.value') ?? {}) as ValueOption,
    shape: (desc) => (read(desc, 'svc.options.v1.shape') ?? {}) as ShapeOption,
  };
}
