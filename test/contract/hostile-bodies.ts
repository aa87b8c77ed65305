/**
 * Bodies made to cost, from a contract alone: lists and maps far beyond their bounds, fields that nobody
 * knows, nesting, groups, and one that is full up to the limit. Each fills what a request may unpack to;
 * compressed they are a thousandth of that.
 */
import { ScalarType, type DescField, type DescMessage } from '@bufbuild/protobuf';
import type { RpcInfo } from '@svc/proto/http/rpc.ts';

export interface HostileBody {
  readonly shape: string;
  readonly bytes: Buffer;
}

/** Field names from the request down to a field, the last one being what was looked for. */
type FieldPath = readonly DescField[];

function findField(
  desc: DescMessage,
  wanted: (field: DescField) => boolean,
  seen: readonly DescMessage[] = [],
): FieldPath | undefined {
  const own = desc.fields.find(wanted);
  if (own !== undefined) return [own];
  for (const field of desc.fields) {
    if (field.message === undefined || field.fieldKind === 'map' || seen.includes(field.message)) continue;
    const below = findField(field.message, wanted, [...seen, desc]);
    if (below !== undefined) return [field, ...below];
  }
  return undefined;
}

const listOf = (desc: DescMessage) => findField(desc, ({ fieldKind }) => fieldKind === 'list');
const mapOf = (desc: DescMessage) => findField(desc, ({ fieldKind }) => fieldKind === 'map');
const textOf = (desc: DescMessage) =>
  findField(desc, ({ fieldKind, scalar }) => fieldKind === 'scalar' && scalar === ScalarType.STRING);

/**
 * Says what the cost of reading an RPC's bodies depends on: the fields that hostile bodies fill, how deep
 * they stand and what they hold, and how much fits. RPCs that agree in it have decoders of one make.
 */
function shapeOf({ desc: { input, methodKind }, bodyBytesMax, auth, routes }: RpcInfo): string {
  const kindOf = ({ fieldKind, scalar, message, enum: words }: DescField): string =>
    [fieldKind, scalar ?? '', message === undefined ? '' : 'message', words === undefined ? '' : 'enum'].join(
      ' ',
    );
  const paths = [listOf(input), mapOf(input), textOf(input), input.fields.slice(0, 1)];
  const isOpen = auth === 'none' || auth === 'optional';
  const readsBody = routes[0] !== undefined && routes[0].body !== '';
  return JSON.stringify([
    paths.map((path) => path?.map(kindOf)),
    bodyBytesMax,
    methodKind,
    isOpen,
    readsBody,
  ]);
}

/** Returns one RPC of each shape, and those that are wanted by their ids: others would cost the same. */
export function oneOfEachShape(rpcs: readonly RpcInfo[], wanted: readonly string[] = []): readonly RpcInfo[] {
  const ofShapes = new Set(new Map(rpcs.map((rpc) => [shapeOf(rpc), rpc])).values());
  return rpcs.filter((rpc) => ofShapes.has(rpc) || wanted.includes(rpc.id));
}

/** Repeats a part as often as it is whole within so many bytes. */
function filled(part: string | Buffer, bytes: number): Buffer {
  const one = Buffer.from(part);
  return Buffer.alloc(Math.floor(bytes / one.length) * one.length, one);
}

function numbered(bytes: number, entry: (index: number) => string): string {
  const parts: string[] = [];
  for (let size = 0; ;) {
    const part = entry(parts.length);
    size += part.length + 1;
    if (size > bytes) return parts.join(',');
    parts.push(part);
  }
}

/** `{"outer":{"inner":<value>}}`, with the list that holds it where a step is one. */
function atPath(path: FieldPath, value: string): string {
  return path.reduceRight((inner, field, index) => {
    const isInnermost = index === path.length - 1;
    return `{"${field.jsonName}":${field.fieldKind === 'list' && !isInnermost ? `[${inner}]` : inner}}`;
  }, value);
}

function itemJson(field: DescField): string {
  if (field.message !== undefined) return '{}';
  return field.scalar === ScalarType.STRING || field.enum !== undefined ? '""' : '0';
}

/** Made once: these look the same whatever the contract says. */
const made = new Map<string, HostileBody>();

function common(shape: string, room: number, make: () => string | Buffer): HostileBody {
  const known = made.get(`${shape} ${room}`);
  if (known !== undefined) return known;
  const body = { shape, bytes: Buffer.from(make()) };
  made.set(`${shape} ${room}`, body);
  return body;
}

/** JSON as REST and Connect read it. */
export function hostileJson(rpc: RpcInfo): HostileBody[] {
  const { input } = rpc.desc;
  const room = rpc.bodyBytesMax - 512;
  const list = listOf(input);
  const map = mapOf(input);
  const text = textOf(input);
  const own: [string, string | undefined][] = [
    ['a huge list', list && atPath(list, `[${numbered(room, () => itemJson(list.at(-1) as DescField))}]`)],
    ['a huge map', map && atPath(map, `{${numbered(room, (index) => `"K${index}":""`)}}`)],
    ['a text up to the limit', text && atPath(text, JSON.stringify('ü'.repeat(Math.floor(room / 2) - 100)))],
  ];
  return [
    ...own.flatMap(([shape, body]) => (body === undefined ? [] : [{ shape, bytes: Buffer.from(body) }])),
    common('unknown fields', room, () => `{${numbered(room, (index) => `"u${index}":1`)}}`),
    common('deep nesting', room, () => `{"x":${'[{"x":'.repeat(Math.floor(room / 6))}`),
    common('white space', room, () => `{${' '.repeat(room)}}`),
  ];
}

/** More of the kind that are the same for every RPC, in JSON. */
export function furtherJson({ bodyBytesMax }: RpcInfo): HostileBody[] {
  const room = bodyBytesMax - 512;
  return [
    common('empty objects', room, () => `[${numbered(room, () => '{}')}]`),
    common('lists within a list', room, () => `{"x":[${numbered(room, () => '[[[]]]')}]}`),
    common('numbers', room, () => `{"x":[${numbered(room, (index) => `1e${index % 300}`)}]}`),
    common('escapes', room, () => `{"x":"${'\\u0041'.repeat(Math.floor(room / 6) - 100)}"}`),
    common('one key again and again', room, () => `{${numbered(room, () => '"x":1')}}`),
  ];
}

function varint(value: number): Buffer {
  const bytes: number[] = [];
  let left = value;
  for (; left > 127; left = Math.floor(left / 128)) bytes.push((left % 128) | 0x80);
  return Buffer.from([...bytes, left]);
}

const tag = (number: number, type: number): Buffer => varint(number * 8 + type);
const delimited = (number: number, content: Uint8Array): Buffer =>
  Buffer.concat([tag(number, 2), varint(content.length), content]);

const wireAtPath = (path: FieldPath, innermost: Buffer): Buffer =>
  path.slice(0, -1).reduceRight((inner, field) => delimited(field.number, inner), innermost);

function wireItem(field: DescField): Buffer {
  if (field.message !== undefined || field.scalar === ScalarType.STRING || field.scalar === ScalarType.BYTES)
    return Buffer.from([...tag(field.number, 2), 0]);
  return Buffer.from([...tag(field.number, 0), 1]);
}

function wireMap(field: DescField, room: number): Buffer {
  const parts: Buffer[] = [];
  for (let size = 0; size < room - 32; size += parts.at(-1)?.length ?? 0)
    parts.push(delimited(field.number, delimited(1, Buffer.from(`K${parts.length}`))));
  return Buffer.concat(parts);
}

/** Protobuf as Connect, gRPC and gRPC-Web read it. */
export function hostileWire(rpc: RpcInfo): HostileBody[] {
  const { input } = rpc.desc;
  const room = rpc.bodyBytesMax - 512;
  const list = listOf(input);
  const map = mapOf(input);
  const text = textOf(input);
  const first = input.fields[0];
  const own: [string, Buffer | undefined][] = [
    ['a huge list', list && wireAtPath(list, filled(wireItem(list.at(-1) as DescField), room))],
    ['a huge map', map && wireAtPath(map, wireMap(map.at(-1) as DescField, room))],
    ['one field again and again', first && filled(wireItem(first), room)],
    [
      'a text up to the limit',
      text && wireAtPath(text, delimited((text.at(-1) as DescField).number, filled('ü', room - 100))),
    ],
  ];
  return [
    ...own.flatMap(([shape, bytes]) => (bytes === undefined ? [] : [{ shape, bytes }])),
    common('unknown fields', room, () => filled(Buffer.from([...tag(1_000, 0), 1]), room)),
    common('nested groups', room, () => filled(tag(1_000, 3), room)),
  ];
}

/** More of the kind that are the same for every RPC, on the wire. */
export function furtherWire({ bodyBytesMax }: RpcInfo): HostileBody[] {
  const room = bodyBytesMax - 512;
  return [
    common('unknown texts', room, () => filled(Buffer.from([...tag(500, 2), 0]), room)),
    common('groups of the first field', room, () => filled(tag(1, 3), room)),
    common('varints without an end', room, () => filled(Buffer.from([0xff]), room)),
  ];
}
