/**
 * Decodes the bytes of a file into its text, and says how many there may be, and in which encoding. CI
 * systems read UTF-8.
 */
import type { DefinitionProblem } from './types.ts';

/** Most bytes of a file; GitHub ignores workflow files of more than 500 KB. */
export const BYTES_MAX = 512 * 1024;
/** Bytes that are looked at for an encoding that does not say its name. */
const SAMPLE_BYTES = 4096;
const LINE_FEED = 10;

export interface Decoded {
  readonly text: string;
  readonly problems: readonly DefinitionProblem[];
}

/**
 * Returns the words of the refusal; where `bytes` is undefined, there are more than the limit as far as is
 * known.
 */
export function tooManyBytes(bytes?: number): string {
  const has = bytes === undefined ? `more than ${BYTES_MAX}` : String(bytes);
  return `the file has ${has} bytes, the limit is ${BYTES_MAX}`;
}

/** Decodes the bytes; with an error among the problems the text means nothing. */
export function decode(bytes: Uint8Array): Decoded {
  if (bytes.length > BYTES_MAX) return refused({ line: 1, column: 1 }, tooManyBytes(bytes.length));
  const wide = wideEncodingOf(bytes);
  if (wide !== undefined)
    return refused({ line: 1, column: 1 }, `the file is ${wide}, and CI systems read UTF-8`);
  const zero = bytes.indexOf(0);
  if (zero >= 0) {
    const place = placeOf(bytes, zero);
    return refused(place, `not a text: byte ${zero + 1} of the file, in line ${place.line}, is 0`);
  }
  try {
    return { text: new TextDecoder('utf-8', { fatal: true }).decode(bytes), problems: [] };
  } catch {
    return decodeOther(bytes);
  }
}

/**
 * UTF-8 that is broken, or the older encodings of one byte a character, in which comments are written at
 * times: they are read with a warning.
 */
function decodeOther(bytes: Uint8Array): Decoded {
  const offset = firstInvalid(bytes);
  const place = placeOf(bytes, offset);
  const found = `0x${(bytes[offset] ?? 0).toString(16).padStart(2, '0')}, byte ${offset + 1} of the file, in line ${place.line}`;
  if (!isLatin1(bytes)) return refused(place, `neither UTF-8 nor another known encoding: ${found}`);
  const message = `not UTF-8: ${found}; read as Latin-1 (ISO 8859-1)`;
  return {
    text: new TextDecoder('latin1').decode(bytes),
    problems: [{ ...place, message, severity: 'warning' }],
  };
}

function refused(place: { readonly line: number; readonly column: number }, message: string): Decoded {
  return { text: '', problems: [{ ...place, message, severity: 'error' }] };
}

/**
 * Tells an encoding by its mark, else by where its zeros are: in text of Western languages most characters
 * have some.
 */
function wideEncodingOf(bytes: Uint8Array): string | undefined {
  const begins = (...mark: readonly number[]): boolean => mark.every((byte, index) => bytes[index] === byte);
  if (begins(0xff, 0xfe, 0, 0)) return 'UTF-32LE with a byte order mark';
  if (begins(0, 0, 0xfe, 0xff)) return 'UTF-32BE with a byte order mark';
  if (begins(0xff, 0xfe)) return 'UTF-16LE with a byte order mark';
  if (begins(0xfe, 0xff)) return 'UTF-16BE with a byte order mark';
  const zeros = [0, 0, 0, 0];
  const sample = bytes.subarray(0, SAMPLE_BYTES);
  for (let at = sample.indexOf(0); at >= 0; at = sample.indexOf(0, at + 1))
    zeros[at % 4] = (zeros[at % 4] ?? 0) + 1;
  const [first = 0, second = 0, third = 0, fourth = 0] = zeros.map((count) => (4 * count) / sample.length);
  const [most, few] = [0.5, 0.1];
  if (second > most && third > most && fourth > most && first < few) return 'UTF-32LE';
  if (first > most && second > most && third > most && fourth < few) return 'UTF-32BE';
  if (second > most && fourth > most && first < few && third < few) return 'UTF-16LE';
  if (first > most && third > most && second < few && fourth < few) return 'UTF-16BE';
  return undefined;
}

function firstInvalid(bytes: Uint8Array): number {
  const text = new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes);
  const encoder = new TextEncoder();
  let offset = 0;
  let from = 0;
  for (let at = text.indexOf('\uFFFD'); at >= 0; at = text.indexOf('\uFFFD', from)) {
    offset += encoder.encode(text.slice(from, at)).length;
    // It may be the very character that stands there.
    const isWritten = bytes[offset] === 0xef && bytes[offset + 1] === 0xbf && bytes[offset + 2] === 0xbd;
    if (!isWritten) break;
    offset += 3;
    from = at + 1;
  }
  return offset;
}

/** Tells text of one byte a character, which has no control characters and is mostly ASCII. */
function isLatin1(bytes: Uint8Array): boolean {
  const isControl = (byte: number): boolean =>
    (byte < 0x20 && byte !== 9 && byte !== LINE_FEED && byte !== 12 && byte !== 13) || byte === 0x7f;
  let high = 0;
  for (const byte of bytes) {
    if (isControl(byte)) return false;
    if (byte >= 0x80) high++;
  }
  return high * 4 < bytes.length;
}

function placeOf(bytes: Uint8Array, offset: number): { readonly line: number; readonly column: number } {
  let line = 1;
  let lineStart = 0;
  for (
    let end = bytes.indexOf(LINE_FEED);
    end >= 0 && end < offset;
    end = bytes.indexOf(LINE_FEED, end + 1)
  ) {
    line++;
    lineStart = end + 1;
  }
  return { line, column: new TextDecoder().decode(bytes.subarray(lineStart, offset)).length + 1 };
}
