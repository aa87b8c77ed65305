/**
 * It prints a file descriptor back as proto source. Covers what proto2 and proto3 files without services
 * hold, which is all that buf/validate/validate.proto needs; anything else is an error rather than a file
 * that silently lacks a part.
 */
import {
  type DescFile,
  type JsonObject,
  type JsonValue,
  type Registry,
  createRegistry,
  toJson,
} from '@bufbuild/protobuf';
import {
  type DescriptorProto,
  type EnumDescriptorProto,
  type FieldDescriptorProto,
  FieldDescriptorProto_Label as Label,
  FieldDescriptorProto_Type as Type,
  FieldOptionsSchema,
  FileOptionsSchema,
} from '@bufbuild/protobuf/wkt';

const NAMED: readonly Type[] = [Type.GROUP, Type.MESSAGE, Type.ENUM];

/**
 * It prints the file as proto source. `file` must have been made with everything it imports, so that its
 * options can be read.
 */
export function printProto(file: DescFile): string {
  const { proto } = file;
  if (proto.service.length > 0) throw new Error(`cannot print ${proto.name}: it has services`);
  const printer: Printer = { lines: [], proto3: proto.syntax === 'proto3', registry: createRegistry(file) };
  put(printer, 0, `syntax = "${proto.syntax === '' ? 'proto2' : proto.syntax}";`);
  put(printer, 0, `package ${proto.package};`);
  for (const path of proto.dependency) put(printer, 0, `import "${path}";`);
  const options = proto.options
    ? toJson(FileOptionsSchema, proto.options, { registry: printer.registry })
    : {};
  for (const [key, value] of Object.entries(options as JsonObject)) {
    put(printer, 0, `option ${optionName(key)} = ${textValue(value)};`);
  }
  for (const extension of proto.extension) {
    put(printer, 0, `extend ${extension.extendee} {`);
    putField(printer, 1, { field: extension });
    put(printer, 0, '}');
  }
  for (const desc of proto.enumType) putEnum(printer, 0, desc);
  for (const desc of proto.messageType) putMessage(printer, 0, desc);
  return `${printer.lines.join('\n')}\n`;
}

/** One file while it is printed. */
interface Printer {
  readonly lines: string[];
  readonly proto3: boolean;
  /** Extensions that options may hold. */
  readonly registry: Registry;
}

function put(printer: Printer, depth: number, text: string): void {
  printer.lines.push(`${'  '.repeat(depth)}${text}`);
}

function putMessage(printer: Printer, depth: number, desc: DescriptorProto): void {
  put(printer, depth, `message ${desc.name} {`);
  for (const nested of desc.enumType) putEnum(printer, depth + 1, nested);
  for (const nested of desc.nestedType) putMessage(printer, depth + 1, nested);
  for (const [index, field] of desc.field.entries()) {
    if (!Object.hasOwn(field, 'oneofIndex')) {
      putField(printer, depth + 1, { field });
      continue;
    }
    // The fields of a oneof stand together; its first one opens it and brings the others.
    const members = desc.field.filter(
      (other) => Object.hasOwn(other, 'oneofIndex') && other.oneofIndex === field.oneofIndex,
    );
    if (members[0] !== field) continue;
    put(printer, depth + 1, `oneof ${desc.oneofDecl[field.oneofIndex]?.name} {`);
    for (const member of desc.field.slice(index, index + members.length))
      putField(printer, depth + 2, { field: member, inOneof: true });
    put(printer, depth + 1, '}');
  }
  for (const { start, end } of desc.extensionRange)
    put(printer, depth + 1, `extensions ${range(start, end - 1)};`);
  for (const { start, end } of desc.reservedRange)
    put(printer, depth + 1, `reserved ${range(start, end - 1)};`);
  for (const name of desc.reservedName) put(printer, depth + 1, `reserved ${JSON.stringify(name)};`);
  put(printer, depth, '}');
}

function putEnum(printer: Printer, depth: number, desc: EnumDescriptorProto): void {
  put(printer, depth, `enum ${desc.name} {`);
  for (const value of desc.value) put(printer, depth + 1, `${value.name} = ${value.number};`);
  // Enum ranges include their end, message ranges do not.
  for (const { start, end } of desc.reservedRange) put(printer, depth + 1, `reserved ${range(start, end)};`);
  for (const name of desc.reservedName) put(printer, depth + 1, `reserved ${JSON.stringify(name)};`);
  put(printer, depth, '}');
}

function putField(
  printer: Printer,
  depth: number,
  { field, inOneof = false }: { readonly field: FieldDescriptorProto; readonly inOneof?: boolean },
): void {
  const repeated = field.label === Label.REPEATED ? 'repeated ' : '';
  const label = repeated || (inOneof || (printer.proto3 && !field.proto3Optional) ? '' : 'optional ');
  put(
    printer,
    depth,
    `${label}${typeName(field)} ${field.name} = ${field.number}${fieldOptions(printer, field)};`,
  );
}

function fieldOptions({ registry }: Printer, field: FieldDescriptorProto): string {
  if (field.defaultValue !== '') throw new Error(`cannot print the default value of ${field.name}`);
  const options = field.options ? toJson(FieldOptionsSchema, field.options, { registry }) : {};
  const parts = Object.entries(options as JsonObject).map(
    ([key, value]) => `${optionName(key)} = ${textValue(value)}`,
  );
  return parts.length > 0 ? ` [${parts.join(', ')}]` : '';
}

function typeName(field: FieldDescriptorProto): string {
  const name = NAMED.includes(field.type) ? field.typeName : Type[field.type].toLowerCase();
  if (name === '') throw new Error(`cannot print field ${field.name}: no name for type ${Type[field.type]}`);
  return name;
}

function range(first: number, last: number): string {
  if (first === last) return `${first}`;
  return `${first} to ${last >= 0x1fff_ffff ? 'max' : last}`;
}

function optionName(jsonName: string): string {
  return jsonName.startsWith('[') ? `(${jsonName.slice(1, -1)})` : snake(jsonName);
}

function snake(jsonName: string): string {
  return jsonName.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/** Writes a JSON value in protobuf's text format. JSON's string escapes are a subset of the text format's. */
function textValue(value: JsonValue): string {
  if (Array.isArray(value)) return `[${value.map(textValue).join(', ')}]`;
  if (value !== null && typeof value === 'object') {
    return `{${Object.entries(value)
      .map(([key, item]) => `${snake(key)}: ${textValue(item)}`)
      .join(', ')}}`;
  }
  return JSON.stringify(value);
}
