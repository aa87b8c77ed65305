/** Fields of dialogs, each bound to what was typed. */
import type { Signal } from '@preact/signals';

interface TextFieldProps {
  readonly id: string;
  readonly label: string;
  readonly hint: string;
  readonly value: Signal<string>;
  readonly inputMode?: 'decimal' | 'numeric';
  readonly maxLength?: number;
  readonly autoCapitalize?: 'none';
  readonly spellcheck?: boolean;
  readonly 'data-first-focus'?: boolean;
  /** Says what is wrong with what was typed. */
  readonly problem?: string | undefined;
}

export function TextField({ id, label, hint, value, problem, ...rest }: TextFieldProps) {
  return (
    <div class="field">
      <label htmlFor={id}>{label}</label>
      <p class="hint" id={`${id}-hint`}>
        {hint}
      </p>
      <input
        id={id}
        autoComplete="off"
        aria-describedby={`${id}-hint`}
        {...(problem !== undefined && { 'aria-invalid': 'true' as const })}
        value={value.value}
        onInput={(event) => {
          value.value = event.currentTarget.value;
        }}
        {...rest}
      />
      {problem !== undefined && (
        <p class="field-problem" role="alert">
          {problem}
        </p>
      )}
    </div>
  );
}

interface TextAreaProps {
  readonly id: string;
  readonly label: string;
  readonly hint?: string;
  readonly value: Signal<string>;
  readonly rows: number;
  readonly maxLength: number;
  readonly required?: boolean;
  readonly 'data-first-focus'?: boolean;
}

export function TextArea({ id, label, hint, value, ...rest }: TextAreaProps) {
  return (
    <div class="field">
      <label htmlFor={id}>{label}</label>
      {hint !== undefined && (
        <p class="hint" id={`${id}-hint`}>
          {hint}
        </p>
      )}
      <textarea
        id={id}
        {...(hint !== undefined && { 'aria-describedby': `${id}-hint` })}
        value={value.value}
        onInput={(event) => {
          value.value = event.currentTarget.value;
        }}
        {...rest}
      />
    </div>
  );
}

interface CheckProps {
  readonly of: Signal<boolean>;
  readonly children: string;
}

export function Check({ of, children }: CheckProps) {
  return (
    <label class="check">
      <input
        type="checkbox"
        checked={of.value}
        onChange={(event) => {
          of.value = event.currentTarget.checked;
        }}
      />
      <span>{children}</span>
    </label>
  );
}
