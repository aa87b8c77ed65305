/**
 * Prints cli/gen/answers.ts, which says what fields the answer of a command has, so that the command line
 * knows a misspelt one before it asks for anything. It is loaded when fields are picked.
 */
import type { FieldModel, MessageModel, Model } from './model.ts';
import { HEADER, literal, propertyKey } from './text.ts';

export function printAnswers(model: Model): string {
  const rpcs = model.services
    .flatMap((service) => service.rpcs)
    .flatMap((rpc) => {
      const part = rpc.page?.items ?? rpc.sdk?.returns;
      const message = part === undefined ? rpc.response : messageOf(part);
      const words = rpc.cli && [rpc.cli.group, ...rpc.cli.words].join(' ');
      return words === undefined || rpc.raw || message === undefined ? [] : [{ words, message }];
    })
    .sort((a, b) => (a.words < b.words ? -1 : 1));
  const reached = new Map<string, MessageModel>();
  for (const { message } of rpcs) reach(message, reached);
  const shapes = [...reached.values()].sort((a, b) => (a.typeName < b.typeName ? -1 : 1));
  return [
    HEADER,
    "import type { ShapeSpec } from '../command.ts';",
    '',
    '/** They say of each field of a message what message it holds: nothing is plain, * is anything. */',
    'export const shapes: Readonly<Record<string, ShapeSpec>> = {',
    ...shapes.map((message) => `  ${propertyKey(message.typeName)}: ${literal(shapeOf(message))},`),
    '};',
    '',
    '/** Answers of commands, or the things that they list. */',
    'export const answers: Readonly<Record<string, string>> = {',
    ...rpcs.map(({ words, message }) => `  ${propertyKey(words)}: ${literal(message.typeName)},`),
    '};',
    '',
  ].join('\n');
}

function reach(message: MessageModel, reached: Map<string, MessageModel>): void {
  if (reached.has(message.typeName)) return;
  reached.set(message.typeName, message);
  for (const field of message.fields) {
    const inner = messageOf(field);
    if (inner !== undefined) reach(inner, reached);
  }
}

function shapeOf({ fields }: MessageModel): Readonly<Record<string, string>> {
  return Object.fromEntries(
    fields.map((field) => [field.json, isOpen(field) ? '*' : (messageOf(field)?.typeName ?? '')]),
  );
}

/** The keys of a map, and of JSON that is anybody's, are not known. */
function isOpen({ map, type }: FieldModel): boolean {
  return map || ['struct', 'value', 'any'].includes(type.kind);
}

function messageOf({ type, map }: FieldModel): MessageModel | undefined {
  return type.kind === 'message' && !map ? type.message : undefined;
}
