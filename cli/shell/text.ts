/** Makes text from elsewhere harmless on a terminal, and measures how wide it looks. */

// All control characters but tab and newline, and the characters that reorder the text around them.
const CONTROLS = /(?![\t\n])[\p{Cc}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu;
const BREAKS = /[\t\n]/g;

/**
 * Shows control characters as visible text, so that no server can move the cursor, rename the window or type
 * keys. Newlines and tabs stay.
 */
export function neutralise(text: string): string {
  return text.replace(CONTROLS, visible);
}

/** Like `neutralise`, on one line: for cells and messages. */
export function neutraliseLine(text: string): string {
  return neutralise(text).replace(BREAKS, (character) => (character === '\n' ? '\\n' : '\\t'));
}

/**
 * Does the same for output of commands on a terminal, where a carriage return stays too: progress bars use it
 * and it cannot leave its line.
 */
export function neutraliseLog(text: string): string {
  return text.replace(CONTROLS, (character) => (character === '\r' ? character : visible(character)));
}

function visible(character: string): string {
  if (character === '\r') return '\\r';
  const code = character.codePointAt(0) ?? 0;
  return code <= 0xff
    ? `\\x${code.toString(16).padStart(2, '0')}`
    : `\\u${code.toString(16).padStart(4, '0')}`;
}

const WIDE =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{1f300}-\u{1faff}\u{20000}-\u{3fffd}]/u;
const ZERO = /\p{Mn}|\p{Me}|\p{Cf}/u;

/** Counts the columns that the text takes on a terminal. */
export function displayWidth(text: string): number {
  let width = 0;
  for (const character of text) width += characterWidth(character);
  return width;
}

function characterWidth(character: string): number {
  if (character <= '\u02ff') return 1;
  if (ZERO.test(character)) return 0;
  return WIDE.test(character) ? 2 : 1;
}

/** Cuts to `width` columns, the last one an ellipsis when something was cut off. */
export function truncate(text: string, width: number): string {
  if (displayWidth(text) <= width) return text;
  let kept = '';
  let used = 0;
  for (const character of text) {
    used += characterWidth(character);
    if (used > width - 1) break;
    kept += character;
  }
  return `${kept}…`;
}

export function padEnd(text: string, width: number): string {
  return text + ' '.repeat(Math.max(0, width - displayWidth(text)));
}

/** Writes lines such as `net       30.01 USD`, whose names have `width` columns at most. */
export const labelled =
  (width: number) =>
  (label: string, text: string): string =>
    `${padEnd(label, width)}  ${text}`;

/** Puts words onto lines of at most `width` columns; existing line breaks stay. */
export function wrap(text: string, width: number): string[] {
  return text.split('\n').flatMap((paragraph) => {
    const lines: string[] = [];
    let line = '';
    for (const word of paragraph.split(' ')) {
      const longer = line === '' ? word : `${line} ${word}`;
      if (line !== '' && displayWidth(longer) > width) {
        lines.push(line);
        line = word;
      } else line = longer;
    }
    return [...lines, line];
  });
}

/** `memory-mb` is `memoryMb`. */
export function camelCase(kebab: string): string {
  return kebab.replace(/-([a-z])/g, (_match, letter: string) => letter.toUpperCase());
}
