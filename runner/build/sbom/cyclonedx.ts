/**
 * This file prints a catalogue as CycloneDX 1.6 JSON. It holds no time and no random number, so that equal
 * input gives equal bytes, and with them an equal digest.
 */
import { createHash } from 'node:crypto';
import { imagePurl } from '@svc/proto/packages/purl.ts';
import type { Catalogue, FoundPackage } from './collection.ts';

/**
 * The namespace is that of RFC 4122 for URLs: it has none for digests, and any one that stays the same will
 * do.
 */
const NAMESPACE = Buffer.from('6ba7b8119dad11d180b400c04fd430c8', 'hex');
/** References within the document; those of packages are their purls, which begin with `pkg:`. */
const IMAGE_REF = 'image';
const SYSTEM_REF = 'operating-system';

export interface CycloneDxInput {
  catalogue: Catalogue;
  /** Name without tag and digest, such as `registry.example/team/web`. */
  image: string;
  /** `sha256:` and 64 digits. */
  digest: string;
  /** Version of this runner. */
  toolVersion: string;
}

export function toCycloneDx({ catalogue, image, digest, toolVersion }: CycloneDxInput): Uint8Array {
  const { packages, operatingSystem, unread, dropped } = catalogue;
  const notes = [
    ...unread.map((value) => ({ name: 'svc:unread', value })),
    ...(dropped === 0 ? [] : [{ name: 'svc:dropped', value: String(dropped) }]),
  ];
  const document = {
    bomFormat: 'CycloneDX',
    specVersion: '1.6',
    serialNumber: `urn:uuid:${uuidV5(digest)}`,
    version: 1,
    metadata: {
      tools: { components: [{ type: 'application', name: 'svc-runner', version: toolVersion }] },
      component: {
        type: 'container',
        'bom-ref': IMAGE_REF,
        name: image,
        version: digest,
        purl: imagePurl(image, digest),
      },
      ...(notes.length === 0 ? {} : { properties: notes }),
    },
    components: [
      ...(operatingSystem === undefined
        ? []
        : [
            {
              type: 'operating-system',
              'bom-ref': SYSTEM_REF,
              name: operatingSystem.id,
              ...(operatingSystem.version === '' ? {} : { version: operatingSystem.version }),
              description: operatingSystem.name,
            },
          ]),
      ...packages.map((found, place) =>
        componentOf(found, packages[place - 1]?.purl === found.purl ? place : 0),
      ),
    ],
    ...(unread.length === 0 ? {} : { compositions: [{ aggregate: 'incomplete', assemblies: [IMAGE_REF] }] }),
  };
  return Buffer.from(JSON.stringify(document));
}

/** `again` is its place, where the one before has the same purl. */
function componentOf({ purl, name, version, licenses, source }: FoundPackage, again: number): object {
  return {
    type: 'library',
    'bom-ref': again === 0 ? purl : `${purl}#${again}`,
    name,
    ...(version === '' ? {} : { version }),
    // A name takes any text, where an id must be in the list of SPDX.
    ...(licenses.length === 0 ? {} : { licenses: licenses.map((text) => ({ license: { name: text } })) }),
    purl,
    ...(source === undefined ? {} : { properties: [{ name: 'svc:source', value: source }] }),
  };
}

function uuidV5(name: string): string {
  const hash = createHash('sha1').update(NAMESPACE).update(name).digest().subarray(0, 16);
  hash[6] = ((hash[6] ?? 0) & 0x0f) | 0x50;
  hash[8] = ((hash[8] ?? 0) & 0x3f) | 0x80;
  return hash.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}
