import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { commandLine, typedOf, wordsOf } from './command-line.ts';

describe('commandLine()', () => {
  it.each([
    [['echo', 'hi'], 'echo hi'],
    [['sh', '-c', 'echo "a b" > c'], `sh -c 'echo "a b" > c'`],
    [['printf', "it's", ''], `printf 'it'\\''s' ''`],
  ])('%j', (words, line) => expect(commandLine(words)).toBe(line));
});

describe('wordsOf()', () => {
  it.each([
    ['  echo  hi ', ['echo', 'hi']],
    [`printf '%s' "it's" a\\ b ''`, ['printf', '%s', "it's", 'a b', '']],
    [`echo "a \\" b \\n"`, ['echo', 'a " b \\n']],
    [`node --eval='x => x'`, ['node', '--eval=x => x']],
    ['', []],
  ])('takes %j apart', (typed, words) => expect(wordsOf(typed)).toEqual(words));

  it.each(['a | b', 'a && b', 'echo $HOME', 'echo "$HOME"', 'ls *.ts', 'A=1 env', 'cd x\nmake', 'a > b'])(
    'gives %j to a shell',
    (typed) => expect(wordsOf(typed)).toEqual(['sh', '-c', typed]),
  );

  it('says that a quote is open', () => {
    expect(wordsOf(`echo 'a`)).toBeUndefined();
    expect(wordsOf(`echo "a\\"`)).toBeUndefined();
  });
});

describe('typedOf()', () => {
  it('shows a script as it was typed', () => {
    expect(typedOf(['sh', '-c', 'a | b'])).toBe('a | b');
    expect(typedOf(['sh', '-c', 'true'])).toBe('sh -c true');
  });

  it('is read as the same words', () => {
    const word = fc.oneof(fc.string(), fc.constantFrom('sh', '-c', "'", '"', '\\', '\n', '$', ' '));
    fc.assert(
      fc.property(fc.array(word, { minLength: 1, maxLength: 4 }), (words) => {
        expect(wordsOf(typedOf(words))).toEqual(words);
      }),
    );
  });
});
