/** These tests decode files: a file's encoding is said, whoever reads it. */
import { describe, expect, it } from 'vitest';
import { discoverDefinition, parseDefinition } from './index.ts';

const WORKFLOW = 'on: push\njobs:\n  a:\n    runs-on: x\n    steps: [{run: make}]\n';
const PIPELINE = "pipeline {\n  agent any\n  stages { stage('Build') { steps { sh 'make' } } }\n}\n";
const FILES = [
  { path: '.github/workflows/ci.yml', written: WORKFLOW },
  { path: '.gitlab-ci.yml', written: 'a:\n  script: make\n' },
  { path: 'Jenkinsfile', written: PIPELINE },
];

function wide(text: string, bytesEach: 2 | 4, isBig: boolean): Uint8Array {
  const bytes = new Uint8Array(text.length * bytesEach);
  const view = new DataView(bytes.buffer);
  for (let index = 0; index < text.length; index++)
    if (bytesEach === 2) view.setUint16(2 * index, text.charCodeAt(index), !isBig);
    else view.setUint32(4 * index, text.charCodeAt(index), !isBig);
  return bytes;
}
const latin1 = (text: string): Uint8Array => Uint8Array.from(text, (char) => char.charCodeAt(0));
const said = (path: string, text: Uint8Array): readonly string[] => {
  const named = parseDefinition({ path, text });
  // What discovery says of it is the same.
  expect(discoverDefinition({ path, text })).toEqual(named);
  const isRefused = named.problems.some(({ severity }) => severity === 'error');
  expect(named.pipelines).toHaveLength(isRefused ? 0 : 1);
  return named.problems.map(({ line, severity, message }) => `${line} ${severity}: ${message}`);
};

describe.each(FILES)('$path', ({ path, written }) => {
  it.each([
    ['UTF-16LE', 2, false],
    ['UTF-16BE', 2, true],
    ['UTF-32LE', 4, false],
    ['UTF-32BE', 4, true],
  ] as const)('in %s is named, with and without a mark', (name, bytesEach, isBig) => {
    const refused = (mark: string) => [`1 error: the file is ${name}${mark}, and CI systems read UTF-8`];
    expect(said(path, wide(written, bytesEach, isBig))).toEqual(refused(''));
    expect(said(path, wide(`\uFEFF${written}`, bytesEach, isBig))).toEqual(
      refused(' with a byte order mark'),
    );
  });

  it('with a byte order mark of UTF-8 is read', () => {
    expect(said(path, new TextEncoder().encode(`\uFEFF${written}`))).toEqual([]);
  });

  it('with a byte 0 is told where', () => {
    const text = new TextEncoder().encode(written.replace('a', '\0'));
    const at = written.indexOf('a');
    const line = written.slice(0, at).split('\n').length;
    expect(said(path, text)).toEqual([
      `${line} error: not a text: byte ${at + 1} of the file, in line ${line}, is 0`,
    ]);
  });

  it('in Latin-1 is read with a warning, and what is neither is refused', () => {
    const comment = path === 'Jenkinsfile' ? '//' : '#';
    expect(said(path, latin1(`${comment}\n${comment} caf\u00e9\n${written}`))).toEqual([
      `2 warning: not UTF-8: 0xe9, byte ${2 * comment.length + 6} of the file, in line 2; read as Latin-1 (ISO 8859-1)`,
    ]);
    const [message] = said(path, latin1(`${comment} x\n${comment} \u0001\u00ff\u00fe\n${written}`));
    expect(message).toMatch(
      /^2 error: neither UTF-8 nor another known encoding: 0xff, byte \d+ of the file, in line 2$/,
    );
  });
});
