/** The masker looks for these: bytes as they are, and text of which each byte may be percent-encoded. */

/** The masker's index looks at this many first bytes of a pattern; every spelling has at least as many. */
export const PREFIX_BYTES = 4;

export interface Pattern {
  /** The first four bytes of each of its spellings, as latin1 text. */
  readonly prefixes: ReadonlySet<string>;
  /** Length of the pattern at this place, 0 for none; `unfinished` when it may go on behind the data. */
  at(data: Buffer, from: number): number | 'unfinished';
}

export function exactPattern(bytes: Buffer): Pattern {
  return {
    prefixes: new Set([bytes.toString('latin1', 0, PREFIX_BYTES)]),
    at(data, from) {
      const length = Math.min(bytes.length, data.length - from);
      if (bytes.compare(data, from, from + length, 0, length) !== 0) return 0;
      return length === bytes.length ? length : 'unfinished';
    },
  };
}

/**
 * Encoders differ about which characters they encode, and in which case, so each byte counts in each
 * spelling: as it is, as `%2A` and `%2a`, a space as `+`.
 */
export function percentPattern(bytes: Buffer): Pattern {
  return { prefixes: prefixesOf(bytes), at: (data, from) => matchEncoded(bytes, data, from) };
}

function matchEncoded(bytes: Buffer, data: Buffer, from: number): number | 'unfinished' {
  let at = from;
  for (const byte of bytes) {
    if (at >= data.length) return 'unfinished';
    const said = data[at];
    if (said === PERCENT && isEncoded(byte, data, at)) at += 3;
    else if (said === byte || (said === PLUS && byte === SPACE)) at += 1;
    else return 0;
  }
  return at <= data.length ? at - from : 'unfinished';
}

const [PERCENT, PLUS, SPACE] = [0x25, 0x2b, 0x20];

/** Compares with what is there: a byte that the data leaves out at its end counts as right. */
function isEncoded(byte: number, data: Buffer, at: number): boolean {
  const digits = data.toString('latin1', at + 1, at + 3).toLowerCase();
  return hexOf(byte).startsWith(digits);
}

function hexOf(byte: number): string {
  return byte.toString(16).padStart(2, '0');
}

function prefixesOf(bytes: Buffer): Set<string> {
  const whole = new Set<string>();
  let begun = [''];
  for (const byte of bytes.subarray(0, PREFIX_BYTES)) {
    begun = begun.flatMap((text) => spellingsOf(byte).map((spelling) => text + spelling));
    for (const text of begun) if (text.length >= PREFIX_BYTES) whole.add(text.slice(0, PREFIX_BYTES));
    begun = begun.filter((text) => text.length < PREFIX_BYTES);
  }
  return whole;
}

function spellingsOf(byte: number): string[] {
  const [high = '', low = ''] = hexOf(byte);
  const cases = (digit: string) => [...new Set([digit, digit.toUpperCase()])];
  const encoded = cases(high).flatMap((first) => cases(low).map((second) => `%${first}${second}`));
  return [String.fromCharCode(byte), ...encoded, ...(byte === SPACE ? ['+'] : [])];
}
