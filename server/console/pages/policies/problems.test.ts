import { readYaml } from '@svc/sdk/ci-definitions';
import { describe, expect, it } from 'vitest';
import { offsetOf, placed, type ApiProblem } from './problems.ts';

const at = (text: string, told: ApiProblem) => {
  const read = readYaml(text);
  if ('problem' in read) throw new Error(read.problem.message);
  return placed({ text, ...read }, [told])[0];
};

describe('a problem of a document', () => {
  it.each([
    ['a plain value', "when: build.brnch == 'a'", { line: 1, column: 13 }],
    ['one in double quotes', 'when: "build.brnch == \'a\'"', { line: 1, column: 14 }],
    ['one in single quotes', "when: 'build.brnch == 1'", { line: 1, column: 14 }],
    ['a folded one', 'when: >-\n  build\n  .brnch == 1', { line: 3, column: 4 }],
    ['a literal one', 'when: |\n\n  build.brnch == 1\n', { line: 3, column: 9 }],
    ['one below its key', 'when:\n  build.brnch == 1', { line: 2, column: 9 }],
    ['JSON', '{\n  "when": "build.brnch == 1"\n}', { line: 2, column: 18 }],
  ])('stands at its character in %s', (_what, text, place) => {
    const value = (readYaml(text) as { value: { when: string } }).value.when;
    const position = value.indexOf('brnch');
    const told = { where: '/when', position, message: 'unknown', suggestion: 'branch' };
    expect(at(text, told)).toEqual({ ...place, message: 'when: unknown; did you mean "branch"?' });
  });

  it('passes over what escapes another character', () => {
    const text = 'rules:\n  - require: "a == \\"b\\" && brnch"';
    const position = 'a == "b" && '.length;
    expect(at(text, { where: '/rules/0/require', position, message: 'm' })).toMatchObject({
      line: 2,
      column: text.split('\n')[1]!.indexOf('brnch') + 1,
    });
  });

  it('stands at its part where it has no position, and names what the message does not', () => {
    const text = 'on: [deploi]\nrules:\n  - id: a\nmode: x';
    const wrong = (where: string, message: string) => at(text, { where, message });
    expect(wrong('/on/0', '"deploi" is none of deploy')).toEqual({
      line: 1,
      column: 6,
      message: '"deploi" is none of deploy',
    });
    expect(wrong('/rules/0/message', 'a text is expected, not nothing')).toEqual({
      line: 3,
      column: 5,
      message: 'message: a text is expected, not nothing',
    });
  });

  it('is found in the text', () => {
    expect(offsetOf('ab\ncd', { line: 2, column: 2 })).toBe(4);
    expect(offsetOf('ab', { line: 9, column: 9 })).toBe(2);
  });
});
