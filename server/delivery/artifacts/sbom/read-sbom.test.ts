/** Documents of each format and version, dirty ones, and those that somebody made to do harm. */
import { readFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { readSbom, type Sbom } from './read-sbom.ts';

const MIB = 1024 * 1024;
const bytesOf = (document: unknown): Uint8Array => Buffer.from(JSON.stringify(document));
const fileOf = (name: string): Uint8Array => readFileSync(new URL(`./testdata/${name}`, import.meta.url));

function sbomOf(bytes: Uint8Array): Sbom {
  const sbom = readSbom(bytes);
  if ('problem' in sbom) throw new Error(sbom.problem);
  return sbom;
}

function problemOf(bytes: Uint8Array): string {
  const sbom = readSbom(bytes);
  return 'problem' in sbom ? sbom.problem : `no problem: ${sbom.packages.length} packages`;
}

const cycloneDx = (components: unknown, more: object = {}): Uint8Array =>
  bytesOf({ bomFormat: 'CycloneDX', specVersion: '1.6', components, ...more });
const library = (name: string, more: object = {}): object => {
  return { type: 'library', name, version: '1', ...more };
};
const purlsOf = ({ packages }: Sbom): string[] => packages.map(({ purl }) => purl);

describe('readSbom()', () => {
  it('reads CycloneDX 1.4 as trivy writes it', () => {
    expect(sbomOf(fileOf('cyclonedx-1.4.json'))).toEqual({
      format: 'cyclonedx',
      version: '1.4',
      packages: [
        {
          type: 'deb',
          name: 'libssl3',
          version: '3.0.11-1~deb12u2',
          purl: 'pkg:deb/debian/libssl3@3.0.11-1~deb12u2?arch=amd64&distro=debian-12.4',
          nameKey: 'libssl3',
          sourceKey: 'openssl',
          licenses: ['Apache-2.0', 'OpenSSL and SSLeay'],
        },
        {
          type: 'npm',
          name: 'lodash',
          version: '4.17.21',
          purl: 'pkg:npm/lodash@4.17.21',
          nameKey: 'lodash',
          sourceKey: null,
          licenses: ['MIT'],
        },
      ],
      dropped: 0,
      doubles: 0,
      incomplete: [],
    });
  });

  it('reads CycloneDX 1.5 with modules within its subject, and says what is incomplete', () => {
    const sbom = sbomOf(fileOf('cyclonedx-1.5.json'));
    expect(sbom).toMatchObject({
      version: '1.5',
      incomplete: ['a composition is incomplete_third_party_only'],
    });
    expect(sbom.packages.map(({ name, nameKey }) => [name, nameKey])).toEqual([
      ['com.example:shop-core', 'com.example:shop-core'],
      ['org.apache.logging.log4j:log4j-core', 'org.apache.logging.log4j:log4j-core'],
    ]);
  });

  it('reads CycloneDX 1.6 as syft writes it, nested components too, but no files and no operating system', () => {
    const sbom = sbomOf(fileOf('cyclonedx-1.6.json'));
    expect(sbom).toMatchObject({ version: '1.6', dropped: 0, doubles: 0 });
    expect(sbom.packages.map(({ name, sourceKey }) => [name, sourceKey])).toEqual([
      ['musl', null],
      ['ssl_client', 'busybox'],
      ['github.com/gorilla/mux', null],
      ['@types/node', null],
      ['express', null],
    ]);
  });

  it('reads CycloneDX 1.7, and what a runner of ours says that it did not read', () => {
    const sbom = sbomOf(fileOf('cyclonedx-1.7.json'));
    expect(sbom).toMatchObject({
      version: '1.7',
      dropped: 0,
      incomplete: ['a composition is incomplete', 'rpm database'],
    });
    expect(sbom.packages).toMatchObject([
      { purl: 'pkg:deb/debian/libc6@2.36-9%2Bdeb12u9?arch=amd64&distro=debian-12', sourceKey: 'glibc' },
      { purl: 'pkg:pypi/requests-toolbelt@1.0.0', licenses: ['Apache-2.0 OR MIT'] },
    ]);
  });

  it('takes licences that were found in files, which may be all that is known', () => {
    const licenses = (...ids: string[]) => ids.map((id) => ({ license: { id } }));
    const found = sbomOf(
      cycloneDx([
        library('a', { evidence: { licenses: licenses('AGPL-3.0-only') } }),
        library('b', { licenses: licenses('MIT'), evidence: { licenses: licenses('MIT', 'GPL-2.0-only') } }),
        library('c', { evidence: { licenses: [{ expression: 'MIT AND AGPL-3.0-only' }], copyright: [] } }),
        library('d', { evidence: 'none' }),
      ]),
    );
    expect(found.packages.map((each) => each.licenses)).toEqual([
      ['AGPL-3.0-only'],
      ['MIT', 'GPL-2.0-only'],
      ['MIT AND AGPL-3.0-only'],
      [],
    ]);
    const spdx = {
      name: 'e',
      versionInfo: '1',
      licenseDeclared: 'NOASSERTION',
      licenseConcluded: 'NOASSERTION',
      licenseInfoFromFiles: ['AGPL-3.0-or-later', 'NOASSERTION'],
    };
    const document = Buffer.from(JSON.stringify({ spdxVersion: 'SPDX-2.3', packages: [spdx] }));
    expect(sbomOf(document).packages[0]?.licenses).toEqual(['AGPL-3.0-or-later']);
  });

  it('reads SPDX 2.2, where a package without purl becomes a generic one', () => {
    const sbom = sbomOf(fileOf('spdx-2.2.json'));
    expect(sbom).toMatchObject({ format: 'spdx', version: '2.2', dropped: 0 });
    expect(sbom.packages.map(({ purl, licenses }) => [purl, ...licenses])).toEqual([
      ['pkg:generic/vendored-zlib@1.3.1', 'Zlib'],
      ['pkg:nuget/Newtonsoft.Json@13.0.3', 'MIT'],
    ]);
  });

  it('reads the same packages from SPDX 2.3 as from CycloneDX, in the same order', () => {
    const sbom = sbomOf(fileOf('spdx-2.3.json'));
    expect(sbom).toMatchObject({ format: 'spdx', version: '2.3', dropped: 0, doubles: 0 });
    expect(purlsOf(sbom)).toEqual(purlsOf(sbomOf(fileOf('cyclonedx-1.6.json'))));
    expect(sbom.packages.find(({ name }) => name === 'express')?.licenses).toEqual(['MIT']);
  });

  it('reads SPDX 3.0, where licences are elements of their own', () => {
    const sbom = sbomOf(fileOf('spdx-3.0.json'));
    expect(sbom).toMatchObject({
      format: 'spdx',
      version: '3.0.1',
      dropped: 0,
      incomplete: ['a relationship contains is incomplete'],
    });
    expect(sbom.packages.map(({ name, sourceKey, licenses }) => [name, sourceKey, ...licenses])).toEqual([
      ['serde', null, 'MIT OR Apache-2.0'],
      ['libssl3t64', 'openssl', 'Apache-2.0'],
    ]);
  });

  it('reads gzip, and a text that begins with a byte order mark', () => {
    const plain = fileOf('cyclonedx-1.6.json');
    expect(sbomOf(gzipSync(plain))).toEqual(sbomOf(plain));
    expect(sbomOf(Buffer.concat([Buffer.of(0xef, 0xbb, 0xbf), plain]))).toEqual(sbomOf(plain));
  });
});

describe('a dirty document', () => {
  it('loses what has no usable name, and each double, and says how many', () => {
    const sbom = sbomOf(
      cycloneDx([
        library('a', { purl: 'pkg:npm/a@1' }),
        library('a', { purl: 'pkg:NPM/a@1' }),
        library('a', { purl: 'pkg:npm/a' }),
        library('', { purl: '' }),
        library('no version', { version: '' }),
        library('nul\u0000', { purl: 'pkg:npm/nul@1' }),
        library('b', { purl: 'pkg:npm/b@1\n' }),
        library('half \ud800'),
        library('x'.repeat(3_000)),
        library('é'.repeat(900), { purl: `pkg:npm/${'é'.repeat(900)}@1` }),
        { type: 'library', name: 7, version: {}, purl: ['pkg:npm/c@1'] },
        'no component',
        null,
      ]),
    );
    expect(purlsOf(sbom)).toEqual(['pkg:generic/no%20version', 'pkg:npm/a@1']);
    expect(sbom).toMatchObject({ doubles: 2, dropped: 7 });
  });

  it('keeps what has a name alone, of each format', () => {
    const bare = { type: 'library', name: 'acme-lib' };
    expect(sbomOf(cycloneDx([bare, bare, { ...bare, group: 'org.acme' }]))).toMatchObject({
      packages: [
        { purl: 'pkg:generic/acme-lib', name: 'acme-lib', version: '' },
        { purl: 'pkg:generic/org.acme%2Facme-lib' },
      ],
      doubles: 1,
      dropped: 0,
    });
    const spdx = { spdxVersion: 'SPDX-2.3', packages: [{ name: 'vendored' }] };
    expect(purlsOf(sbomOf(bytesOf(spdx)))).toEqual(['pkg:generic/vendored']);
  });

  it('reads models and data of SPDX 3, and names packages of profiles that it does not know', () => {
    const graph = [
      { type: 'CreationInfo', specVersion: '3.0.1' },
      { type: 'ai_AIPackage', spdxId: 'm', name: 'bert', software_packageVersion: '1' },
      {
        type: 'dataset_DatasetPackage',
        spdxId: 'd',
        name: 'imagenet',
        software_packageUrl: 'pkg:huggingface/acme/imagenet@2',
      },
      { type: 'hardware_HardwarePackage', spdxId: 'h', name: 'board' },
    ];
    const sbom = sbomOf(bytesOf({ '@graph': graph }));
    expect(purlsOf(sbom)).toEqual(['pkg:generic/bert@1', 'pkg:huggingface/acme/imagenet@2']);
    expect(sbom.incomplete).toEqual(['elements of the type hardware_HardwarePackage']);
  });

  it('keeps a package by its name when its purl is none', () => {
    const odd = ['pkg:golang/..', '', 'lodash', `pkg:npm/${'x'.repeat(3_000)}`, 'pkg:npm/%ff'];
    const sbom = sbomOf(cycloneDx(odd.map((purl, n) => library(`n${n}`, { purl }))));
    expect(purlsOf(sbom)).toEqual(odd.map((_, n) => `pkg:generic/n${n}@1`));
    expect(sbom.dropped).toBe(0);
  });

  it('keeps 20 licences of 1,000 characters in one line, and says that there are more', () => {
    const many = Array.from({ length: 30 }, (_, n) => ({ license: { name: `L${n}` } }));
    const text = { license: { name: `Permission\u0000 is\n hereby ${'x'.repeat(1_500)}` } };
    const odd = [null, { license: null }, { license: { id: 5 } }, { expression: ['MIT'] }, 'MIT'];
    const sbom = sbomOf(
      cycloneDx([
        library('a', { licenses: many }),
        library('b', { licenses: [...odd, text] }),
        library('c', { licenses: 'MIT' }),
      ]),
    );
    const [a, b, c] = sbom.packages.map(({ licenses }) => licenses);
    expect(a).toHaveLength(20);
    expect(b).toEqual([expect.stringMatching(/^Permission is hereby x+$/)]);
    expect(b?.[0]?.length).toBeLessThanOrEqual(1_000);
    expect(sbom.incomplete).toEqual([
      'licences of a package past 20 were left out',
      'a licence was cut behind 1000 characters',
    ]);
    expect(c).toEqual([]);
  });

  it('may hold anything where a list or an object is expected', () => {
    for (const odd of [null, 7, 'text', {}, [[]], { toString: 1 }]) {
      expect(
        sbomOf(cycloneDx(odd, { metadata: odd, compositions: [odd, { aggregate: odd }] })).packages,
      ).toEqual([]);
      expect(sbomOf(bytesOf({ spdxVersion: 'SPDX-2.3', packages: odd })).packages).toEqual([]);
    }
    const graph = [
      { type: 'CreationInfo', specVersion: '3.0.0' },
      { completeness: 'incomplete', relationshipType: { toString: 1 } },
      { relationshipType: 'hasDeclaredLicense', from: {}, to: [{ toString: 1 }, null] },
      { type: 'software_Package', spdxId: { toString: 1 }, name: [], externalIdentifier: [{}, null] },
    ];
    expect(sbomOf(bytesOf({ '@graph': graph }))).toMatchObject({ packages: [], dropped: 1, incomplete: [] });
  });

  it('makes no more than some text of a few licences that many packages refer to', () => {
    const ids = Array.from({ length: 20 }, (_, n) => `l${n}`);
    const licenses = ids.map((spdxId) => ({
      spdxId,
      simplelicensing_licenseExpression: spdxId.padEnd(200, 'x'),
    }));
    const packages = Array.from({ length: 3_000 }, (_, n) => [
      { type: 'software_Package', spdxId: `p${n}`, name: 'p', software_packageVersion: `${n}` },
      { relationshipType: 'hasDeclaredLicense', from: `p${n}`, to: ids },
    ]);
    const graph = [{ type: 'CreationInfo', specVersion: '3.0.1' }, ...licenses, ...packages.flat()];
    const sbom = sbomOf(bytesOf({ '@graph': graph }));
    expect(sbom.packages).toHaveLength(3_000);
    expect(sbom.incomplete).toEqual(['licences past 8388608 characters were left out']);
    expect(JSON.stringify(sbom).length).toBeLessThan(10 * MIB);
  });

  it('takes no longer for packages that share an id, and with it many licences', () => {
    const packages = Array.from({ length: 5_000 }, (_, n) => ({
      type: 'software_Package',
      spdxId: 'p',
      name: 'p',
      software_packageVersion: `${n}`,
    }));
    const to = Array.from({ length: 200_000 }, () => 'https://spdx.org/licenses/MIT');
    const relationship = { relationshipType: 'hasDeclaredLicense', from: 'p', to };
    const graph = [{ type: 'CreationInfo', specVersion: '3.0.1' }, relationship, ...packages];
    const sbom = sbomOf(bytesOf({ '@graph': graph }));
    expect(sbom.packages).toHaveLength(5_000);
    expect(sbom.packages[0]?.licenses).toEqual(['MIT']);
  });

  it('changes no prototype', () => {
    const polluted = '{"bomFormat":"CycloneDX","specVersion":"1.6","__proto__":{"components":[{}]},';
    const component =
      '{"type":"library","name":"__proto__","version":"1","purl":"pkg:npm/__proto__@1?__proto__=1","__proto__":{"a":1}}';
    const sbom = sbomOf(Buffer.from(`${polluted}"components":[${component}]}`));
    expect(purlsOf(sbom)).toEqual(['pkg:generic/__proto__@1']);
    expect(Object.keys(Object.prototype)).toEqual([]);
  });
});

describe('a document that is refused', () => {
  const nested = (levels: number): Uint8Array => {
    let component: object = library('innermost');
    for (let level = 1; level < levels; level += 1)
      component = library(`l${level}`, { components: [component] });
    return cycloneDx([component]);
  };

  it('nests components deeper than 64 levels', () => {
    expect(sbomOf(nested(64)).packages).toHaveLength(64);
    expect(problemOf(nested(65))).toBe('components are nested deeper than 64 levels, which is the limit');
  });

  it('nests anything a million levels deep', () => {
    const deep = Buffer.from(`{"bomFormat":"CycloneDX","components":${'['.repeat(1_000_000)}`);
    expect(problemOf(deep)).toBe('the document is nested deeper than 160 levels, which is the limit');
    const flat = cycloneDx([library('a', { description: `\\"${'['.repeat(1_000)}` })]);
    expect(sbomOf(flat).packages).toHaveLength(1);
  });

  it('has too many components', () => {
    const of = (count: number) => cycloneDx(Array.from({ length: count }, () => ({})));
    expect(sbomOf(of(50_000)).dropped).toBe(50_000);
    expect(problemOf(of(50_001))).toBe('the document has more than 50000 components, which is the limit');
    const files = Array.from({ length: 50_001 }, () => ({ type: 'file' }));
    expect(problemOf(cycloneDx(files))).toMatch(/more than 50000/);
  });

  it('is too long, or inflates to too much, or is cut off', () => {
    const tooLong = Buffer.alloc(8 * MIB + 1, ' ');
    expect(problemOf(tooLong)).toBe('the document has 8388609 bytes, at most 8388608 bytes are read');
    const bomb = gzipSync(Buffer.alloc(64 * MIB));
    expect(bomb.length).toBeLessThan(MIB / 10);
    expect(problemOf(bomb)).toBe('the document inflates to more, at most 8388608 bytes are read');
    expect(problemOf(gzipSync('{}').subarray(0, 12))).toMatch(/^the document is no whole gzip file: /);
  });

  it('is of no format or version that is known', () => {
    const prefix = 'the document is neither CycloneDX nor SPDX in JSON: ';
    const cases: ReadonlyArray<readonly [Uint8Array, string]> = [
      [Buffer.from(''), `${prefix}it is no JSON`],
      [Buffer.from('<bom/>'), `${prefix}it is no JSON`],
      [Buffer.from('"\u00e9"', 'latin1'), `${prefix}it is no UTF-8`],
      [bytesOf([]), `${prefix}it is no object`],
      [bytesOf({}), `${prefix}its members name no format`],
    ];
    for (const [bytes, problem] of cases) expect(problemOf(bytes)).toBe(problem);
    const versions: ReadonlyArray<readonly [object, string]> = [
      [{ bomFormat: 'CycloneDX', specVersion: '1.3' }, '"1.3"'],
      [{ bomFormat: 'CycloneDX', specVersion: 1.6 }, 'null'],
      [{ spdxVersion: 'SPDX-2.1' }, '"SPDX-2.1"'],
      [{ '@graph': [{ type: 'CreationInfo', specVersion: '3.1' }] }, '"3.1"'],
      [{ '@graph': [] }, 'null'],
    ];
    for (const [document, version] of versions)
      expect(problemOf(bytesOf(document))).toContain(`the version of the document is ${version}, expected`);
  });
});
