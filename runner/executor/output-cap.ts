/** Counts the output of a task and cuts it at the limit, with one marker line. */

const NEWLINE = 0x0a;

/** Both streams share one cap: the marker appears once, on the stream that crossed the limit. */
export function createOutputCap(bytesMax: number) {
  let bytes = 0;
  let truncated = false;
  let atLineStart = true;

  const mark = (): Uint8Array => {
    truncated = true;
    return Buffer.from(`${atLineStart ? '' : '\n'}[output truncated at ${bytesMax} bytes]\n`);
  };

  return {
    /** Returns the part of this chunk that may be passed on; empty once the limit was reached and marked. */
    take(chunk: Uint8Array): Uint8Array[] {
      if (truncated || chunk.length === 0) return [];
      const allowed = Math.min(chunk.length, bytesMax - bytes);
      const kept = chunk.subarray(0, allowed);
      bytes += allowed;
      if (kept.length > 0) atLineStart = kept[kept.length - 1] === NEWLINE;
      const pieces = kept.length > 0 ? [kept] : [];
      return allowed < chunk.length ? [...pieces, mark()] : pieces;
    },
    get truncated() {
      return truncated;
    },
  };
}
