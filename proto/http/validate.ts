/**
 * Checks the rules that stand in the contracts (buf.validate) on the message, so that every protocol is held
 * to the same. protovalidate itself takes 7 to 12 µs for a submitted run (2 cores, Node 20), too little to be
 * worth a second implementation. Beyond the rules, no text may hold U+0000 or half of a surrogate pair
 * anywhere: PostgreSQL cannot store them, and the caller must hear that as a 400. And where a contract
 * demands a length (`min_len`), blanks and characters that nobody sees do not make it up; secrets are
 * excepted.
 */
import {
  getOption,
  hasOption,
  ScalarType,
  type DescField,
  type DescMessage,
  type Message,
} from '@bufbuild/protobuf';
import { createValidator, type Violation } from '@bufbuild/protovalidate';
import {
  field as validateRules,
  type FieldRules,
} from '@bufbuild/protovalidate/gen/buf/validate/validate_pb.js';
import { field as fieldOption } from '../gen/svc/options/v1/options_pb.ts';
import { fieldsOf, type Fields } from './fields.ts';
import { enumNames } from './enum-names.ts';
import { wordsText } from './enum-words.ts';
import { printPath, type Path } from './json-path.ts';
import { textProblem, validationError, type FieldProblem } from './json-text.ts';
import { perKey } from './per-key.ts';
import { visibleLength } from './visible-text.ts';

/** More problems than these are counted in no answer: they are noise. */
const PROBLEMS_MAX = 20;

const validator = createValidator();

/**
 * It throws ApiError `validation_failed` with `details.fields: [{field, rule, message}]`; `field` is the JSON
 * path.
 */
export function validate(desc: DescMessage, message: Message): void {
  const wrong: FieldProblem[] = [];
  textCheck(desc)(fieldsOf(message), [], wrong);
  if (wrong.length > 0) throw validationError(wrong);
  const result = validator.validate(desc, message);
  if (result.kind === 'valid') return;
  // A rule that cannot be evaluated is our own mistake: it must not pass, and the caller cannot mend it.
  if (result.kind === 'error') throw result.error;
  throw validationError(
    result.violations.slice(0, PROBLEMS_MAX).map((violation) => fieldProblem(violation, message)),
  );
}

function fieldProblem(violation: Violation, refused: Message): FieldProblem {
  const path: Path = [];
  for (const step of violation.field) {
    if (step.kind === 'field') path.push(step.jsonName);
    else if (step.kind === 'list_sub') path.push(step.index);
    else if (step.kind === 'map_sub') path.push(String(step.key));
    else if (step.kind === 'oneof') path.push(step.name);
  }
  const message = textOf(violation);
  const actual = violation.forKey ? undefined : actualValue(violation, refused);
  return {
    field: printPath(path),
    rule: violation.ruleId,
    message: `${violation.forKey ? 'key ' : ''}${message}${actual === undefined ? '' : `, is ${actual}`}`,
  };
}

/** The rules know an enum's numbers; whoever reads of them knows its words. */
function textOf({ field: steps, message, ruleId }: Violation): string {
  const field = steps.findLast((step) => step.kind === 'field');
  if (field?.enum !== undefined && ruleId.startsWith('enum.')) return `must be one of ${wordsText(field)}`;
  return message === '' ? `breaks the rule ${ruleId}` : message;
}

/** Longer texts are told by their length. */
const ACTUAL_LENGTH_MAX = 60;

/**
 * Shows what was sent, for the message: plain values and lengths. Returns undefined for secrets and for what
 * is not plain.
 */
function actualValue({ field: steps }: Violation, refused: Message): string | undefined {
  let value: unknown = refused;
  let field: DescField | undefined;
  for (const step of steps) {
    if (step.kind === 'field') {
      field = step;
      if (getOption(step, fieldOption)?.sensitive === true) return undefined;
      const holder = value as Fields;
      value =
        step.oneof === undefined
          ? holder[step.localName]
          : chosen(holder[step.oneof.localName], step.localName);
    } else if (step.kind === 'list_sub') value = (value as unknown[])[step.index];
    else if (step.kind === 'map_sub') value = (value as Fields)[String(step.key)];
    if (value === undefined || value === null) return undefined;
  }
  if (typeof value === 'string') {
    return value.length > ACTUAL_LENGTH_MAX ? `${value.length} characters long` : JSON.stringify(value);
  }
  if (typeof value === 'number' && field?.enum !== undefined)
    return enumNames(field.enum).byNumber.get(value) ?? String(value);
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  if (value instanceof Uint8Array) return `${value.length} bytes long`;
  return Array.isArray(value) ? `${value.length} long` : undefined;
}

type TextCheck = (message: Fields, path: Path, wrong: FieldProblem[]) => void;

const nothing: TextCheck = () => {};

const textCheck = perKey((desc: DescMessage): TextCheck => {
  let steps: readonly TextCheck[] | undefined;
  return (message, path, wrong) => {
    // Compiled late, because message types may refer to each other in a circle.
    steps ??= desc.fields.map(fieldCheck).filter((step) => step !== nothing);
    for (const step of steps) step(message, path, wrong);
  };
});

function fieldCheck(field: DescField): TextCheck {
  const rules = hasOption(field, validateRules) ? getOption(field, validateRules) : undefined;
  const isSecret = getOption(field, fieldOption)?.sensitive === true;
  const [keys, values] = isSecret ? [undefined, undefined] : textRules(rules);
  const one = valueCheck(field, least(values));
  if (one === undefined && !(field.fieldKind === 'map' && field.mapKey === ScalarType.STRING)) return nothing;
  const name = field.localName;
  const group = field.oneof?.localName;
  const ofMap = mapCheck(textCheckFrom(least(keys)), one);
  return (message, path, wrong) => {
    const value = group === undefined ? message[name] : chosen(message[group], name);
    if (value === undefined) return;
    path.push(field.jsonName);
    if (field.fieldKind === 'list')
      (value as unknown[]).forEach((item, index) => within(path, index, () => one?.(item, path, wrong)));
    else if (field.fieldKind === 'map') ofMap(value as Fields, path, wrong);
    else one?.(value, path, wrong);
    path.pop();
  };
}

function chosen(group: unknown, name: string): unknown {
  const { case: selected, value } = group as { case?: string; value?: unknown };
  return selected === name ? value : undefined;
}

type ValueCheck = (value: unknown, path: Path, wrong: FieldProblem[]) => void;

/**
 * It returns the rules of a map's keys, and those of the values of a map, the items of a list or the field
 * itself.
 */
function textRules(rules: FieldRules | undefined): readonly [FieldRules | undefined, FieldRules | undefined] {
  const type = rules?.type;
  if (type?.case === 'map') return [type.value.keys, type.value.values];
  return [undefined, type?.case === 'repeated' ? type.value.items : rules];
}

/** Returns how many characters the text must have at least. */
function least(rules: FieldRules | undefined): number {
  return rules?.type.case === 'string' ? Number(rules.type.value.minLen) : 0;
}

function valueCheck(field: DescField, charsMin: number): ValueCheck | undefined {
  if (field.message !== undefined) {
    if (field.message.typeName.startsWith('google.protobuf.')) return undefined;
    const check = textCheck(field.message);
    return (value, path, wrong) => check(value as Fields, path, wrong);
  }
  return field.scalar === ScalarType.STRING ? textCheckFrom(charsMin) : undefined;
}

const textCheckFrom =
  (charsMin: number): ValueCheck =>
  (value, path, wrong) => {
    if (wrong.length >= PROBLEMS_MAX) return;
    const text = value as string;
    const message = textProblem(text);
    if (message !== undefined) wrong.push({ field: printPath(path), rule: 'text', message });
    else if (isBlank(text, charsMin)) wrong.push({ field: printPath(path), ...blank(text, charsMin) });
  };

/** One that is too short by any measure is left to the rules. */
function isBlank(text: string, charsMin: number): boolean {
  return charsMin > 0 && visibleLength(text, charsMin) < charsMin && [...text].length >= charsMin;
}

const blank = (text: string, charsMin: number): Omit<FieldProblem, 'field'> => ({
  rule: 'blank',
  message: `must have at least ${charsMin} characters that can be seen, has ${visibleLength(text)}`,
});

const mapCheck =
  (ofKey: ValueCheck, one: ValueCheck | undefined): TextCheck =>
  (map, path, wrong) => {
    for (const key of Object.keys(map)) {
      within(path, key, () => {
        ofKey(key, path, wrong);
        one?.(map[key], path, wrong);
      });
    }
  };

function within(path: Path, step: string | number, act: () => void): void {
  path.push(step);
  act();
  path.pop();
}
