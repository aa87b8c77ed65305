import { describe, expect, it } from 'vitest';
import { readPackageJson, readPythonMetadata } from './language-packages.ts';

describe('readPackageJson()', () => {
  it.each([
    [{ name: 'left-pad', version: '1.3.0', license: 'WTFPL' }, undefined, ['WTFPL']],
    [{ name: '@babel/core', version: '7.0.0', license: { type: 'MIT', url: 'x' } }, '@babel', ['MIT']],
    [
      { name: 'old', version: '0.1.0', licenses: [{ type: 'MIT' }, { type: 'GPL-2.0' }, {}, 1] },
      undefined,
      ['MIT', 'GPL-2.0'],
    ],
    [{ name: 'none', version: '1.0.0' }, undefined, []],
  ])('reads %j', (json, namespace, licenses) => {
    const name = json.name.split('/').at(-1);
    expect([...readPackageJson(JSON.stringify(json))]).toEqual([
      {
        purl: { type: 'npm', name, version: json.version, ...(namespace ? { namespace } : {}) },
        licenses,
      },
    ]);
  });

  it.each([
    '',
    '[]',
    '"text"',
    '{"name":"x"}',
    '{"name":"x","version":""}',
    '{"name":"x","version":1}',
    '{"name":{},"version":"1"}',
    '{"name":"a/b/c","version":"1"}',
    '{"__proto__":{"name":"x","version":"1"}}',
    '['.repeat(500_000),
  ])('finds no package in text %#', (text) => expect([...readPackageJson(text)]).toEqual([undefined]));
});

describe('readPythonMetadata()', () => {
  const head = 'Metadata-Version: 2.4\nName: zope.interface\nVersion: 6.0\nSummary: Interfaces\n';
  it.each([
    ['an expression', 'License-Expression: MIT OR Apache-2.0\nLicense: x\n', ['MIT OR Apache-2.0']],
    [
      'classifiers',
      'License: see file\nClassifier: License :: OSI Approved :: MIT License\nClassifier: License :: Public Domain\nClassifier: Programming Language :: Python\n',
      ['MIT License', 'Public Domain'],
    ],
    ['a short text', 'License: ZPL 2.1\n', ['ZPL 2.1']],
    ['no long text', `License: ${'Permission is granted. '.repeat(40)}\n        to all\n`, []],
    ['nothing', 'License-Expression:\nLicense:\n', []],
  ])('takes the licence from %s', (_what, fields, licenses) => {
    const text = `${head}${fields}\nClassifier: License :: In The Description\nName: other\n`;
    for (const written of [text, text.replaceAll('\n', '\r\n')])
      expect([...readPythonMetadata(written)]).toEqual([
        { purl: { type: 'pypi', name: 'zope.interface', version: '6.0' }, licenses },
      ]);
  });

  it.each(['', '\n\nName: x\nVersion: 1\n', 'Name: x\n', 'name x'])('finds no package in %j', (text) =>
    expect([...readPythonMetadata(text)]).toEqual([undefined]),
  );
});
