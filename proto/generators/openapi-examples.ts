/**
 * Makes examples of requests and answers from the contract: what a comment names ("such as `main`", an id's
 * `bld_…`, "Default: 50"), else what the type, the rules and the name of a field say. Each fits the rules of
 * its field; one for which nothing fits is a mistake of the contract, which says then what to add.
 */
import { ContractError } from './contract-error.ts';
import { createIdExamples, type IdExamples } from './openapi-example-ids.ts';
import { FORMATTED, NAMED, TEXTS } from './openapi-example-texts.ts';
import type { FieldModel, FieldRules, MessageModel, Model } from './model.ts';
import type { Json, JsonObject } from './openapi-schemas.ts';
import type { Direction } from './type-plan.ts';

export interface Examples {
  message(message: MessageModel, direction: Direction): Json;
  field(field: FieldModel, direction: Direction): Json;
  /** An object of these fields. */
  object(fields: readonly FieldModel[], direction: Direction): JsonObject;
}

/** Place of an example: messages around it are not shown in it again. */
interface Place {
  readonly direction: Direction;
  readonly within: readonly MessageModel[];
}

export function createExamples(model: Model): Examples {
  const ids = createIdExamples(model);
  return {
    message: (message, direction) => messageExample(ids, message, { direction, within: [] }),
    field: (field, direction) => fieldExample(ids, field, { direction, within: [] }),
    object: (fields, direction) => objectExample(ids, fields, { direction, within: [] }),
  };
}

function messageExample(ids: IdExamples, message: MessageModel, { direction, within }: Place): Json {
  if (message.bare !== undefined) return true;
  const fields = message.fields.filter((field) => direction === 'output' || !field.outputOnly);
  return objectExample(ids, fields, { direction, within: [...within, message] });
}

/** Shows what is always there, and of an object that may be empty the first field that it can have. */
function objectExample(ids: IdExamples, fields: readonly FieldModel[], place: Place): JsonObject {
  const shown = fields.filter((field) => !isWithin(field, place));
  const always = shown.filter((field) => (place.direction === 'output' ? field.present : field.required));
  const chosen = always.length > 0 ? always : shown.slice(0, 1);
  // A list of what it stands in is there, and empty.
  const inner = fields.filter((field) => isWithin(field, place) && field.repeated && field.present);
  const entries = chosen.map((field): [string, Json] => [field.json, fieldExample(ids, field, place)]);
  return Object.fromEntries([...entries, ...inner.map((field): [string, Json] => [field.json, []])]);
}

function isWithin({ type }: FieldModel, { within }: Place): boolean {
  return type.kind === 'message' && within.includes(type.message);
}

function fieldExample(ids: IdExamples, field: FieldModel, place: Place): Json {
  const { items = {}, ...own } = field.rules;
  if (field.map) return { [mapKey(field)]: itemExample(ids, { field, rules: items }, place) };
  if (!field.repeated) return itemExample(ids, { field, rules: own }, place);
  return [itemExample(ids, { field, rules: items }, place)];
}

function mapKey(field: FieldModel): string {
  return samplesOf(field.comment)[0] ?? 'name';
}

interface Item {
  readonly field: FieldModel;
  readonly rules: FieldRules;
}

function itemExample(ids: IdExamples, item: Item, place: Place): Json {
  const { type, comment } = item.field;
  switch (type.kind) {
    case 'string':
      return textExample(ids, item, place);
    case 'integer': {
      const number = numberExample(item);
      return type.wide ? String(number) : number;
    }
    case 'number':
      return numberExample(item);
    case 'boolean':
      return !/Default: false|\bempty\b/.test(comment);
    case 'enum':
      return String(item.rules.in?.[0] ?? type.enum.values[0]?.json);
    case 'message':
      return messageExample(ids, type.message, place);
    case 'timestamp':
      return '2026-01-15T09:30:00Z';
    case 'duration':
      return '30s';
    case 'bytes':
    case 'httpBody':
      return 'c3Zj';
    case 'fieldMask':
    case 'value':
      return 'name';
    case 'struct':
    case 'any':
    case 'empty':
      return {};
    case 'list':
      return [];
  }
}

function numberExample({ field, rules }: Item): number {
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum } = rules;
  const stated = /Default: (-?\d[\d,]*(?:\.\d+)?)(?!\S*[:\w])/.exec(field.comment)?.[1]?.replaceAll(',', '');
  const fits = (value: number): boolean =>
    value >= (minimum ?? -Infinity) &&
    value <= (maximum ?? Infinity) &&
    value > (exclusiveMinimum ?? -Infinity) &&
    value < (exclusiveMaximum ?? Infinity);
  const candidates = [...(stated === undefined ? [] : [Number(stated)]), 1, minimum, maximum];
  const found =
    rules.const ?? rules.in?.[0] ?? candidates.find((value) => value !== undefined && fits(value));
  return typeof found === 'number' ? found : missing(field);
}

function textExample(ids: IdExamples, { field, rules }: Item, { direction }: Place): string {
  if (direction === 'output' && /\bempty (when|where|unless|while|for|if)\b/i.test(field.comment)) return '';
  const formatted = rules.format === undefined ? undefined : FORMATTED[rules.format];
  const candidates = [
    ...(typeof rules.const === 'string' ? [rules.const] : []),
    ...(rules.in ?? []).map(String),
    ids.named(field.comment),
    ...samplesOf(field.comment),
    formatted,
    ids.of(field),
    NAMED[field.name],
    ...endingsOf(field.name).map((ending) => NAMED[ending]),
    ...TEXTS,
  ];
  const patterned = new RegExp(rules.pattern ?? '', 'u');
  const fits = (text: string): boolean =>
    [...text].length >= (rules.minLength ?? 0) &&
    [...text].length <= (rules.maxLength ?? Infinity) &&
    (formatted === undefined || text === formatted) &&
    patterned.test(text);
  return candidates.find((text) => text !== undefined && fits(text)) ?? missing(field);
}

/** `previous_hash` ends with `hash`; the longest ending comes first. */
function endingsOf(name: string): string[] {
  const words = name.split('_');
  return words.slice(1).map((_, from) => words.slice(from + 1).join('_'));
}

/** Finds what a comment gives as a sample: "such as `main`". */
function samplesOf(comment: string): string[] {
  return [...comment.matchAll(/\b(?:such as|for example) `([^`…]+)`/g)].map(([, sample = '']) => sample);
}

function missing(field: FieldModel): never {
  const name = `${field.desc.parent.typeName}.${field.name}`;
  throw new ContractError([
    `${name}: no example fits its rules ${JSON.stringify(field.rules)}; name one in its comment: "such as \`…\`"`,
  ]);
}
