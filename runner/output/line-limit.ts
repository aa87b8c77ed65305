/**
 * This file limits the length of lines: the rest of a longer line is left out, and a mark at its end says how
 * much. It comes after the masking, so that it never cuts a secret in two before it is found. A carriage
 * return ends a line too: progress bars draw one for hours.
 */
import { characterBoundary, type StreamMasker } from './masking.ts';

/** Longest line in bytes, by contract. */
export const LINE_BYTES_MAX = 65_536;

const NEWLINE = 0x0a;
const RETURN = 0x0d;

export function limitLines(inner: StreamMasker, bytesMax = LINE_BYTES_MAX): StreamMasker {
  /** Bytes of the line at hand that were passed on, and those that were left out. */
  let passed = 0;
  let left = 0;

  /** `part` holds bytes of one line, with its end if `ended`. */
  const takeLine = (out: Buffer[], part: Buffer, ended: boolean): void => {
    const body = ended ? part.length - 1 : part.length;
    const room = left > 0 ? 0 : bytesMax - passed;
    if (left === 0 && body <= room) {
      if (part.length > 0) out.push(part);
      passed += body;
    } else {
      const to = characterBoundary(part, 0, room);
      if (to > 0) out.push(part.subarray(0, to));
      passed += to;
      left += body - to;
      if (ended) out.push(mark(), part.subarray(body));
    }
    if (ended) passed = left = 0;
  };
  const mark = () => Buffer.from(` [line cut off after ${passed} bytes, ${left} left out]`);

  const take = (data: Buffer): Buffer => {
    const out: Buffer[] = [];
    // Everything in [clean, at) is passed on as it is, in one piece.
    let clean = 0;
    let at = 0;
    while (at < data.length) {
      const newline = data.indexOf(NEWLINE, at);
      let end = newline < 0 ? data.length : newline + 1;
      let ended = newline >= 0;
      if (left > 0 || passed + (end - at) > bytesMax) {
        const back = data.indexOf(RETURN, at);
        if (back >= 0 && back < end) {
          end = back + 1;
          ended = true;
        }
        if (at > clean) out.push(data.subarray(clean, at));
        takeLine(out, data.subarray(at, end), ended);
        clean = end;
      } else {
        const back = ended ? -1 : data.lastIndexOf(RETURN);
        passed = ended ? 0 : back >= at ? end - back - 1 : passed + (end - at);
      }
      at = end;
    }
    if (clean === 0) return data;
    if (at > clean) out.push(data.subarray(clean, at));
    return Buffer.concat(out);
  };

  return {
    push: (chunk) => take(inner.push(chunk)),
    flush() {
      const rest = take(inner.flush());
      const end = left > 0 ? mark() : Buffer.alloc(0);
      passed = left = 0;
      return Buffer.concat([rest, end]);
    },
  };
}
