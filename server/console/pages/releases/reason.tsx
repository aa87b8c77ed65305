/** Why somebody decides so, in their own words. */
import type { Signal } from '@preact/signals';
import { TextArea } from '../../field.tsx';

const CHARS_MAX = 500;

export interface ReasonProps {
  readonly id: string;
  readonly label: string;
  readonly hint: string;
  readonly text: Signal<string>;
}

export const Reason = ({ text, ...rest }: ReasonProps) => (
  <TextArea {...rest} value={text} rows={3} maxLength={CHARS_MAX} required data-first-focus />
);

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
