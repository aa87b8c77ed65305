/**
 * Keeps lines readable: what a line has beyond its limit is left out, and at the line's end it says how much. Sits behind the masking, so that it never
 * cuts a secret in two before it is found. A carriage return ends a line too: progress bars draw one for hours.
 */
import { characterBoundary, type StreamMasker } from './masking.ts';

/** By contract. */
export const LINE_BYTES_MAX = 65_536;

const NEWLINE = 0x0a;
const RETURN = 0x0d;

export function limitLines(inner: StreamMasker, bytesMax = LINE_BYTES_MAX): StreamMasker {
  /** Bytes of the line at hand that were passed on, and those that were left out. */
  let passed = 0;
  let left = 0;

  /** `at` to `end` are bytes of one line, its end included if `ended`. */
  const takeLine = (out: Buffer[], data: Buffer, at: number, end: number, ended: boolean): void => {
    const body = ended ? end - 1 : end;
    const room = left > 0 ? 0 : bytesMax - passed;
    if (left === 0 && body - at <= room) {
      if (end > at) out.push(data.subarray(at, end));
      passed += body - at;
    } else {
      const to = characterBoundary(data, at, at + room);
      if (to > at) out.push(data.subarray(at, to));
      passed += to - at;
      left += body - to;
      if (ended) out.push(mark(), data.subarray(body, end));
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
        takeLine(out, data, at, end, ended);
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
