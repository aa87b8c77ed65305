/** Why somebody decides so, in their own words. */
import type { Signal } from '@preact/signals';

const CHARS_MAX = 500;

export interface ReasonProps {
  readonly id: string;
  readonly label: string;
  readonly hint: string;
  readonly text: Signal<string>;
}

export function Reason({ id, label, hint, text }: ReasonProps) {
  return (
    <div class="field">
      <label htmlFor={id}>{label}</label>
      <p class="hint" id={`${id}-hint`}>
        {hint}
      </p>
      <textarea
        id={id}
        rows={3}
        required
        data-first-focus
        maxLength={CHARS_MAX}
        aria-describedby={`${id}-hint`}
        value={text.value}
        onInput={(event) => {
          text.value = event.currentTarget.value;
        }}
      />
    </div>
  );
}

/** Without blanks around it; throws when it is too short, in words for the person. */
export function given(text: Signal<string>, charsMin: number): string {
  const reason = text.peek().trim();
  if (reason.length >= charsMin) return reason;
  throw new Error(
    reason === ''
      ? 'A reason is missing.'
      : `The reason has ${reason.length} characters; it needs at least ${charsMin}.`,
  );
}
