import { Spec, Validation } from '@cyclonedx/cyclonedx-library';
import { describe, expect, it } from 'vitest';
import { parsePurl } from '@svc/proto/packages/purl.ts';
import type { Catalogue } from './catalogue.ts';
import { toCycloneDx } from './cyclonedx.ts';

const digest = `sha256:${'ab'.repeat(32)}` as const;
const image = 'registry.example:5000/team/web';

const CATALOGUE: Catalogue = {
  packages: [
    {
      purl: 'pkg:deb/debian/libssl3@3.0.15?arch=amd64&distro=debian-12',
      name: 'libssl3',
      version: '3.0.15',
      licenses: [],
      source: 'openssl',
    },
    { purl: 'pkg:npm/%40a/b', name: '@a/b', version: '', licenses: ['MIT', 'Artistic "or" GPL'] },
  ],
  operatingSystem: { id: 'debian', name: 'Debian GNU/Linux', version: '12' },
  unread: ['rpm database'],
  dropped: 3,
};

interface Document {
  serialNumber: string;
  metadata: { component: { purl: string }; properties?: unknown };
  components: { type: string; 'bom-ref': string }[];
  compositions?: unknown;
}

function print(found: Partial<Catalogue> = {}): { text: string; document: Document } {
  const input = { catalogue: { ...CATALOGUE, ...found }, image, digest, toolVersion: '0.10.0' };
  const text = Buffer.from(toCycloneDx(input)).toString();
  return { text, document: JSON.parse(text) as Document };
}

describe('toCycloneDx()', () => {
  it('prints what the official schema of 1.6 allows', async () => {
    const validator = new Validation.JsonStrictValidator(Spec.Version.v1dot6);
    const { operatingSystem: _unknown, ...unnamed } = CATALOGUE;
    const nothing = { packages: [], unread: [], dropped: 0 };
    const unversioned = { operatingSystem: { id: 'arch', name: 'Arch Linux', version: '' } };
    for (const found of [{}, nothing, unversioned])
      expect(await validator.validate(print(found).text)).toBeNull();
    const bytes = toCycloneDx({ catalogue: unnamed, image: 'web', digest, toolVersion: '1' });
    expect(await validator.validate(Buffer.from(bytes).toString())).toBeNull();
    expect(await validator.validate(print().text.replace('"container"', '"box"'))).not.toBeNull();
  });

  it('names the image, its system once, and its packages', () => {
    const { document } = print();
    expect(document).toMatchObject({
      specVersion: '1.6',
      version: 1,
      metadata: {
        tools: { components: [{ name: 'svc-runner', version: '0.10.0' }] },
        component: {
          type: 'container',
          name: image,
          version: digest,
          purl: `pkg:oci/web@sha256%3A${'ab'.repeat(32)}?repository_url=registry.example:5000%2Fteam%2Fweb`,
        },
      },
      components: [
        { type: 'operating-system', name: 'debian', version: '12', description: 'Debian GNU/Linux' },
        {
          type: 'library',
          name: 'libssl3',
          purl: 'pkg:deb/debian/libssl3@3.0.15?arch=amd64&distro=debian-12',
          properties: [{ name: 'svc:source', value: 'openssl' }],
        },
        {
          name: '@a/b',
          licenses: [{ license: { name: 'MIT' } }, { license: { name: 'Artistic "or" GPL' } }],
        },
      ],
    });
    expect(parsePurl(document.metadata.component.purl)).toEqual({
      type: 'oci',
      name: 'web',
      version: digest,
      qualifiers: { repository_url: image },
    });
    const refs = document.components.map((component) => component['bom-ref']);
    expect(new Set([...refs, 'image']).size).toBe(refs.length + 1);
    expect(document.components.filter(({ type }) => type === 'operating-system')).toHaveLength(1);
  });

  it('says that it is incomplete, and why, or says nothing of it', () => {
    const { document } = print();
    expect(document.compositions).toEqual([{ aggregate: 'incomplete', assemblies: ['image'] }]);
    expect(document.metadata.properties).toEqual([
      { name: 'svc:unread', value: 'rpm database' },
      { name: 'svc:dropped', value: '3' },
    ]);
    const whole = print({ unread: [], dropped: 0 }).document;
    expect(whole.compositions).toBeUndefined();
    expect(whole.metadata.properties).toBeUndefined();
  });

  it('gives equal bytes for equal input, with a serial number of the digest', () => {
    expect(print().text).toBe(print().text);
    // Python prints the same for uuid.uuid5(uuid.NAMESPACE_URL, 'sha256:abab…').
    expect(print().document.serialNumber).toBe('urn:uuid:9cee660b-b2ca-516a-b8b5-88e6d2e104a0');
  });
});
