import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { EVENT_LENGTH_MAX, SseDecoder, type SseEvent } from './sse.ts';

function decode(...pieces: (string | Uint8Array)[]): SseEvent[] {
  const decoder = new SseDecoder();
  return pieces.flatMap((piece) =>
    decoder.push(typeof piece === 'string' ? new TextEncoder().encode(piece) : piece),
  );
}
const message = (data: string, id?: string): SseEvent => ({ event: 'message', data, id });

describe('SseDecoder', () => {
  it.each([
    ['LF', 'data: a\n\ndata: b\n\n', [message('a'), message('b')]],
    ['CRLF', 'data: a\r\n\r\ndata: b\r\n\r\n', [message('a'), message('b')]],
    ['CR', 'data: a\r\rdata: b\r\r', [message('a'), message('b')]],
    ['mixed line ends', 'data: a\r\n\ndata: b\n\r\n', [message('a'), message('b')]],
    ['a byte order mark', '\ufeffdata: a\n\n', [message('a')]],
    ['data of several lines', 'data: a\ndata:\ndata: b\n\n', [message('a\n\nb')]],
    ['no space after the colon', 'data:a\n\n', [message('a')]],
    ['two spaces after the colon', 'data:  a\n\n', [message(' a')]],
    ['a field without a colon', 'data\n\n', [message('')]],
    ['comments and unknown fields', ': ping\nfoo: 1\nretry: 5\ndata: a\n: ping\n\n', [message('a')]],
    [
      'an event name',
      'event: x\ndata: a\n\ndata: b\n\n',
      [{ event: 'x', data: 'a', id: undefined }, message('b')],
    ],
    ['a named event without data', 'event: done\n\n', [{ event: 'done', data: '', id: undefined }]],
    ['an id, kept for later events', 'id: 7\ndata: a\n\ndata: b\n\n', [message('a', '7'), message('b', '7')]],
    ['an id with NUL, ignored', 'id: 7\0\ndata: a\n\n', [message('a')]],
    [
      'an empty id, which resets it',
      'id: 7\ndata: a\n\nid\ndata: b\n\n',
      [message('a', '7'), message('b', '')],
    ],
    ['blank lines alone', '\n\n\n', []],
    ['an unfinished event', 'data: a\n', []],
  ] satisfies [string, string, SseEvent[]][])('reads %s', (_name, text, events) => {
    expect(decode(text)).toEqual(events);
    // One byte at a time gives the same.
    expect(decode(...Array.from(new TextEncoder().encode(text), (byte) => Uint8Array.of(byte)))).toEqual(
      events,
    );
  });

  it('joins a character that was cut in two', () => {
    const bytes = new TextEncoder().encode('data: a€😀b\n\n');
    for (let cut = 0; cut <= bytes.length; cut += 1) {
      expect(decode(bytes.subarray(0, cut), bytes.subarray(cut))).toEqual([message('a€😀b')]);
    }
  });

  it('does not take the LF of a CRLF that was cut in two for a blank line', () => {
    expect(decode('data: a\r', '\ndata: b\r', '\n\r', '\n')).toEqual([message('a\nb')]);
    expect(decode('data: a\r', '\n', '\n')).toEqual([message('a')]);
  });

  it('gives the same events wherever the bytes are cut', () => {
    const line = fc.oneof(
      fc.constantFrom('data: x', 'data: é', 'data', 'id: 1', 'event: e', ': c', '', 'retry: 5', 'data: 😀'),
      fc.string({ unit: 'grapheme', maxLength: 10 }).filter((text) => !/[\r\n]/.test(text)),
    );
    const stream = fc.array(fc.tuple(line, fc.constantFrom('\n', '\r\n', '\r')), { maxLength: 30 });
    fc.assert(
      fc.property(stream, fc.array(fc.nat(200), { maxLength: 10 }), (lines, cuts) => {
        const bytes = new TextEncoder().encode(lines.flat().join(''));
        const sorted = [0, ...cuts.filter((cut) => cut < bytes.length).sort((a, b) => a - b), bytes.length];
        const pieces = sorted.slice(1).map((end, index) => bytes.subarray(sorted[index], end));
        expect(decode(...pieces)).toEqual(decode(bytes));
      }),
      { numRuns: 500 },
    );
  });

  it('refuses a line or an event without end', () => {
    const piece = `data: ${'a'.repeat(1024 * 1024)}`;
    expect(() => decode(...Array.from({ length: EVENT_LENGTH_MAX / piece.length + 1 }, () => piece))).toThrow(
      RangeError,
    );
    expect(() => decode(...Array.from({ length: 10 }, () => `${piece}\n`))).toThrow(
      'event of more than 8388608 characters',
    );
  });
});
