import { describe, expect, it } from 'vitest';
import { decodeArray, encodeArray } from './types.ts';

const text = (item: string): string => item;

describe('decodeArray()', () => {
  it.each<[string, Array<string | null>]>([
    ['{}', []],
    ['{a}', ['a']],
    ['{a,b c,NULL,"NULL",""}', ['a', 'b c', null, 'NULL', '']],
    ['{"a \\"quoted\\" \\\\ one","b,}"}', ['a "quoted" \\ one', 'b,}']],
  ])('reads %s', (array, items) => {
    expect(decodeArray(array, text)).toEqual(items);
  });

  it('undoes encodeArray() for any text', () => {
    const items = ['', 'a', '{', '}', ',', '"', '\\', '\\"', 'NULL', ' ', '\n', 'ü', null];
    expect(decodeArray(encodeArray(items, String), text)).toEqual(items);
  });

  it('refuses what it does not understand', () => {
    expect(() => decodeArray('{{1},{2}}', text)).toThrow('one-dimensional');
  });
});
