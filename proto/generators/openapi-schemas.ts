/**
 * Writes JSON Schemas of the messages: types as documented, constraints from buf.validate, descriptions from
 * comments.
 */
import type { FieldModel, FieldRules, MessageModel } from './model.ts';
import type { Direction, TypePlan } from './type-plan.ts';

export type Json = string | number | boolean | null | readonly Json[] | JsonObject;
export interface JsonObject {
  readonly [key: string]: Json;
}

export interface Schemas {
  /** A reference to the component. */
  message(message: MessageModel, direction: Direction): JsonObject;
  field(field: FieldModel, direction: Direction): JsonObject;
  /** An object of these fields, without a component of its own. */
  object(fields: readonly FieldModel[], direction: Direction): JsonObject;
  components(): Record<string, JsonObject>;
}

export function createSchemas(plan: TypePlan): Schemas {
  const fieldSchema = (field: FieldModel, direction: Direction): JsonObject => {
    const { items = {}, ...own } = field.rules;
    const description = field.comment === '' ? {} : { description: field.comment };
    if (field.repeated) {
      return {
        type: 'array',
        items: { ...itemType(plan, field, direction), ...ruleSchema(items) },
        ...ruleSchema(own),
        ...description,
      };
    }
    if (field.map) {
      const values = { ...itemType(plan, field, direction), ...ruleSchema(items) };
      return { type: 'object', additionalProperties: values, ...ruleSchema(own), ...description };
    }
    return { ...itemType(plan, field, direction), ...ruleSchema(own), ...description };
  };

  const objectSchema = (fields: readonly FieldModel[], direction: Direction): JsonObject => {
    const required = fields
      .filter((field) => (direction === 'output' ? field.present : field.required))
      .map((field) => field.json);
    return {
      type: 'object',
      ...(required.length > 0 && { required }),
      properties: Object.fromEntries(fields.map((field) => [field.json, fieldSchema(field, direction)])),
      // Requests are read strictly, and what servers send may grow.
      ...(direction === 'input' && { additionalProperties: false }),
    };
  };

  return {
    message: (message, direction) => reference(plan.messageName(message, direction)),
    field: fieldSchema,
    object: objectSchema,
    components: () =>
      Object.fromEntries(plan.types.map((type) => [type.name, componentOf(type, objectSchema)])),
  };
}

function reference(name: string): JsonObject {
  return { $ref: `#/components/schemas/${name}` };
}

function itemType(plan: TypePlan, field: FieldModel, direction: Direction): JsonObject {
  const { type } = field;
  switch (type.kind) {
    case 'string':
      return { type: 'string', ...(field.sensitive && { format: 'password' }) };
    case 'bytes':
      return { type: 'string', contentEncoding: 'base64' };
    case 'boolean':
      return { type: 'boolean' };
    case 'number':
      return { type: 'number' };
    case 'integer':
      if (type.wide) return { type: 'string', pattern: type.unsigned ? '^[0-9]+$' : '^-?[0-9]+$' };
      return { type: 'integer', ...(type.unsigned ? { minimum: 0 } : { format: 'int32' }) };
    case 'enum':
      return reference(type.enum.name);
    case 'message':
      return reference(plan.messageName(type.message, direction));
    case 'timestamp':
      return { type: 'string', format: 'date-time' };
    case 'duration':
      return { type: 'string', pattern: '^-?[0-9]+(\\.[0-9]{1,9})?s$' };
    case 'fieldMask':
      return { type: 'string' };
    case 'struct':
    case 'any':
      return { type: 'object', additionalProperties: true };
    case 'list':
      return { type: 'array', items: {} };
    case 'empty':
      return { type: 'object', additionalProperties: false };
    case 'value':
    case 'httpBody':
      return {};
  }
}

function componentOf(type: TypePlan['types'][number], objectSchema: Schemas['object']): JsonObject {
  if (type.kind === 'enum') {
    const docs = type.enum.values.map((value) => `- \`${value.json}\`: ${value.comment}`).join('\n');
    return {
      type: 'string',
      enum: type.enum.values.map((value) => value.json),
      description: `${type.enum.comment}\n\n${docs}`,
    };
  }
  const fields = type.message.fields.filter((field) => type.direction === 'output' || !field.outputOnly);
  const { type: kind, ...rest } = objectSchema(fields, type.direction);
  const description = type.message.comment === '' ? {} : { description: type.message.comment };
  if (type.message.bare !== undefined)
    return { ...description, oneOf: [{ type: 'boolean' }, { type: 'object', ...rest }] };
  return { type: kind ?? 'object', ...description, ...rest };
}

function ruleSchema(rules: FieldRules): JsonObject {
  const { in: values, const: constant, items: _items, ...same } = rules;
  return {
    ...same,
    ...(values && { enum: values }),
    ...(constant !== undefined && { const: constant }),
  };
}
