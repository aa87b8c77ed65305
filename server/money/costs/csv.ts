/** This file writes cells of a CSV file (RFC 4180). */

/**
 * Beginnings that a spreadsheet could take for a formula, in full width too, or for the end of the cell
 * before, also when they stand behind characters that it cuts off or does not show: spaces of every kind, and
 * characters without a width.
 */
const FORMULA = /^(?:[\s\p{Cf}\p{Cc}\u115f\u1160\u3164\uffa0\u2800]*[=+\-@＝＋－＠]|[\t\r\n\0])/u;
const QUOTED = /[",\r\n]/;

export function quoted(text: string): string {
  return QUOTED.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** Free text, which somebody gave. */
export function freeCell(text: string): string {
  return quoted(FORMULA.test(text) ? `'${text}` : text);
}
