/**
 * Lists what may be written for a field of an enum: words, as everywhere outside of the wire format, without
 * those that its rules leave out.
 */
import { getOption, hasOption, type DescField } from '@bufbuild/protobuf';
import {
  field as validateRules,
  type EnumRules,
  type FieldRules,
} from '@bufbuild/protovalidate/gen/buf/validate/validate_pb.js';
import { enumNames } from './enum-names.ts';
import { perKey } from './per-key.ts';

export const enumWords = perKey((field: DescField): readonly string[] => {
  const rules = hasOption(field, validateRules) ? enumRules(getOption(field, validateRules)) : undefined;
  const names = field.enum === undefined ? [] : [...enumNames(field.enum).byName];
  return names.filter(([, number]) => takes(rules, number)).map(([word]) => word);
});

/**
 * Tells whether the rules of a field, or of its items, take a value. The zero value says that nothing is
 * stated.
 */
export function takes(rules: EnumRules | undefined, number: number): boolean {
  if (number === 0 || rules?.notIn.includes(number) === true) return false;
  return rules === undefined || rules.in.length === 0 || rules.in.includes(number);
}

export function enumRules({ type }: FieldRules): EnumRules | undefined {
  if (type.case === 'enum') return type.value;
  const inner =
    type.case === 'repeated' ? type.value.items : type.case === 'map' ? type.value.values : undefined;
  return inner === undefined ? undefined : enumRules(inner);
}

/** Lists the words in error messages. */
export function wordsText(field: DescField): string {
  return enumWords(field).join(', ');
}
