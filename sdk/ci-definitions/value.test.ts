import { describe, expect, it } from 'vitest';
import { readYaml, readYamlValue } from './value.ts';

describe('readYamlValue()', () => {
  it('reads YAML and JSON alike, with aliases and merge keys', () => {
    const value = { on: ['deploy'], overridable: false, rules: [{ id: 'a', n: 1.5, none: null }] };
    expect(readYamlValue(JSON.stringify(value))).toEqual(value);
    expect(
      readYamlValue('on: [deploy]\noverridable: false\nrules:\n  - id: a\n    n: 1.5\n    none:\n'),
    ).toEqual(value);
    expect(readYamlValue('a: &x {b: 1}\nc: *x\nd: {<<: *x, e: yes}\n')).toEqual({
      a: { b: 1 },
      c: { b: 1 },
      d: { b: 1, e: 'yes' },
    });
  });

  it('takes a key __proto__ for a key', () => {
    const value = readYamlValue('__proto__: {polluted: true}');
    expect(JSON.stringify(value)).toBe('{"__proto__":{"polluted":true}}');
    expect(Object.getPrototypeOf(value)).toBe(Object.prototype);
  });

  it.each<[string, string, RegExp]>([
    ['what is no YAML', 'a: [1', /^line 1, column \d+: not YAML: /],
    ['a key that is given twice', 'a: 1\nb: 2\na: 3', /^line 3, column 1: the key "a" is given twice/],
    ['nothing', '# nothing\n', /0 documents, expected one$/],
    ['several documents', 'a: 1\n---\nb: 1\n', /2 documents, expected one$/],
    ['nesting of 20,000', '['.repeat(20_000), /nested more than 64 levels|words and signs/],
    [
      'aliases that double 30 times',
      `a0: &a0 [x]\n${Array.from({ length: 30 }, (_, n) => `a${n + 1}: &a${n + 1} [*a${n}, *a${n}]`).join('\n')}`,
      /more than 50000 nodes once its aliases are expanded/,
    ],
  ])('refuses %s', (_what, text, said) => {
    expect(() => readYamlValue(text)).toThrow(said);
  });
});

describe('readYaml()', () => {
  const TEXT = [
    '# a policy',
    'on: [deploy, "build.create"]',
    'rules:',
    '  - id: one',
    '    require: >-',
    '      a',
    '      && b',
    '  - {id: two, a/b: 1}',
  ].join('\n');

  it.each([
    ['', 2, 1],
    ['/on', 2, 5],
    ['/on/1', 2, 14],
    ['/rules', 3, 1],
    ['/rules/0', 4, 5],
    ['/rules/0/require', 5, 14],
    ['/rules/0/message', 4, 5],
    ['/rules/1/a~1b', 8, 20],
    ['/rules/7/id', 3, 1],
    ['/no/such/part', 2, 1],
    ['/__proto__/polluted', 2, 1],
  ])('knows where "%s" stands', (pointer, line, column) => {
    const read = readYaml(TEXT);
    expect('value' in read && read.placeOf(pointer)).toEqual({ line, column });
  });

  it('tells of the first problem with its place', () => {
    expect(readYaml('a: 1\na: 2')).toEqual({
      problem: { line: 2, column: 1, message: 'the key "a" is given twice, first in line 1' },
    });
    expect(readYaml('')).toMatchObject({ problem: { line: 1, column: 1 } });
    expect(readYaml('a: 1\n---\nb: 1\n')).toMatchObject({ problem: { line: 3 } });
  });
});
