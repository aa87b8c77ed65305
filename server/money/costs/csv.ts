/** Cells of a CSV file (RFC 4180). */

/** What a spreadsheet could take for a formula, in full width too, or for the end of the cell before it. */
const FORMULA = /^[=+\-@\t\r\n\0＝＋－＠]/;
const QUOTED = /[",\r\n]/;

export function quoted(text: string): string {
  return QUOTED.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** Free text, which somebody gave. */
export function freeCell(text: string): string {
  return quoted(FORMULA.test(text) ? `'${text}` : text);
}
