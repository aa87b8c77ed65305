/** Descriptors of a baseline, rewritten as if what was moved had always stood in its new place (moves.ts). */
import { create, equals } from '@bufbuild/protobuf';
import {
  type DescriptorProto,
  DescriptorProtoSchema,
  type EnumDescriptorProto,
  EnumDescriptorProtoSchema,
  type FileDescriptorProto,
  FileDescriptorProtoSchema,
  type FileDescriptorSet,
} from '@bufbuild/protobuf/wkt';
import { type Move, renamer } from './moves.ts';

type Place = 'messageType' | 'enumType';

/** A message or enum of a file itself. */
interface TopLevelType {
  readonly file: FileDescriptorProto;
  readonly place: Place;
  readonly type: DescriptorProto | EnumDescriptorProto;
}

/** Full names of all that a move can name. */
export function movableNames(image: FileDescriptorSet): ReadonlySet<string> {
  return new Set(
    image.file.flatMap((file) =>
      [...file.messageType, ...file.enumType].map(({ name }) => fullName(file, name)),
    ),
  );
}

/**
 * Rewrites `before` in place. `now` says in which file a new name stands. Returns what is wrong with it then,
 * one sentence each.
 */
export function moveImage(
  before: FileDescriptorSet,
  now: FileDescriptorSet,
  moves: readonly Move[],
): string[] {
  const made = moves.filter((move) => find(before, move.old) !== undefined);
  const rename = renamer(made);
  for (const file of before.file) renameReferences(file, rename);
  const problems = made.flatMap((move) => moveType(before, now, move) ?? []);
  importWhatIsUsed(before);
  const circle = putInOrder(before);
  const more = `files import each other after the moves that are listed, so that more must have moved: ${circle}`;
  return circle === undefined ? problems : [...problems, more];
}

function moveType(before: FileDescriptorSet, now: FileDescriptorSet, move: Move): string | undefined {
  const from = find(before, move.old);
  const to = find(now, move.new);
  if (!from || !to) return undefined; // falseMoves has said it.
  if (from.place !== to.place) return `${move.old} is no longer of its kind as ${move.new}`;
  remove(from);
  from.type.name = to.type.name;
  const twin = find(before, move.new);
  if (twin) return isSame(from, twin) ? undefined : `${move.old} was not the same as ${move.new}`;
  insert(fileLike(before, to.file), from);
  return undefined;
}

function find(image: FileDescriptorSet, name: string): TopLevelType | undefined {
  for (const file of image.file) {
    for (const place of ['messageType', 'enumType'] as const) {
      const type = file[place].find((candidate) => fullName(file, candidate.name) === name);
      if (type) return { file, place, type };
    }
  }
  return undefined;
}

function fullName(file: FileDescriptorProto, name: string): string {
  return `${file.package}.${name}`;
}

function remove({ file, place, type }: TopLevelType): void {
  const list: (DescriptorProto | EnumDescriptorProto)[] = file[place];
  list.splice(list.indexOf(type), 1);
}

function insert(file: FileDescriptorProto, { place, type }: TopLevelType): void {
  const list: (DescriptorProto | EnumDescriptorProto)[] = file[place];
  list.push(type);
}

function isSame({ type }: TopLevelType, { type: twin }: TopLevelType): boolean {
  if (type.$typeName === 'google.protobuf.DescriptorProto')
    return equals(DescriptorProtoSchema, type, twin as DescriptorProto);
  return equals(EnumDescriptorProtoSchema, type, twin as EnumDescriptorProto);
}

/**
 * Finds the file of that name; one that was not there yet is made, with the frame of what it is now and none
 * of its types.
 */
function fileLike(before: FileDescriptorSet, { name, package: of, syntax, options }: FileDescriptorProto) {
  const there = before.file.find((file) => file.name === name);
  if (there) return there;
  const made = create(FileDescriptorProtoSchema, { name, package: of, syntax });
  if (options) made.options = options;
  before.file.push(made);
  return made;
}

/** In descriptors, names of types begin with a dot. */
function renameReferences(file: FileDescriptorProto, rename: (name: string) => string): void {
  const renamed = (name: string) => (name === '' ? name : `.${rename(name.slice(1))}`);
  for (const field of fieldsOf(file.messageType)) field.typeName = renamed(field.typeName);
  for (const method of file.service.flatMap((service) => service.method)) {
    method.inputType = renamed(method.inputType);
    method.outputType = renamed(method.outputType);
  }
}

function fieldsOf(messages: readonly DescriptorProto[]): DescriptorProto['field'] {
  return messages.flatMap((message) => [...message.field, ...fieldsOf(message.nestedType)]);
}

/** It sets the imports of our own contracts anew. Other imports are for options and well-known types. */
function importWhatIsUsed(image: FileDescriptorSet): void {
  const homes = new Map<string, string>();
  for (const file of image.file)
    for (const { name } of [...file.messageType, ...file.enumType])
      homes.set(`.${fullName(file, name)}`, file.name);
  for (const file of image.file) {
    const names = [
      ...fieldsOf(file.messageType).map(({ typeName }) => typeName),
      ...file.service.flatMap(({ method }) => method.flatMap((one) => [one.inputType, one.outputType])),
    ];
    const used = names.flatMap((name) => homeOf(homes, name) ?? []);
    const kept = file.dependency.filter((path) => !homes.has(path) && !isContract(path));
    file.dependency = [...new Set([...kept, ...used])].filter((path) => path !== file.name);
    delete file.sourceCodeInfo; // Its paths are numbers of what may stand elsewhere now.
  }
}

function isContract(path: string): boolean {
  return path.startsWith('svc/') && !path.startsWith('svc/options/');
}

/** The file of a type, which may stand inside another one. */
function homeOf(homes: ReadonlyMap<string, string>, name: string): string | undefined {
  if (name === '') return undefined;
  return homes.get(name) ?? homeOf(homes, name.slice(0, Math.max(0, name.lastIndexOf('.'))));
}

/**
 * Orders files behind what they import. Where only a part of what moved between two files is listed, they
 * import each other.
 */
function putInOrder(image: FileDescriptorSet): string | undefined {
  const ordered = new Set<FileDescriptorProto>();
  const add = (file: FileDescriptorProto, above: readonly FileDescriptorProto[]): string | undefined => {
    if (ordered.has(file)) return undefined;
    if (above.includes(file))
      return [...above.slice(above.indexOf(file)), file].map(({ name }) => name).join(' → ');
    const imported = image.file.filter(({ name }) => file.dependency.includes(name));
    const circle = firstOf(imported, (next) => add(next, [...above, file]));
    ordered.add(file);
    return circle;
  };
  const circle = firstOf(image.file, (file) => add(file, []));
  if (circle === undefined) image.file = [...ordered];
  return circle;
}

function firstOf<T, R>(items: readonly T[], of: (item: T) => R | undefined): R | undefined {
  for (const item of items) {
    const found = of(item);
    if (found !== undefined) return found;
  }
  return undefined;
}
