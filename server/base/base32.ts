/**
 * Writes five bits as one character of the alphabet, behind `bits` zero ones; what is left at the end is
 * filled up with zeros.
 */
export function encodeBase32(bytes: Uint8Array, alphabet: string, bits = 0): string {
  let out = '';
  let buffer = 0;
  let held = bits;
  for (const byte of bytes) {
    buffer = ((buffer << 8) | byte) & 0xffff;
    held += 8;
    while (held >= 5) {
      held -= 5;
      out += alphabet[(buffer >> held) & 31];
    }
  }
  return held > 0 ? out + alphabet[(buffer << (5 - held)) & 31] : out;
}
