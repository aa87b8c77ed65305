import { describe, expect, it } from 'vitest';
import { commandLine } from './command-line.ts';

describe('commandLine()', () => {
  it.each([
    [['echo', 'hi'], 'echo hi'],
    [['sh', '-c', 'echo "a b" > c'], `sh -c 'echo "a b" > c'`],
    [['printf', "it's", ''], `printf 'it'\\''s' ''`],
  ])('%j', (words, line) => expect(commandLine(words)).toBe(line));
});
