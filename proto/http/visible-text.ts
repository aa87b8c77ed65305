/**
 * Measures the part of a text that a reader sees. Texts that must say something (reasons, names, notes) are
 * measured by it: white space, controls, marks without a letter and characters that show nothing are no
 * content, whatever their number.
 */

/**
 * Zero-width and bidirectional characters, fillers, tags and variation selectors are
 * `Default_Ignorable_Code_Point`. Blank without being called so are Braille's blank (U+2800), the null note
 * head (U+1D159) and the blank hieroglyphs (U+13441, U+13442); U+FFFC stands for something that is not there.
 */
const SEEN =
  /[^\p{White_Space}\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{M}\p{Default_Ignorable_Code_Point}\p{Noncharacter_Code_Point}\u2800\u{1d159}\u{13441}\u{13442}\ufffc]/gu;
const SPACE = /\p{White_Space}/u;

/**
 * Counts the characters that are seen, and the blanks between them, of which several are one; no further than
 * `enough`.
 */
export function visibleLength(text: string, enough = Infinity): number {
  let length = 0;
  let end = 0;
  for (const { 0: character, index } of text.matchAll(SEEN)) {
    const between = length > 0 && index > end && SPACE.test(text.slice(end, index)) ? 1 : 0;
    length += between + 1;
    end = index + character.length;
    if (length >= enough) break;
  }
  return length;
}
