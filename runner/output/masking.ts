/**
 * Masks secrets in a task's output before it is written anywhere.
 *
 * The stream may be cut anywhere: the end of a chunk that could begin a secret (or a UTF-8 character) is held
 * back until the next one, never more than the longest spelling of a secret. Each secret is looked for as it
 * is, in base64 at each of its three alignments, in hexadecimal, percent-encoded in any way and escaped as in
 * JSON; each line of a secret with several lines counts as a secret too. Overlapping finds are masked as one.
 */

import { exactPattern, percentPattern, PREFIX_BYTES, type Pattern } from './patterns.ts';

/** Replaces a secret. It is never longer than the shortest secret, so masking cannot make output grow. */
const MASK = Buffer.from('***');
/** Shorter values are words like `yes` or `1`: masking them would only garble the output. */
export const SECRET_LENGTH_MIN = 4;
/** Values that are no secrets and whose masking would garble nearly every output. */
const PLAIN_WORDS: ReadonlySet<string> = new Set(['true', 'false', 'null', 'none', 'undefined']);

export interface StreamMasker {
  /** Returns the part of this chunk, and of what was held back before it, that can be passed on. */
  push(chunk: Uint8Array): Buffer;
  /** Returns the rest that is held back, at the end of the stream. */
  flush(): Buffer;
}

export function createMasker(secrets: Iterable<string>) {
  const index = buildIndex(patternsOf(secrets));
  return {
    /** Each stream needs a masker of its own, because bytes held back of one do not belong to the other. */
    stream: () => createStream(index),
    /** Masks a whole text, for messages. */
    text(text: string) {
      const stream = createStream(index);
      return Buffer.concat([stream.push(Buffer.from(text)), stream.flush()]).toString('utf8');
    },
  };
}

export type Masker = ReturnType<typeof createMasker>;

/** Finds all spellings of all secrets. */
function patternsOf(secrets: Iterable<string>): Pattern[] {
  const parts = new Set([...secrets].flatMap(partsOf));
  const spellings = new Set([...parts].flatMap(spellingsOf));
  const isLong = (bytes: Buffer) => bytes.length >= PREFIX_BYTES;
  const bytesOf = (texts: Iterable<string>) => [...texts].map((text) => Buffer.from(text)).filter(isLong);
  return [...bytesOf(parts).map(percentPattern), ...bytesOf(spellings).map(exactPattern)];
}

/**
 * Returns the secret as a whole and, where it has several lines, each line: a program may print them one by
 * one.
 */
function partsOf(secret: string): string[] {
  const lines = secret.split(/\r?\n/).map((line) => line.trim());
  const parts =
    lines.length > 1
      ? [secret, secret.trim(), secret.replaceAll(/\r?\n/g, '\r\n'), ...lines]
      : [secret, secret.trim()];
  return parts.filter((part) => part.length >= SECRET_LENGTH_MIN && !PLAIN_WORDS.has(part.toLowerCase()));
}

function spellingsOf(secret: string): string[] {
  const escaped = JSON.stringify(secret).slice(1, -1);
  return [
    secret,
    escaped,
    // Some encoders also escape the slash, and everything that is not ASCII.
    escaped.replaceAll('/', String.raw`\/`),
    escaped.replaceAll(
      /[\u0080-\uffff]/g,
      (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
    ),
    ...hexSpellingsOf(secret),
    ...base64SpellingsOf(secret),
  ];
}

/** Both cases occur in the output of `xxd -p`, `od` and the like. */
function hexSpellingsOf(secret: string): string[] {
  const hex = Buffer.from(secret).toString('hex');
  return [hex, hex.toUpperCase()];
}

/**
 * Base64 of a secret inside of a longer text depends on where it begins within a group of three bytes. The
 * characters at the edges also hold bits of the neighbours and are left out; what remains is the same in
 * every text.
 */
function base64SpellingsOf(secret: string): string[] {
  const bytes = Buffer.from(secret);
  const spellings: string[] = [];
  for (let shift = 0; shift < 3; shift += 1) {
    const text = Buffer.concat([Buffer.alloc(shift), bytes])
      .toString('base64')
      .replace(/=+$/, '');
    // The first character(s) depend on the bytes before; the last one on the bytes behind, unless the groups
    // end with the secret.
    const inner = text.slice(shift === 0 ? 0 : shift + 1, (shift + bytes.length) % 3 === 0 ? undefined : -1);
    // A spelling of less than six characters (four bytes) is too common to be masked.
    if (inner.length >= 6) spellings.push(inner, inner.replaceAll('+', '-').replaceAll('/', '_'));
  }
  return spellings;
}

interface PatternIndex {
  /** Patterns by the first four bytes of their spellings. */
  byPrefix: ReadonlyMap<number, readonly Pattern[]>;
  /** Marks the first two bytes of every spelling, which rules out nearly every position at once. */
  firstPair: Uint8Array;
  /** Marks the third and fourth byte of every spelling. */
  secondPair: Uint8Array;
  /** Every beginning of one, two and three bytes, as latin1 text. */
  shortBeginnings: ReadonlySet<string>;
}

function buildIndex(patterns: readonly Pattern[]): PatternIndex {
  const byPrefix = new Map<number, Pattern[]>();
  const firstPair = new Uint8Array(65_536);
  const secondPair = new Uint8Array(65_536);
  const shortBeginnings = new Set<string>();
  for (const pattern of patterns)
    for (const text of pattern.prefixes) {
      const bytes = Buffer.from(text, 'latin1');
      const prefix = bytes.readUInt32BE(0);
      const same = byPrefix.get(prefix);
      if (same === undefined) byPrefix.set(prefix, [pattern]);
      else same.push(pattern);
      firstPair[bytes.readUInt16BE(0)] = 1;
      secondPair[bytes.readUInt16BE(2)] = 1;
      for (let length = 1; length < PREFIX_BYTES; length += 1) shortBeginnings.add(text.slice(0, length));
    }
  return { byPrefix, firstPair, secondPair, shortBeginnings };
}

function createStream(index: PatternIndex): StreamMasker {
  let held: Buffer = Buffer.alloc(0);
  /**
   * So many of the held bytes belong to a find whose mask has been passed on; they only wait for a find that
   * overlaps them.
   */
  let maskedBytes = 0;

  const advance = (data: Buffer, final: boolean): Buffer => {
    const input = { data, final };
    const pieces: Buffer[] = [];
    // Everything before this has been passed on or masked.
    let done = maskedBytes;
    let at = 0;
    for (; at < data.length; at += 1) {
      at = nextCandidate(index, data, at);
      if (at >= data.length) break;
      const found = matchAt(index, input, at);
      if (found === 'unfinished') break;
      if (found === 0) continue;
      // A find that begins inside of another one only extends it.
      if (at >= done) pieces.push(data.subarray(done, at), MASK);
      done = Math.max(done, at + found);
    }
    let keepFrom = at;
    if (at > done) {
      keepFrom = final ? at : characterBoundary(data, done, at);
      pieces.push(data.subarray(done, keepFrom));
    }
    held = Buffer.from(data.subarray(keepFrom));
    maskedBytes = Math.max(0, done - keepFrom);
    // The pieces are copied only where something was masked: the caller gives the chunk away.
    return pieces.length === 1 && pieces[0] !== undefined ? pieces[0] : Buffer.concat(pieces);
  };

  return {
    push: (chunk) =>
      advance(
        held.length === 0
          ? Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength)
          : Buffer.concat([held, chunk]),
        false,
      ),
    flush: () => advance(held, true),
  };
}

/**
 * Finds the next place from `at` on where a pattern may begin: nearly all of the time is spent in this loop.
 */
function nextCandidate({ firstPair, secondPair }: PatternIndex, data: Buffer, at: number): number {
  const last = data.length - PREFIX_BYTES;
  if (at > last) return at;
  let pair = data[at] ?? 0;
  for (let next = at; next <= last; next += 1) {
    pair = ((pair & 0xff) << 8) | (data[next + 1] ?? 0);
    if (firstPair[pair] === 1) {
      const behind = ((data[next + 2] ?? 0) << 8) | (data[next + 3] ?? 0);
      if (secondPair[behind] === 1) return next;
    }
  }
  return last + 1;
}

interface Input {
  data: Buffer;
  /** Nothing follows. */
  final: boolean;
}

/**
 * Finds the length of the longest pattern at this place, which is 0 for none, and `unfinished` when a longer
 * one may still follow.
 */
function matchAt(index: PatternIndex, { data, final }: Input, at: number): number | 'unfinished' {
  const left = data.length - at;
  if (left < PREFIX_BYTES)
    return !final && index.shortBeginnings.has(data.toString('latin1', at)) ? 'unfinished' : 0;
  if (index.firstPair[data.readUInt16BE(at)] !== 1) return 0;
  let longest = 0;
  for (const pattern of index.byPrefix.get(data.readUInt32BE(at)) ?? []) {
    const found = pattern.at(data, at);
    if (found !== 'unfinished') longest = Math.max(longest, found);
    else if (!final) return 'unfinished';
  }
  return longest;
}

/**
 * Moves `end` back to where no character is cut in two; at most three bytes, and never for bytes that are no
 * UTF-8.
 */
export function characterBoundary(data: Uint8Array, from: number, end: number): number {
  for (let back = 1; back <= 3 && end - back >= from; back += 1) {
    const byte = data[end - back] ?? 0;
    if ((byte & 0xc0) === 0x80) continue;
    const length = byte >= 0xf0 && byte < 0xf8 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1;
    return byte < 0xf8 && length > back ? end - back : end;
  }
  return end;
}
