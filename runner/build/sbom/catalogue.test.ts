import { describe, expect, it } from 'vitest';
import { writeTar, type TarEntry } from '@svc/proto/archive/tar.ts';
import { catalogue, type Catalogue } from './catalogue.ts';
import { toCycloneDx } from './cyclonedx.ts';

const signal = new AbortController().signal;
const DEBIAN = 'ID=debian\nNAME="Debian GNU/Linux"\nVERSION_ID="12"\n';

type Files = Record<string, string | Uint8Array>;

function tarOf(files: Files): Buffer {
  return writeTar(
    Object.entries(files).map(([path, content]): TarEntry => {
      return { type: 'file', path, mode: 0o755, content: Buffer.from(content) };
    }),
  );
}

async function* inPieces(...tars: Uint8Array[]): AsyncGenerator<Uint8Array> {
  for (const tar of tars) for (let at = 0; at < tar.length; at += 65_536) yield tar.subarray(at, at + 65_536);
}

const catalogueOf = async (files: Files): Promise<Catalogue> =>
  await catalogue(inPieces(tarOf(files)), { signal });

const purls = ({ packages }: Catalogue) => packages.map(({ purl }) => purl);

const npm = (name: string, version = '1.0.0') => JSON.stringify({ name, version });

/** Makes what Go's linker writes into a program. */
function goProgram(modules: string, flags = 2): Uint8Array {
  const list = `${'#'.repeat(16)}${modules}${'#'.repeat(16)}`;
  const text = `\x7fELF${' '.repeat(12)}\xff Go buildinf:\x08${String.fromCharCode(flags)}${' '.repeat(16)}\x08go1.22.1`;
  return Buffer.from(`${text}${String.fromCharCode(list.length)}${list}`, 'latin1');
}

describe('catalogue()', () => {
  it('lists what an image of Debian is made of, sorted, each package once', async () => {
    const found = await catalogueOf({
      'app/node_modules/b/package.json': npm('b'),
      'app/node_modules/b/node_modules/@a/c/package.json': npm('@a/c'),
      'app/node_modules/d/node_modules/@a/c/package.json': npm('@a/c'),
      'app/node_modules/b/esm/package.json': npm('not-a-root'),
      'app/node_modules/.package-lock.json': '{}',
      'app/package.json': npm('the-app-itself'),
      'etc/os-release': DEBIAN,
      'usr/lib/os-release': 'ID=other\n',
      'usr/lib/python3/dist-packages/Flask.Cors-4.0.dist-info/METADATA': 'Name: Flask_Cors\nVersion: 4.0\n',
      'usr/lib/python3/dist-packages/six.egg-info': 'Name: six\nVersion: 1.16\n',
      'usr/lib/python3/dist-packages/six-1.egg-info/PKG-INFO': 'Name: six\nVersion: 1.15\n',
      'var/lib/dpkg/status':
        'Package: attr\nStatus: install ok installed\nArchitecture: amd64\nVersion: 1:2.5.1-4+b1\n',
    });
    expect(found).toEqual({
      packages: [
        {
          purl: 'pkg:deb/debian/attr@1:2.5.1-4%2Bb1?arch=amd64&distro=debian-12',
          name: 'attr',
          version: '1:2.5.1-4+b1',
          licenses: [],
          source: 'attr',
        },
        { purl: 'pkg:npm/%40a/c@1.0.0', name: '@a/c', version: '1.0.0', licenses: [] },
        { purl: 'pkg:npm/b@1.0.0', name: 'b', version: '1.0.0', licenses: [] },
        { purl: 'pkg:pypi/flask-cors@4.0', name: 'flask-cors', version: '4.0', licenses: [] },
        { purl: 'pkg:pypi/six@1.15', name: 'six', version: '1.15', licenses: [] },
        { purl: 'pkg:pypi/six@1.16', name: 'six', version: '1.16', licenses: [] },
      ],
      operatingSystem: { id: 'debian', name: 'Debian GNU/Linux', version: '12' },
      unread: [],
      dropped: 1,
    });
  });

  it('knows distroless images, and Alpine before and after the merge of its folders', async () => {
    const distroless = await catalogueOf({
      'var/lib/dpkg/status.d/base': 'Package: base-files\nVersion: 12.4\nArchitecture: all\n',
      'var/lib/dpkg/status.d/base.md5sums': 'd41d8  etc/x\n',
      'usr/lib/os-release': DEBIAN,
    });
    expect(purls(distroless)).toEqual(['pkg:deb/debian/base-files@12.4?arch=all&distro=debian-12']);
    expect(distroless.dropped).toBe(0);
    for (const folder of ['lib', 'usr/lib'])
      expect(
        purls(
          await catalogueOf({
            [`${folder}/apk/db/installed`]: 'P:musl\nV:1.2.5-r0\nA:x86_64\n',
            'etc/os-release': 'ID=alpine\nVERSION_ID=3.20.2\n',
          }),
        ),
      ).toEqual(['pkg:apk/alpine/musl@1.2.5-r0?arch=x86_64&distro=alpine-3.20.2']);
  });

  it('finds what programs of Go were made of, and looks at programs alone', async () => {
    const tool = goProgram('dep\tgithub.com/acme/x/v2\tv2.0.1\th1:x\n');
    const found = await catalogueOf({
      'usr/bin/tool': tool,
      'usr/bin/again': tool,
      'usr/bin/sh': '#!/bin/sh',
    });
    expect(found).toMatchObject({ unread: [], dropped: 2 });
    expect(found.packages.map(({ purl, name }) => [purl, name])).toEqual([
      ['pkg:golang/github.com/acme/x/v2@v2.0.1', 'github.com/acme/x/v2'],
      ['pkg:golang/stdlib@1.22.1', 'stdlib'],
    ]);
    const data = writeTar([{ type: 'file', path: 'data', mode: 0o644, content: tool }]);
    expect((await catalogue(inPieces(data), { signal })).packages).toEqual([]);
  });

  it('keeps what two places say otherwise of one package, and what they say alike once', async () => {
    const manifest = (license: string) => JSON.stringify({ name: 'netlib', version: '2.0.0', license });
    const found = await catalogueOf({
      'app/node_modules/netlib/package.json': manifest('MIT'),
      'app/node_modules/a/node_modules/netlib/package.json': manifest('AGPL-3.0-only'),
      'app/node_modules/b/node_modules/netlib/package.json': manifest('MIT'),
    });
    expect(found.packages.map(({ purl, licenses }) => [purl, ...licenses])).toEqual([
      ['pkg:npm/netlib@2.0.0', 'AGPL-3.0-only'],
      ['pkg:npm/netlib@2.0.0', 'MIT'],
    ]);
    expect(found.dropped).toBe(1);
    const { components } = JSON.parse(
      Buffer.from(
        toCycloneDx({
          catalogue: found,
          image: 'registry.example/web',
          digest: `sha256:${'0'.repeat(64)}`,
          toolVersion: '1',
        }),
      ).toString(),
    ) as { components: Array<Record<string, unknown>> };
    expect(new Set(components.map((component) => component['bom-ref'])).size).toBe(components.length);
  });

  it('takes the lists of buildpacks, and leaves their distribution as it is', async () => {
    const components = ['pkg:deb/ubuntu/curl@8?distro=ubuntu-22.04', 'pkg:deb/curl@8', 'pkg:constructor/x@1'];
    const found = await catalogueOf({
      'layers/sbom/launch/paketo_node/modules/sbom.cdx.json': JSON.stringify({
        components: components.map((purl) => ({ type: 'library', purl })),
      }),
      'layers/sbom/build/paketo_node/sbom.cdx.json': JSON.stringify({
        components: [{ purl: 'pkg:npm/of-the-build@1' }],
      }),
      'etc/os-release': DEBIAN,
    });
    expect(purls(found)).toEqual([
      'pkg:constructor/x@1',
      'pkg:deb/debian/curl@8?distro=debian-12',
      'pkg:deb/ubuntu/curl@8?distro=ubuntu-22.04',
    ]);
    expect(found.unread).toEqual([]);
  });

  it('says what is there and was not read', async () => {
    const found = await catalogueOf({
      'var/lib/rpm/rpmdb.sqlite': 'x',
      'var/lib/rpm/Packages': 'x',
      'app/a.jar': 'x',
      'usr/lib/ruby/gems/3.3.0/specifications/rack-3.gemspec': 'x',
      'app/vendor/composer/installed.json': '{}',
      'node_modules/big/package.json': ' '.repeat(1_048_577),
      'node_modules/bi\u202eg/package.json': ' '.repeat(1_048_577),
      'lib/apk/db/installed': 'P:musl\nV:1\n',
    });
    expect(purls(found)).toEqual(['pkg:apk/alpine/musl@1']);
    expect(found.unread).toEqual([
      'rpm database',
      'Java archives',
      'Ruby gems',
      'Composer packages',
      'node_modules/big/package.json is longer than 1024 KiB',
      'node_modules/bi?g/package.json is longer than 1024 KiB',
      'the distribution: the image has no etc/os-release with an id',
    ]);
    const status = await catalogueOf({ 'var/lib/dpkg/status': Buffer.alloc(16 * 1_048_576 + 1) });
    expect(status.unread).toEqual(['var/lib/dpkg/status is longer than 16384 KiB']);
  });

  it('reads a database of dpkg below usr, and names those of other managers, and one that is none', async () => {
    const found = await catalogueOf({
      'usr/lib/dpkg/status': 'Package: attr\nStatus: install ok installed\nVersion: 2.5\n',
      'etc/os-release': DEBIAN,
    });
    expect([purls(found), found.unread]).toEqual([['pkg:deb/debian/attr@2.5?distro=debian-12'], []]);
    const { packages, unread } = await catalogueOf({
      'var/lib/dpkg/status': 'not a database\n',
      'lib/apk/db/installed': '{}',
      'usr/lib/opkg/status': 'x',
      'var/lib/pacman/local/bash-5.2-1/desc': '%NAME%',
      'opt/conda/conda-meta/python-3.12.json': '{}',
      'app/Shop.deps.json': '{}',
      'var/db/pkg/dev-libs/openssl-3/PF': 'x',
      'usr/lib/R/library/jsonlite/DESCRIPTION': 'x',
    });
    expect(packages).toEqual([]);
    expect(unread).toEqual([
      'var/lib/dpkg/status: it names no installed package',
      'lib/apk/db/installed: it names no installed package',
      'opkg database',
      'pacman database',
      'conda packages',
      '.NET packages',
      'Portage database',
      'R packages',
    ]);
  });

  it('follows a hard link only where its target is read anyway', async () => {
    const tar = tarOf({
      'store/a/package.json': npm('a'),
      'node_modules/b/package.json': npm('b'),
      'node_modules/c/package.json': npm('c'),
    });
    const link = (target: string) => {
      const block = Buffer.from(tar.subarray(4 * 512, 5 * 512));
      block.write('1', 156);
      block.write(target, 157);
      block.write(' '.repeat(8), 148);
      const sum = block.reduce((total, byte) => total + byte, 0);
      block.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148);
      return block;
    };
    const cut = tar.subarray(0, 4 * 512);
    const both = inPieces(cut, link('node_modules/b/package.json'), link('store/a/package.json'));
    const found = await catalogue(both, { signal });
    expect(purls(found)).toEqual(['pkg:npm/b@1.0.0']);
    expect(found.unread).toEqual(['node_modules/c/package.json is a hard link to store/a/package.json']);
  });

  it('keeps what it has of a stream that breaks', async () => {
    const tar = tarOf({ 'node_modules/a/package.json': npm('a'), 'node_modules/b/package.json': npm('b') });
    const truncated = await catalogue(inPieces(tar.subarray(0, 1_024 + 520)), { signal });
    expect(purls(truncated)).toEqual(['pkg:npm/a@1.0.0']);
    expect(truncated.unread).toEqual(['the rest of the image: it ends in the middle of an entry']);
    tar[1_030] = 0x41;
    const wrong = await catalogue(inPieces(tar), { signal });
    expect(purls(wrong)).toEqual(['pkg:npm/a@1.0.0']);
    expect(wrong.unread).toEqual([expect.stringMatching(/^the rest of the image: the checksum of a header/)]);
  });

  it('is not impressed by a hostile image', async () => {
    const names = ['x\u0000y', '', '\u202ename', '..', 'x'.repeat(2_001), 'x'.repeat(900_000), '\ud800'];
    const files = names.map((name, at) => [`node_modules/n${at}/package.json`, npm(name)]);
    const found = await catalogueOf({
      ...Object.fromEntries(files),
      'node_modules/__proto__/package.json': `{"__proto__":{"polluted":true},"name":"__proto__","version":"1","license":"${'l'.repeat(201)}"}`,
      'node_modules/licensed/package.json': JSON.stringify({
        name: 'licensed',
        version: '1',
        licenses: Array.from({ length: 1_000 }, (_, at) => ({ type: at === 0 ? 'a\u0007' : `L${at}` })),
      }),
      '../node_modules/out/package.json': npm('out'),
      'a/../../node_modules/out/package.json': npm('out'),
      'etc/os-release': `ID="${'x'.repeat(100)}"\n`,
      'var/lib/dpkg/status': `Package: ${'ä'.repeat(7_000_000)}\nVersion: 1\n`,
    });
    expect(purls(found)).toEqual(['pkg:npm/%EF%BF%BD@1.0.0', 'pkg:npm/__proto__@1', 'pkg:npm/licensed@1']);
    expect(found.packages.map(({ licenses }) => licenses.length)).toEqual([0, 0, 20]);
    expect(found.dropped).toBe(9);
    expect('polluted' in {}).toBe(false);
  });

  it('takes 100,000 files of packages, keeps 50,000 packages, and lets others have their turn', async () => {
    const entry = tarOf({ 'node_modules/a/package.json': npm('p000000') }).subarray(0, 1_024);
    const digitsAt = entry.indexOf('p000000') + 1;
    async function* many(): AsyncGenerator<Uint8Array> {
      for (let at = 0; at < 100_000; at += 1) {
        entry.write(String(at % 60_000).padStart(6, '0'), digitsAt);
        yield Buffer.from(entry);
      }
    }
    const found = await catalogue(many(), { signal });
    expect(found.packages).toHaveLength(50_000);
    expect(found.dropped).toBe(50_000);
    expect(found.unread).toEqual(['packages past 50000']);
    const status = Array.from({ length: 5_000 }, (_, at) => `Package: p${at}\nVersion: 1\n`).join('\n');
    let turns = 0;
    const turn = (): void => {
      turns += 1;
      next = setImmediate(turn);
    };
    let next = setImmediate(turn);
    expect((await catalogueOf({ 'var/lib/dpkg/status': status })).packages).toHaveLength(5_000);
    clearImmediate(next);
    expect(turns).toBeGreaterThanOrEqual(5);
  });

  it('names at most a hundred things that it did not read', async () => {
    const files = Array.from({ length: 150 }, (_, at) => [`usr/bin/p${at}`, goProgram('', 0)]);
    const { unread } = await catalogueOf(Object.fromEntries(files) as Files);
    expect(unread[0]).toBe('Go modules of usr/bin/p0: it was made by Go before 1.18');
    expect(unread).toHaveLength(101);
    expect(unread.at(-1)).toBe('more than these');
  });

  it('stops when it is told to, and for no other reason', async () => {
    const controller = new AbortController();
    async function* endless(): AsyncGenerator<Uint8Array> {
      const tar = tarOf({ 'node_modules/a/package.json': npm('a') }).subarray(0, 1_024);
      for (let at = 0; ; at += 1) {
        if (at === 100) controller.abort(new Error('enough'));
        yield tar;
      }
    }
    await expect(catalogue(endless(), { signal: controller.signal })).rejects.toThrow('enough');
    const { unread } = await catalogue(failing(), { signal });
    expect(unread).toEqual(['the rest of the image: no engine']);
  });
});

// eslint-disable-next-line require-yield -- It fails before its first piece.
async function* failing(): AsyncGenerator<Uint8Array> {
  throw new Error('no engine');
}
