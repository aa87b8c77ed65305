/** Makes random messages of any type, for property tests: every field kind, extreme values included. */
import {
  create,
  fromJson,
  ScalarType,
  type DescField,
  type DescMessage,
  type JsonValue,
  type Message,
} from '@bufbuild/protobuf';
import { FeatureSet_FieldPresence, timestampFromMs, ValueSchema } from '@bufbuild/protobuf/wkt';
import fc from 'fast-check';
import { file_google_api_annotations } from '../../gen/google/api/annotations_pb.ts';
import { rpcs } from '../../gen/rpcs.ts';

/** Every message type that the RPCs reach, sorted by name. */
export function allMessages(): DescMessage[] {
  const found = new Map<string, DescMessage>();
  const visit = (desc: DescMessage): void => {
    if (found.has(desc.typeName) || desc.typeName.startsWith('google.')) return;
    found.set(desc.typeName, desc);
    for (const field of desc.fields) if (field.message !== undefined) visit(field.message);
  };
  for (const rpc of rpcs) {
    visit(rpc.desc.input);
    visit(rpc.desc.output);
    for (const desc of rpc.desc.parent.file.messages) visit(desc);
  }
  for (const desc of file_google_api_annotations.dependencies.flatMap((file) => file.messages)) {
    if (desc.file.edition === rpcs[0]?.desc.parent.file.edition) found.set(desc.typeName, desc);
  }
  return [...found.values()].sort((a, b) => (a.typeName < b.typeName ? -1 : 1));
}

const text = fc
  .string({ unit: 'grapheme', maxLength: 12 })
  .filter((value) => !value.includes('\0') && value !== '__proto__');

function scalar(type: ScalarType): fc.Arbitrary<unknown> {
  switch (type) {
    case ScalarType.STRING:
      return text;
    case ScalarType.BOOL:
      return fc.boolean();
    case ScalarType.BYTES:
      return fc.uint8Array({ maxLength: 8 });
    case ScalarType.DOUBLE:
      // NaN is equal to nothing, not even itself; it has its own test.
      return fc.double({ noNaN: true }).map((value) => value + 0);
    case ScalarType.FLOAT:
      return fc.float({ noNaN: true }).map((value) => value + 0);
    case ScalarType.UINT32:
    case ScalarType.FIXED32:
      return fc.oneof(fc.nat(), fc.constantFrom(0, 0xffff_ffff));
    case ScalarType.INT64:
    case ScalarType.SINT64:
    case ScalarType.SFIXED64:
      return fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n });
    case ScalarType.UINT64:
    case ScalarType.FIXED64:
      return fc.bigInt({ min: 0n, max: 2n ** 64n - 1n });
    default:
      return fc.integer({ min: -0x8000_0000, max: 0x7fff_ffff });
  }
}

const time = fc
  .tuple(
    fc.integer({ min: -62_135_596_800, max: 253_402_300_799 }),
    fc.oneof(fc.constantFrom(0, 5_000_000, 7_000), fc.integer({ min: 0, max: 999_999_999 })),
  )
  .map(([seconds, nanos]) => ({ ...timestampFromMs(0), seconds: BigInt(seconds), nanos }));

/** Values of a field of google.protobuf.Struct, which are plain JSON objects. */
const struct = fc.letrec<{ object: Record<string, unknown>; value: unknown }>((tie) => ({
  object: fc.dictionary(text, tie('value'), { maxKeys: 3, noNullPrototype: true }),
  value: fc.oneof(
    { maxDepth: 2 },
    fc.constant(null),
    fc.boolean(),
    fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => value + 0),
    text,
    fc.array(tie('value'), { maxLength: 3 }),
    tie('object'),
  ),
})).object;

function single(field: DescField, depth: number): fc.Arbitrary<unknown> {
  if (field.message?.typeName === 'google.protobuf.Timestamp') return time;
  if (field.message?.typeName === 'google.protobuf.Struct') return struct;
  // One without a value has no JSON form.
  if (field.message?.typeName === 'google.protobuf.Value')
    return struct.map((value) => fromJson(ValueSchema, value as JsonValue));
  if (field.message !== undefined) return messageOf(field.message, depth + 1);
  if (field.enum !== undefined) return fc.constantFrom(...field.enum.values.map((value) => value.number));
  return scalar(field.scalar as ScalarType);
}

function valueOf(field: DescField, depth: number): fc.Arbitrary<unknown> {
  const one = single(field, depth);
  if (field.fieldKind === 'list') return fc.array(one, { maxLength: 3 });
  if (field.fieldKind === 'map') return fc.dictionary(text, one, { maxKeys: 3, noNullPrototype: true });
  return field.presence === FeatureSet_FieldPresence.IMPLICIT ? one : fc.option(one, { nil: undefined });
}

/** Makes messages whose depth is bounded: below four levels no message field is set. */
export function messageOf(desc: DescMessage, depth = 0): fc.Arbitrary<Message> {
  const shape: Record<string, fc.Arbitrary<unknown>> = {};
  const tooDeep = (field: DescField): boolean => depth >= 4 && field.message !== undefined;
  for (const member of desc.members) {
    if (member.kind === 'oneof') {
      const choices = member.fields.filter((field) => !tooDeep(field));
      shape[member.localName] = fc.oneof(
        fc.constant({ case: undefined }),
        ...choices.map((field) => single(field, depth).map((value) => ({ case: field.localName, value }))),
      );
    } else if (!tooDeep(member)) {
      shape[member.localName] = valueOf(member, depth);
    }
  }
  return fc.record(shape).map((init) => create(desc, init));
}
