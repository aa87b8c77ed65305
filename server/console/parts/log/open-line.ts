/** A line of an output that has not been ended yet, of which carriage returns begin the text anew. */
import type { LogStream } from '@svc/sdk';

/** Its text is looked at when it has ended or is drawn: until then it is many pieces to V8. */
export interface OpenLine {
  readonly kind: LogStream;
  text: string;
  /** It ends with a carriage return. */
  isReturned: boolean;
}

export const openLine = (kind: LogStream): OpenLine => ({ kind, text: '', isReturned: false });

/** The text of the line once it has ended. */
export const textOf = ({ text, isReturned }: OpenLine): string =>
  isReturned ? text.slice(0, endOf(text)) : text;

/** Returns where the carriage returns at the end of a text begin. */
function endOf(text: string): number {
  let end = text.length;
  while (end > 0 && text.charCodeAt(end - 1) === 13) end -= 1;
  return end;
}

/** Progress bars begin a line anew with a carriage return. One at the end may belong to the line's end. */
export function overwrite(open: OpenLine, piece: string): void {
  const end = endOf(piece);
  const at = end === 0 ? -1 : piece.lastIndexOf('\r', end - 1);
  if (at !== -1) open.text = piece.slice(at + 1);
  else if (end > 0 && open.isReturned) open.text = piece;
  else open.text += piece;
  if (piece !== '') open.isReturned = end < piece.length;
}
