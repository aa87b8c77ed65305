import { describe, expect, it } from 'vitest';
import { formatPurl } from '@svc/proto/packages/purl.ts';
import { readLaunchSbom } from './launch-sbom.ts';

function read(document: unknown): { purls: string[]; dropped: number; licenses: (readonly string[])[] } {
  const found = [...readLaunchSbom(typeof document === 'string' ? document : JSON.stringify(document))];
  const usable = found.flatMap((finding) => finding ?? []);
  return {
    purls: usable.map(({ purl }) => formatPurl(purl)),
    dropped: found.length - usable.length,
    licenses: usable.map(({ licenses }) => licenses),
  };
}

const library = (name: string, more: object = {}) => ({
  type: 'library',
  name,
  version: '1.0',
  purl: `pkg:npm/${name}@1.0`,
  ...more,
});

describe('readLaunchSbom()', () => {
  it('reads what buildpacks write, flat and nested', () => {
    const document = {
      bomFormat: 'CycloneDX',
      specVersion: '1.4',
      metadata: { component: library('the-layer-itself') },
      components: [
        library('a', { licenses: [{ license: { id: 'MIT' } }, { license: { name: 'Own' } }] }),
        {
          type: 'application',
          name: 'jar',
          purl: 'pkg:maven/org.acme/jar@2',
          licenses: [{ expression: 'MIT OR Apache-2.0' }],
          components: [library('b', { components: [library('c')] })],
        },
        { type: 'file', name: '/etc/passwd' },
        { type: 'operating-system', name: 'ubuntu', version: '22.04' },
        { type: 'library', name: 'without' },
        library('d', { purl: 'pkg:golang/..', licenses: 'MIT' }),
        'text',
        null,
      ],
    };
    expect(read(document)).toEqual({
      purls: ['pkg:npm/a@1.0', 'pkg:maven/org.acme/jar@2', 'pkg:npm/b@1.0', 'pkg:npm/c@1.0'],
      licenses: [['MIT', 'Own'], ['MIT OR Apache-2.0'], [], []],
      dropped: 4,
    });
  });

  it('goes 64 levels deep, and reads on beside what is deeper', () => {
    const depth = 10_000;
    const open = '{"type":"library","purl":"pkg:npm/deep@1","components":[';
    const text = `{"components":[${open.repeat(depth)}${']}'.repeat(depth)},${JSON.stringify(library('beside'))}]}`;
    const started = performance.now();
    const { purls, dropped } = read(text);
    expect(purls).toEqual([...Array<string>(64).fill('pkg:npm/deep@1'), 'pkg:npm/beside@1.0']);
    expect(dropped).toBe(1);
    expect(performance.now() - started).toBeLessThan(1_000);
  });

  it('reads 50,000 components and drops the rest', () => {
    const text = `{"components":[${JSON.stringify(library('x'))}${`,${JSON.stringify(library('x'))}`.repeat(50_005)}]}`;
    const { purls, dropped } = read(text);
    expect(purls).toHaveLength(50_000);
    expect(dropped).toBe(1);
  });

  it.each(['', '[]', 'null', '{"components":', '['.repeat(1_000_000)])(
    'drops text %#, which is no document',
    (text) => {
      expect(read(text)).toMatchObject({ purls: [], dropped: 1 });
    },
  );

  it.each(['{}', '{"components":{}}', '{"components":[]}', '{"__proto__":{"components":[{}]}}'])(
    'finds nothing in %s',
    (text) => expect(read(text)).toMatchObject({ purls: [], dropped: 0 }),
  );
});
