/**
 * Colours of terminals as classes. Only what colours text is kept (SGR: ESC [ … m); every other control
 * sequence is taken out, so that output can neither move a cursor nor name a link. The text itself becomes
 * text nodes, never markup.
 */

export interface Style {
  /** 0 to 15; absent: the page's own. */
  readonly fg?: number;
  readonly bg?: number;
  readonly bold?: boolean;
  readonly dim?: boolean;
  readonly italic?: boolean;
  readonly underline?: boolean;
}

export interface Span {
  readonly text: string;
  readonly style: Style;
}

export const PLAIN: Style = {};

// The pattern is made of CSI up to its final byte, OSC, DCS and the like up to their end, and escapes of two
// characters. Those that the end of a line cuts off are taken out too.
const SEQUENCE =
  // oxlint-disable-next-line no-control-regex -- control characters are what this is about
  /\u001b(?:\[([0-?]*)[ -/]*([@-~]?)|[\]PX^_][^\u0007\u001b]*(?:\u0007|\u001b\\|$)|[ -/]*[0-~]?)/g;
// oxlint-disable-next-line no-control-regex -- as above; tab stays
const CONTROLS = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g;

/** The pieces of one line that begins in `start`, and the style that it leaves behind. */
export function spansOf(
  line: string,
  start: Style,
): { readonly spans: readonly Span[]; readonly end: Style } {
  if (!line.includes('\u001b')) {
    const text = line.replace(CONTROLS, '');
    return { spans: text === '' ? [] : [{ text, style: start }], end: start };
  }
  const spans: Span[] = [];
  let style = start;
  let at = 0;
  const add = (raw: string): void => {
    const text = raw.replace(CONTROLS, '');
    if (text !== '') spans.push({ text, style });
  };
  for (const match of line.matchAll(SEQUENCE)) {
    add(line.slice(at, match.index));
    at = match.index + match[0].length;
    if (match[2] === 'm') style = applied(style, match[1] ?? '');
  }
  add(line.slice(at));
  return { spans, end: style };
}

/** Returns the style behind a line, without making its pieces. */
export function styleAfter(line: string, start: Style): Style {
  const last = line.lastIndexOf('\u001b[');
  if (last === -1) return start;
  if (line.startsWith('0m', last + 2) || line.startsWith('m', last + 2)) return PLAIN;
  let style = start;
  for (const [, parameters = '', final] of line.matchAll(SEQUENCE))
    if (final === 'm') style = applied(style, parameters);
  return style;
}

/** Returns what is read of a line: no control sequences. */
export const plainOf = (line: string): string =>
  line.includes('\u001b') ? line.replace(SEQUENCE, '') : line;

// oxlint-disable-next-line no-control-regex -- what is not of one column each
const ONE_COLUMN = /^[\u0020-\u02ff]*$/;
const TAB_COLUMNS = 8;

/**
 * Returns the most columns that a line takes in a face of equal widths. What another face may have to draw
 * counts twice: a line that is drawn with a row too many is whole, with one too few it is cut.
 */
export function columnsOf(line: string): number {
  const plain = plainOf(line);
  if (ONE_COLUMN.test(plain)) return plain.length;
  let columns = 0;
  for (let at = 0; at < plain.length; at += 1) {
    const code = plain.charCodeAt(at);
    columns += code === 9 ? TAB_COLUMNS : code > 0x02ff ? 2 : 1;
  }
  return columns;
}

function applied(before: Style, parameters: string): Style {
  const codes = parameters.split(/[;:]/).map((each) => (each === '' ? 0 : Number(each)));
  let style: { -readonly [K in keyof Style]: Style[K] } = { ...before };
  for (let at = 0; at < codes.length; at += 1) {
    const code = codes[at] ?? 0;
    if (code === 38 || code === 48) {
      const { colour, used } = extended(codes, at + 1);
      at += used;
      if (colour !== undefined) style[code === 38 ? 'fg' : 'bg'] = colour;
    } else style = simple(style, code);
  }
  return style;
}

function simple(style: Style, code: number): Style {
  const { fg: _fg, ...noFg } = style;
  const { bg: _bg, ...noBg } = style;
  if (code === 0) return PLAIN;
  if (code === 1) return { ...style, bold: true };
  if (code === 2) return { ...style, dim: true };
  if (code === 3) return { ...style, italic: true };
  if (code === 4) return { ...style, underline: true };
  if (code === 22) return { ...style, bold: false, dim: false };
  if (code === 23) return { ...style, italic: false };
  if (code === 24) return { ...style, underline: false };
  if (code >= 30 && code <= 37) return { ...style, fg: code - 30 };
  if (code >= 90 && code <= 97) return { ...style, fg: code - 90 + 8 };
  if (code >= 40 && code <= 47) return { ...style, bg: code - 40 };
  if (code >= 100 && code <= 107) return { ...style, bg: code - 100 + 8 };
  if (code === 39) return noFg;
  if (code === 49) return noBg;
  return style;
}

/** `5;n` and `2;r;g;b`, as the nearest of the sixteen colours that have enough contrast in both schemes. */
function extended(codes: readonly number[], at: number): { colour?: number; used: number } {
  const [kind, a = 0, b = 0, c = 0] = codes.slice(at, at + 4);
  if (kind === 2) return { colour: nearest(a, b, c), used: 4 };
  if (kind !== 5) return { used: 1 };
  if (a < 16) return { colour: a, used: 2 };
  if (a >= 232)
    return { colour: nearest((a - 232) * 10 + 8, (a - 232) * 10 + 8, (a - 232) * 10 + 8), used: 2 };
  const cube = (n: number): number => (n === 0 ? 0 : n * 40 + 55);
  const n = a - 16;
  return {
    colour: nearest(cube(Math.floor(n / 36)), cube(Math.floor(n / 6) % 6), cube(n % 6)),
    used: 2,
  };
}

function nearest(red: number, green: number, blue: number): number {
  const most = Math.max(red, green, blue);
  if (most < 48) return 0;
  const spread = most - Math.min(red, green, blue);
  if (spread < 40) return most > 200 ? 15 : most > 128 ? 7 : 8;
  const bit = (value: number): number => (value > most * 0.6 ? 1 : 0);
  const hue = bit(red) + bit(green) * 2 + bit(blue) * 4;
  return most > 200 ? hue + 8 : hue;
}

export function classOf({ fg, bg, bold, dim, italic, underline }: Style): string {
  return [
    fg !== undefined && `fg-${fg % 8}`,
    bg !== undefined && `bg-${bg % 8}`,
    bold === true && 'ansi-bold',
    dim === true && 'ansi-dim',
    italic === true && 'ansi-italic',
    underline === true && 'ansi-underline',
  ]
    .filter(Boolean)
    .join(' ');
}
