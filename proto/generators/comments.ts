/**
 * Leading comments of proto elements, which are the API reference: help texts and documentation are made of
 * them.
 */
import type {
  DescEnum,
  DescEnumValue,
  DescField,
  DescMessage,
  DescMethod,
  DescService,
} from '@bufbuild/protobuf';
import type { FileDescriptorProto } from '@bufbuild/protobuf/wkt';
import { perKey } from '../http/per-key.ts';

type Commented = DescEnum | DescEnumValue | DescField | DescMessage | DescMethod | DescService;

// Field numbers of google.protobuf.FileDescriptorProto and its parts; a comment's place is a path of them.
const FILE_MESSAGE = 4;
const FILE_ENUM = 5;
const FILE_SERVICE = 6;
const MESSAGE_FIELD = 2;
const MESSAGE_NESTED = 3;
const MESSAGE_ENUM = 4;
const ENUM_VALUE = 2;
const SERVICE_METHOD = 2;

const commentsOf = perKey(
  ({ sourceCodeInfo }: FileDescriptorProto): ReadonlyMap<string, string> =>
    new Map(
      (sourceCodeInfo?.location ?? [])
        .filter(({ leadingComments }) => leadingComments !== '')
        .map(({ path, leadingComments }) => [path.join('.'), tidy(leadingComments)]),
    ),
);

/** It returns the comment above the element, a line for each paragraph, or `''`. */
export function commentOf(desc: Commented): string {
  const file =
    desc.kind === 'field' || desc.kind === 'enum_value' || desc.kind === 'rpc' ? desc.parent.file : desc.file;
  return commentsOf(file.proto).get(pathOf(desc).join('.')) ?? '';
}

function pathOf(desc: Commented): number[] {
  switch (desc.kind) {
    case 'message':
      return desc.parent
        ? [...pathOf(desc.parent), MESSAGE_NESTED, desc.parent.proto.nestedType.indexOf(desc.proto)]
        : [FILE_MESSAGE, desc.file.proto.messageType.indexOf(desc.proto)];
    case 'enum':
      return desc.parent
        ? [...pathOf(desc.parent), MESSAGE_ENUM, desc.parent.proto.enumType.indexOf(desc.proto)]
        : [FILE_ENUM, desc.file.proto.enumType.indexOf(desc.proto)];
    case 'service':
      return [FILE_SERVICE, desc.file.proto.service.indexOf(desc.proto)];
    case 'field':
      return [...pathOf(desc.parent), MESSAGE_FIELD, desc.parent.proto.field.indexOf(desc.proto)];
    case 'enum_value':
      return [...pathOf(desc.parent), ENUM_VALUE, desc.parent.proto.value.indexOf(desc.proto)];
    case 'rpc':
      return [...pathOf(desc.parent), SERVICE_METHOD, desc.parent.proto.method.indexOf(desc.proto)];
  }
}

/** Paragraphs are joined: where lines end is the layout of the contract alone. */
function tidy(comment: string): string {
  return comment
    .trim()
    .split(/\n\s*\n/)
    .map((paragraph) => paragraph.trim().replace(/\s*\n\s*/g, ' '))
    .join('\n\n');
}
