/** Messages, fields and enums of the model, with the spelling of JSON and the rules that bind callers. */
import {
  type DescEnum,
  type DescField,
  type DescMessage,
  ScalarType,
  getOption,
  hasOption,
} from '@bufbuild/protobuf';
import {
  field as validateRules,
  type FieldRules as ValidateRules,
} from '@bufbuild/protovalidate/gen/buf/validate/validate_pb.js';
import type { Behavior } from './behaviors.ts';
import { commentOf } from './comments.ts';
import type { Problems } from './contract-error.ts';
import { flagOf } from '../http/defaults.ts';
import { enumValueJson } from '../http/enum-names.ts';
import { enumRules, takes } from '../http/enum-words.ts';
import { limitOf, rulesOf } from './field-rules.ts';
import type { CliDocument, EnumModel, FieldModel, FieldRules, FieldType, MessageModel } from './model.ts';
import type { FieldOption, OptionReader } from '../http/options.ts';
import type { Role } from '../http/rpc.ts';

export interface MessageBuilder {
  message(desc: DescMessage): MessageModel;
  enum(desc: DescEnum): EnumModel;
  /** Everything built so far, sorted by type name. */
  all(): { messages: readonly MessageModel[]; enums: readonly EnumModel[] };
}

const WELL_KNOWN: Readonly<Record<string, FieldType>> = {
  'google.protobuf.Timestamp': { kind: 'timestamp' },
  'google.protobuf.Duration': { kind: 'duration' },
  'google.protobuf.FieldMask': { kind: 'fieldMask' },
  'google.protobuf.Struct': { kind: 'struct' },
  'google.protobuf.Value': { kind: 'value' },
  'google.protobuf.ListValue': { kind: 'list' },
  'google.protobuf.Empty': { kind: 'empty' },
  'google.protobuf.Any': { kind: 'any' },
  'google.api.HttpBody': { kind: 'httpBody' },
};

const SCALAR_TYPES: Readonly<Record<ScalarType, FieldType>> = {
  [ScalarType.DOUBLE]: { kind: 'number' },
  [ScalarType.FLOAT]: { kind: 'number' },
  [ScalarType.INT64]: { kind: 'integer', unsigned: false, wide: true },
  [ScalarType.UINT64]: { kind: 'integer', unsigned: true, wide: true },
  [ScalarType.INT32]: { kind: 'integer', unsigned: false, wide: false },
  [ScalarType.FIXED64]: { kind: 'integer', unsigned: true, wide: true },
  [ScalarType.FIXED32]: { kind: 'integer', unsigned: true, wide: false },
  [ScalarType.BOOL]: { kind: 'boolean' },
  [ScalarType.STRING]: { kind: 'string' },
  [ScalarType.BYTES]: { kind: 'bytes' },
  [ScalarType.UINT32]: { kind: 'integer', unsigned: true, wide: false },
  [ScalarType.SFIXED32]: { kind: 'integer', unsigned: false, wide: false },
  [ScalarType.SFIXED64]: { kind: 'integer', unsigned: false, wide: true },
  [ScalarType.SINT32]: { kind: 'integer', unsigned: false, wide: false },
  [ScalarType.SINT64]: { kind: 'integer', unsigned: false, wide: true },
};

/** Ends the comment of a field that no API key may set. */
export const SESSION_ONLY = 'It is set in a session, never with an API key.';

export function createMessageBuilder(
  options: OptionReader,
  behaviorOf: (desc: DescField) => Behavior,
  problems: Problems,
): MessageBuilder {
  const messages = new Map<string, MessageModel>();
  const enums = new Map<string, EnumModel>();

  const message = (desc: DescMessage): MessageModel => {
    const known = messages.get(desc.typeName);
    if (known) return known;
    const fields: FieldModel[] = [];
    const { bare } = options.shape(desc);
    const model: MessageModel = {
      desc,
      typeName: desc.typeName,
      name: joinedName(desc),
      package: desc.file.proto.package,
      comment: commentOf(desc),
      fields,
      ...(bare !== undefined && { bare }),
    };
    // Known before its fields are built, because messages may hold themselves.
    messages.set(desc.typeName, model);
    fields.push(...desc.fields.map(field));
    if (bare !== undefined) checkBare(model, bare, problems);
    return model;
  };

  const enumOf = (desc: DescEnum): EnumModel => {
    const known = enums.get(desc.typeName);
    if (known) return known;
    const model = buildEnum(desc, options, problems);
    enums.set(desc.typeName, model);
    return model;
  };

  const typeOf = (desc: DescField): FieldType => {
    if (desc.enum) return { kind: 'enum', enum: enumOf(desc.enum) };
    if (desc.message)
      return WELL_KNOWN[desc.message.typeName] ?? { kind: 'message', message: message(desc.message) };
    return SCALAR_TYPES[desc.scalar];
  };

  const field = (desc: DescField): FieldModel =>
    buildField(desc, typeOf(desc), {
      option: options.field(desc),
      behavior: behaviorOf(desc),
      flag: flagOf(options, desc, problems),
    });

  return {
    message,
    enum: enumOf,
    all: () => ({ messages: sorted(messages), enums: sorted(enums) }),
  };
}

function checkBare(model: MessageModel, bare: string, problems: Problems): void {
  const field = model.fields.find((candidate) => candidate.name === bare);
  if (field?.type.kind !== 'boolean' || field.repeated || field.optional)
    problems.add(model.typeName, `shape.bare "${bare}" is no singular bool field of it`);
}

export function buildEnum(desc: DescEnum, options: OptionReader, problems: Problems): EnumModel {
  const values = desc.values
    .filter((value) => !(value.number === 0 && value.name.endsWith('_UNSPECIFIED')))
    .map((value) => {
      const { name, leastRole, agents } = options.value(value);
      return {
        name: value.name,
        json: enumValueJson(value.name, desc.name, name),
        number: value.number,
        comment: commentOf(value),
        ...(leastRole !== undefined && {
          leastRole: String(leastRole).replace('ROLE_', '').toLowerCase() as Role,
        }),
        ...(agents === true && { agents }),
      };
    });
  for (const [index, value] of values.entries()) {
    const twin = values.findIndex((other) => other.json === value.json);
    if (twin !== index) {
      problems.add(
        desc.typeName,
        `${values[twin]?.name} and ${value.name} are both spelled "${value.json}" in JSON`,
      );
    }
  }
  return {
    desc,
    typeName: desc.typeName,
    name: joinedName(desc),
    package: desc.file.proto.package,
    comment: commentOf(desc),
    values,
  };
}

/** Holds what the options of a field say, together with what follows without them. */
interface FieldSaid {
  readonly option: FieldOption;
  readonly behavior: Behavior;
  readonly flag: string | undefined;
}

function buildField(desc: DescField, type: FieldType, { option, behavior, flag }: FieldSaid): FieldModel {
  const rules = hasOption(desc, validateRules) ? getOption(desc, validateRules) : undefined;
  const required = behavior.required || (rules?.required ?? false);
  const optional = desc.proto.proto3Optional || desc.oneof !== undefined;
  return {
    desc,
    name: desc.name,
    json: desc.jsonName,
    local: desc.localName,
    comment: option.sessionOnly === true ? `${commentOf(desc)} ${SESSION_ONLY}` : commentOf(desc),
    type,
    repeated: desc.fieldKind === 'list',
    map: desc.fieldKind === 'map',
    optional,
    ...(desc.oneof !== undefined && { oneof: desc.oneof.name }),
    required,
    present: required || !optional,
    outputOnly: behavior.outputOnly,
    sensitive: option.sensitive ?? false,
    rules: { ...rulesOf(desc, rules), ...wordsOf(type, rules) },
    ...withLimit(option, rules),
    ...withPacking(option, rules),
    cli: {
      ...(flag !== undefined && { flag }),
      ...(option.short !== undefined && { short: option.short }),
      ...(option.placeholder !== undefined && { placeholder: option.placeholder }),
      ...(option.cliFormat !== undefined && { format: option.cliFormat }),
      hidden: option.hidden ?? false,
      rest: option.rest ?? false,
      ...withDocument(desc, type, option),
    },
    inQuery: option.query ?? false,
    sessionOnly: option.sessionOnly ?? false,
  };
}

function withLimit(option: FieldOption, rules: ValidateRules | undefined): Pick<FieldModel, 'limit'> {
  const bytes = option.documentBytesMax ?? 0;
  const limit = bytes > 0 ? { bytes } : limitOf(rules);
  return limit === undefined ? {} : { limit };
}

function withPacking(
  { packed }: FieldOption,
  rules: ValidateRules | undefined,
): Pick<FieldModel, 'packedAbove'> {
  const sent = packed === true ? limitOf(rules) : undefined;
  return sent !== undefined && 'bytes' in sent ? { packedAbove: sent.bytes } : {};
}

/**
 * Bytes and free-form JSON are files; of other JSON a flag is one value, and a string is a document where its
 * option says so.
 */
function withDocument(
  desc: DescField,
  { kind }: FieldType,
  { document }: FieldOption,
): { readonly document?: CliDocument } {
  if (document === 'DOCUMENT_FILE' || document === 'DOCUMENT_TEXT')
    return { document: document === 'DOCUMENT_FILE' ? 'file' : 'text' };
  const isOne = desc.fieldKind !== 'list' && desc.fieldKind !== 'map';
  if (isOne && ['bytes', 'struct', 'value', 'list'].includes(kind)) return { document: 'file' };
  return ['message', 'any', 'empty'].includes(kind) ? { document: 'text' } : {};
}

/** The words that rules leave of an enum; nothing where they leave all. */
function wordsOf(type: FieldType, rules: ValidateRules | undefined): Pick<FieldRules, 'in'> {
  if (type.kind !== 'enum' || rules?.type.case !== 'enum') return {};
  const { values } = type.enum;
  const taken = values.filter(({ number }) => takes(enumRules(rules), number));
  return taken.length === values.length ? {} : { in: taken.map(({ json }) => json) };
}

function sorted<T extends { readonly typeName: string }>(models: Map<string, T>): T[] {
  return [...models.values()].sort((a, b) => (a.typeName < b.typeName ? -1 : 1));
}

/** Name without the package: `RunLimits` for the message `Limits` inside `Run`. */
function joinedName(desc: DescMessage | DescEnum): string {
  return desc.parent ? `${joinedName(desc.parent)}${desc.name}` : desc.name;
}
