/**
 * A stored segment has data and runs. Its data holds the output of all streams in order, and its runs tell
 * them apart, as pairs of a code and a count of bytes. One code stands for bytes that are not there, because
 * they were lost on the runner's machine: its count takes no place in the data.
 */
export type LogStreamWord = 'stdout' | 'stderr' | 'runner';

export interface LogPiece {
  readonly stream: LogStreamWord;
  readonly data: Uint8Array;
  /** Bytes that were lost in front of it; they count in no offset. */
  readonly missing?: number;
}

/** Codes as they are stored; never change their meaning. */
const LOST = 0;
const STREAM_OF_CODE: ReadonlyMap<number, LogStreamWord> = new Map([
  [1, 'stdout'],
  [2, 'stderr'],
  [3, 'runner'],
]);
const CODE_OF_STREAM: Readonly<Record<LogStreamWord, number>> = { stdout: 1, stderr: 2, runner: 3 };

/** A stretch of one stream in a segment. `at` counts from the segment's first byte. */
export interface LogRun {
  readonly stream: LogStreamWord;
  readonly at: number;
  readonly length: number;
  readonly missing: number;
}

export interface Encoded {
  readonly runs: readonly number[];
  readonly missing: number;
}

/** Neighbours of one stream become one run. */
export function encodeRuns(pieces: readonly LogPiece[]): Encoded {
  const runs: number[] = [];
  let lost = 0;
  for (const { stream, data, missing = 0 } of pieces) {
    if (missing > 0) {
      runs.push(LOST, missing);
      lost += missing;
    }
    const code = CODE_OF_STREAM[stream];
    if (missing === 0 && runs.at(-2) === code) runs[runs.length - 1] = (runs.at(-1) ?? 0) + data.length;
    else runs.push(code, data.length);
  }
  return { runs, missing: lost };
}

export function decodeRuns(runs: readonly number[]): LogRun[] {
  const decoded: LogRun[] = [];
  let at = 0;
  let missing = 0;
  for (let i = 0; i + 1 < runs.length; i += 2) {
    const length = runs[i + 1] ?? 0;
    const stream = STREAM_OF_CODE.get(runs[i] ?? LOST);
    if (stream === undefined) {
      missing += length;
      continue;
    }
    decoded.push({ stream, at, length, missing });
    at += length;
    missing = 0;
  }
  return decoded;
}

/**
 * The part of the pieces, the first of which begins at `offset`, that lies in [from, to). What is lost in
 * front of a piece goes with its first byte.
 */
export function cutPieces(
  pieces: readonly LogPiece[],
  { offset, from, to }: { readonly offset: number; readonly from: number; readonly to: number },
): LogPiece[] {
  const kept: LogPiece[] = [];
  let at = offset;
  for (const piece of pieces) {
    const first = Math.max(at, from);
    const last = Math.min(at + piece.data.length, to);
    if (last > first) {
      const data = piece.data.subarray(first - at, last - at);
      const missing = first === at ? (piece.missing ?? 0) : 0;
      kept.push({ stream: piece.stream, data, ...(missing > 0 ? { missing } : {}) });
    }
    at += piece.data.length;
  }
  return kept;
}
