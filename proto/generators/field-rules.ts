/**
 * buf.validate rules that JSON Schema can say too. The rest (CEL, cross-field rules) stays with the server.
 */
import type { DescField } from '@bufbuild/protobuf';
import type { FieldRules as ValidateRules } from '@bufbuild/protovalidate/gen/buf/validate/validate_pb.js';
import type { FieldRules, SizeLimit } from './model.ts';

type Writable<T> = { -readonly [K in keyof T]: T[K] };
type Case = NonNullable<ValidateRules['type']['case']>;
type RulesOf<C extends Case> = Extract<ValidateRules['type'], { case: C }>['value'];

interface NumberRules {
  readonly const: number | bigint;
  readonly in: readonly (number | bigint)[];
  readonly lessThan: { readonly case?: string | undefined; readonly value?: number | bigint | undefined };
  readonly greaterThan: { readonly case?: string | undefined; readonly value?: number | bigint | undefined };
}

/** Well-known string formats of buf.validate that JSON Schema has a word for. */
const FORMATS: Readonly<Record<string, string>> = {
  email: 'email',
  hostname: 'hostname',
  ip: 'ip',
  ipv4: 'ipv4',
  ipv6: 'ipv6',
  uri: 'uri',
  uriRef: 'uri-reference',
  uuid: 'uuid',
};

export function rulesOf(desc: DescField, rules: ValidateRules | undefined): FieldRules {
  if (!rules) return {};
  switch (rules.type.case) {
    case undefined:
      return {};
    case 'repeated': {
      const { value } = rules.type;
      return {
        ...positive('minItems', value.minItems),
        ...positive('maxItems', value.maxItems),
        ...(value.unique && { uniqueItems: true }),
        ...(value.items && { items: rulesOf(desc, value.items) }),
      };
    }
    case 'map': {
      const { value } = rules.type;
      return {
        ...positive('minProperties', value.minPairs),
        ...positive('maxProperties', value.maxPairs),
        ...(value.values && { items: rulesOf(desc, value.values) }),
      };
    }
    case 'string':
      return stringRules(rules.type.value);
    case 'bool':
      return rules.type.value.const ? { const: true } : {};
    case 'int32':
    case 'uint32':
    case 'sint32':
    case 'fixed32':
    case 'sfixed32':
    case 'int64':
    case 'uint64':
    case 'sint64':
    case 'fixed64':
    case 'sfixed64':
    case 'double':
    case 'float':
      return numberRules(rules.type.value);
    default:
      return {}; // Enum rules repeat what the list of values says; timestamps and durations have no JSON Schema words.
  }
}

export function limitOf(rules: ValidateRules | undefined): SizeLimit | undefined {
  if (rules?.type.case === 'bytes') return bytesLimit(rules.type.value.len || rules.type.value.maxLen);
  if (rules?.type.case !== 'string') return undefined;
  const { len, maxLen, lenBytes, maxBytes } = rules.type.value;
  const characters = len || maxLen;
  return (
    bytesLimit(lenBytes || maxBytes) ?? (characters > 0n ? { characters: Number(characters) } : undefined)
  );
}

function bytesLimit(most: bigint): SizeLimit | undefined {
  return most > 0n ? { bytes: Number(most) } : undefined;
}

function stringRules(rules: RulesOf<'string'>): FieldRules {
  const out: Writable<FieldRules> = {
    ...positive('minLength', rules.len || rules.minLen),
    // A byte limit is no tighter than the same number of characters, so that it may stand in for one.
    ...positive('maxLength', rules.len || rules.maxLen || rules.lenBytes || rules.maxBytes),
  };
  const pattern = rules.pattern || affixPattern(rules);
  if (pattern !== '') out.pattern = pattern;
  if (rules.const !== '') out.const = rules.const;
  if (rules.in.length > 0) out.in = rules.in;
  const format = rules.wellKnown.case === undefined ? undefined : FORMATS[rules.wellKnown.case];
  if (format !== undefined) out.format = format;
  return out;
}

function affixPattern(rules: RulesOf<'string'>): string {
  const escape = (text: string) => text.replace(/[.*+?^${}()|[\]\\/]/g, '\\$&');
  if (rules.prefix === '' && rules.suffix === '') return '';
  return `${rules.prefix && `^${escape(rules.prefix)}`}${rules.suffix && `${rules.prefix && '.*'}${escape(rules.suffix)}$`}`;
}

function numberRules(rules: NumberRules): FieldRules {
  const out: Writable<FieldRules> = {};
  const { lessThan, greaterThan } = rules;
  if (lessThan.case === 'lt') out.exclusiveMaximum = Number(lessThan.value);
  if (lessThan.case === 'lte') out.maximum = Number(lessThan.value);
  if (greaterThan.case === 'gt') out.exclusiveMinimum = Number(greaterThan.value);
  if (greaterThan.case === 'gte') out.minimum = Number(greaterThan.value);
  if (rules.in.length > 0) out.in = rules.in.map(Number);
  if (Number(rules.const) !== 0) out.const = Number(rules.const);
  return out;
}

function positive<
  K extends 'minLength' | 'maxLength' | 'minItems' | 'maxItems' | 'minProperties' | 'maxProperties',
>(key: K, value: bigint): { [P in K]?: number } {
  return (value > 0n ? { [key]: Number(value) } : {}) as { [P in K]?: number };
}
