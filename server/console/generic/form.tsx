/** A form whose fields, rules and texts are those of the contract. */
import { useSignal, type Signal } from '@preact/signals';
import { useState } from 'preact/hooks';
import type { Input } from '../cache.ts';
import type { FieldSpec } from '../spec.ts';
import { sentence } from '../api.ts';
import { Choices, choicesOf } from './choices.tsx';
import type { Problems, Texts } from './form-values.ts';
import { Marked } from './marked.tsx';

interface FieldsProps {
  readonly fields: readonly FieldSpec[];
  readonly texts: Signal<Texts>;
  readonly problems: Problems;
  /** Begins the ids of the fields. */
  readonly id: string;
  /** Holds what the place says already. */
  readonly given: Input;
}

/** What is required comes first; the rest is a step away when there is much of it. */
export function Fields({ fields, ...props }: FieldsProps) {
  const isNeeded = (field: FieldSpec): boolean =>
    fields.some((each) => each.isRequired === true && messageOf(each) === messageOf(field)) &&
    (field.isRequired === true || messageOf(field) !== '');
  const needed = fields.filter(isNeeded);
  const rest = fields.filter((field) => !isNeeded(field));
  const isOpen =
    rest.length <= 3 ||
    rest.some(({ name }) => props.problems[name] !== undefined || (props.texts.value[name] ?? '') !== '');
  const optional = <ByMessage fields={rest} {...props} />;
  return (
    <>
      <ByMessage fields={needed} isFirst {...props} />
      {rest.length > 0 &&
        (needed.length === 0 || isOpen ? (
          optional
        ) : (
          <details class="more">
            <summary>{rest.length} more fields</summary>
            {optional}
          </details>
        ))}
    </>
  );
}

/** The message that `deploy.kind` is a field of; empty for a field of the request itself. */
const messageOf = ({ name }: Pick<FieldSpec, 'name'>): string =>
  name.slice(0, Math.max(0, name.lastIndexOf('.')));

/** Fields of one message stand together under its name, behind those of the request itself. */
function ByMessage({ fields, isFirst = false, ...props }: FieldsProps & { readonly isFirst?: boolean }) {
  const messages = [...new Set(fields.map(messageOf))].filter((message) => message !== '');
  const own = fields.filter((field) => messageOf(field) === '');
  return (
    <>
      {own.map((field, index) => (
        <Field key={field.name} field={field} isFirst={isFirst && index === 0} {...props} />
      ))}
      {messages.map((message, place) => {
        const name = wordsOf(message);
        return (
          <fieldset class="group" key={message}>
            <legend>{name}</legend>
            {fields
              .filter((field) => messageOf(field) === message)
              .map((field, index) => (
                <Field
                  key={field.name}
                  field={{ ...field, label: withoutMessage(field.label, name) }}
                  isFirst={isFirst && own.length === 0 && place + index === 0}
                  {...props}
                />
              ))}
          </fieldset>
        );
      })}
    </>
  );
}

/** Names of messages are written as labels are. */
function wordsOf(message: string): string {
  const text = message
    .replaceAll('.', ' ')
    .replaceAll(/([a-z0-9])([A-Z])/g, '$1 $2')
    .toLowerCase();
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}`;
}

function withoutMessage(label: string, message: string): string {
  if (!label.toLowerCase().startsWith(`${message.toLowerCase()} `)) return label;
  const rest = label.slice(message.length + 1);
  return `${rest.charAt(0).toUpperCase()}${rest.slice(1)}`;
}

interface FieldProps extends Omit<FieldsProps, 'fields'> {
  readonly field: FieldSpec;
  readonly isFirst?: boolean;
}

function Field({ field, texts, problems, id, given, isFirst = false }: FieldProps) {
  const { name, label, help, isRequired } = field;
  const at = `${id}-${name.replaceAll('.', '-')}`;
  const problem = problems[name];
  const choices = choicesOf(field, given);
  const hints = [
    help === undefined ? undefined : `${at}-help`,
    problem === undefined ? undefined : `${at}-problem`,
  ];
  return (
    <div class="field">
      <label htmlFor={at}>
        {label}
        {isRequired !== true && <span class="muted"> (optional)</span>}
      </label>
      {help !== undefined && <Help id={`${at}-help`} of={`${help}${shapeOf(field)}`} />}
      <Control
        field={field}
        value={texts.value[name] ?? ''}
        onText={(text) => (texts.value = { ...texts.value, [name]: text })}
        common={{
          id: at,
          'aria-describedby': hints.filter(Boolean).join(' ') || undefined,
          'aria-invalid': problem === undefined ? undefined : ('true' as const),
          'aria-required': isRequired === true ? ('true' as const) : undefined,
          'data-first-focus': isFirst,
          list: choices && `${at}-choices`,
        }}
      />
      {choices !== undefined && <Choices id={`${at}-choices`} of={choices} field={field} given={given} />}
      {problem !== undefined && (
        <p class="field-problem" id={`${at}-problem`} role="alert">
          {sentence(problem)}
        </p>
      )}
    </div>
  );
}

function shapeOf({ type, isRepeated, isWords }: FieldSpec): string {
  if (isWords === true) return ' One word a line.';
  if (isRepeated === true && type !== 'json') return ' One a line.';
  return type === 'map' ? ' One NAME=value a line.' : '';
}

/** Long texts are cut, because a form is no manual; all of it is one press away. */
const HELP_MAX = 180;

function Help({ id, of }: { readonly id: string; readonly of: string }) {
  const [isWhole, setWhole] = useState(of.length <= HELP_MAX);
  return (
    <p class="hint" id={id}>
      <Marked text={isWhole ? of : `${of.slice(0, of.lastIndexOf(' ', HELP_MAX))}… `} />
      {!isWhole && (
        <button type="button" class="button-inline" onClick={() => setWhole(true)}>
          More
        </button>
      )}
    </p>
  );
}

interface ControlProps {
  readonly field: FieldSpec;
  readonly value: string;
  readonly onText: (text: string) => void;
  readonly common: Readonly<Record<string, unknown>>;
}

function Control({ field, value, onText, common }: ControlProps) {
  const { type, values, isRepeated, isRequired, isSecret } = field;
  const onInput = (event: { readonly currentTarget: { readonly value: string } }): void =>
    onText(event.currentTarget.value);
  if (values !== undefined && isRepeated !== true)
    return (
      <Choice of={values} value={value} isRequired={isRequired === true} onText={onText} common={common} />
    );
  if (type === 'boolean')
    return (
      <Choice
        of={['true', 'false']}
        words={['Yes', 'No']}
        value={value}
        isRequired={isRequired === true}
        onText={onText}
        common={common}
      />
    );
  if (isRepeated === true || type === 'map' || type === 'json' || type === 'text')
    return (
      <textarea
        {...common}
        rows={type === 'json' || type === 'text' ? 8 : 3}
        spellcheck={false}
        value={value}
        onInput={onInput}
      />
    );
  const input = { ...common, spellcheck: false, value, onInput };
  if (isSecret === true) return <input {...input} type="password" autoComplete="new-password" />;
  if (type === 'timestamp') return <input {...input} type="datetime-local" />;
  const isNumber = type === 'integer' || type === 'number';
  return <input {...input} autoComplete="off" {...(isNumber && { inputMode: 'decimal' as const })} />;
}

interface ChoiceProps extends Omit<ControlProps, 'field'> {
  readonly of: readonly string[];
  readonly words?: readonly string[];
  readonly isRequired: boolean;
}

function Choice({ of, words = of, value, isRequired, onText, common }: ChoiceProps) {
  return (
    <select {...common} value={value} onChange={(event) => onText(event.currentTarget.value)}>
      <option value="">{isRequired ? 'Choose…' : 'Not chosen'}</option>
      {of.map((each, index) => (
        <option key={each} value={each}>
          {words[index]}
        </option>
      ))}
    </select>
  );
}

export const useTexts = (start: Texts = {}): Signal<Texts> => useSignal<Texts>(start);
