import { describe, expect, it } from 'vitest';
import { readPrecondition } from './precondition.ts';

const holds = (ifMatch: string | undefined, revision: number | undefined, current: number) =>
  readPrecondition(ifMatch, revision)?.(current);

describe('readPrecondition()', () => {
  it('asks for nothing when nothing is sent, or when anything will do', () => {
    expect(readPrecondition(undefined, undefined)).toBeUndefined();
    expect(readPrecondition(' * ', undefined)).toBeUndefined();
  });

  it.each<[string | undefined, number | undefined, number, boolean]>([
    ['"3"', undefined, 3, true],
    ['"3"', undefined, 4, false],
    ['"0"', undefined, 0, true],
    ['"1", "3"', undefined, 3, true],
    ['"1" ,"3"', undefined, 2, false],
    ['W/"3"', undefined, 3, false],
    ['W/"3", "3"', undefined, 3, true],
    ['"03"', undefined, 3, false],
    ['"some other tag"'.replaceAll(' ', '-'), undefined, 3, false],
    ['""', undefined, 0, false],
    [undefined, 3, 3, true],
    [undefined, 3, 4, false],
    [undefined, 0, 0, true],
    ['"3"', 3, 3, true],
    ['"3", "4"', 3, 4, false],
    ['*', 3, 4, false],
  ])('If-Match %s with revision %s at revision %s: %s', (ifMatch, revision, current, expected) => {
    expect(holds(ifMatch, revision, current)).toBe(expected);
  });

  it.each([
    '',
    ' ',
    '3',
    '"3',
    '3"',
    "'3'",
    'w/"3"',
    '"3" "4"',
    '"3",',
    ',"3"',
    '*, "3"',
    '"a b"',
    '"ü\u0100"',
  ])('refuses %j, which is no list of entity tags', (ifMatch) => {
    expect(() => readPrecondition(ifMatch, undefined)).toThrow('with its quotes');
  });

  it('refuses a header of any length without looking at all of it', () => {
    expect(() => readPrecondition('"3",'.repeat(100_000), undefined)).toThrow(
      'the header If-Match is "3","3"',
    );
  });

  it.each([
    ['"3"', 4],
    ['W/"3"', 3],
    ['"1", "2"', 3],
  ])('refuses If-Match %s with revision %s: they disagree', (ifMatch, revision) => {
    expect(() => readPrecondition(ifMatch, revision)).toThrow('disagree');
  });
});
