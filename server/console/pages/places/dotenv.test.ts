import { describe, expect, it } from 'vitest';
import { parseDotenv } from './dotenv.ts';

const values = (text: string) =>
  Object.fromEntries(parseDotenv(text).assignments.map(({ name, value }) => [name, value]));
const mistakes = (text: string) => parseDotenv(text).mistakes.map(({ line, why }) => `${line}: ${why}`);

describe('parseDotenv()', () => {
  it('reads plain lines, comments, export and blanks', () => {
    expect(values('\uFEFF# first\r\n\r\nA=1\r\nexport B = two words \n  C=x#y # why\nD=\nE=#all\n')).toEqual({
      A: '1',
      B: 'two words',
      C: 'x#y',
      D: '',
      E: '',
    });
  });

  it('reads quotes, with several lines and backslashes', () => {
    const text = `A="one\ntwo" # why\nB='a\\n"b"'\nC="x\\n\\t\\"y\\"\\\\\\z"\nD=\`it's\`\nF=""\nG=a"b`;
    expect(values(text)).toEqual({
      A: 'one\ntwo',
      B: 'a\\n"b"',
      C: 'x\n\t"y"\\\\z',
      D: "it's",
      F: '',
      G: 'a"b',
    });
    expect(mistakes(text)).toEqual([]);
  });

  it('says which lines are wrong, and goes on behind them', () => {
    const text = `A="x\ny"\nnothing\n1A=x\nÄ=x\n=x\nA=again\nB='open\nC="x" y\nE=5`;
    expect(mistakes(text)).toEqual([
      '3: It has no "=": nothing',
      '4: A name is letters, digits and underscores, at most 255, no digit first, got "1A"',
      '5: A name is letters, digits and underscores, at most 255, no digit first, got "Ä"',
      '6: A name is letters, digits and underscores, at most 255, no digit first, got ""',
      '7: A stands in line 1 already',
      "8: The quote ' has no end",
      '9: Behind the quote stands y',
    ]);
    expect(values(text)).toEqual({ A: 'x\ny', E: '5' });
  });

  it('takes names of 255 letters and values of 65,536 bytes, and no more', () => {
    expect(mistakes(`${'A'.repeat(255)}=${'ä'.repeat(32_768)}`)).toEqual([]);
    expect(mistakes(`${'A'.repeat(256)}=x`)).toHaveLength(1);
    expect(mistakes(`A=${'ä'.repeat(32_768)}x`)).toEqual([
      '1: A value has at most 65536 bytes, that of A has 65537',
    ]);
  });

  it('keeps names of objects apart', () => {
    expect(parseDotenv('__proto__=1\nconstructor=2').assignments.map(({ name }) => name)).toEqual([
      '__proto__',
      'constructor',
    ]);
  });

  it('reads hostile texts of 1 MB at about the pace of plain ones', () => {
    const mb = (part: string): string => part.repeat(Math.ceil(1_000_000 / part.length));
    const msOf = (text: string): number => {
      const from = performance.now();
      parseDotenv(text);
      return performance.now() - from;
    };
    const plain = Math.max(20, msOf(mb('NAME_OF_ONE=value of one\n')));
    for (const part of ['A=\n', 'A="\n', "A='x\n", 'A="\\\n', 'A= \t', 'A=x #', ' ', '=', '\n', 'A="x"y'])
      expect(msOf(mb(part)), JSON.stringify(part)).toBeLessThan(50 * plain);
  });
});
