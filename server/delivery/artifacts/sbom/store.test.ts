/** Tests sets of packages in a real database: stored once, shared, found by the names of what they hold. */
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../../../../test/setup/database.ts';
import { has } from '../../../../test/setup/needs.ts';
import { waitFor } from '../../../../test/setup/wait-for.ts';
import { systemScope } from '../../../kit/authorise.ts';
import type { SqlTag } from '../../../base/db/index.ts';
import { listPackages, type SbomPackage } from './package-list.ts';
import { readSbom } from './read-sbom.ts';
import { namesNear, setsWith, wantedPackage } from './search.ts';
import { packagesOfAll, storePackageSet, type StatedPackage } from './store.ts';

const TEAM = 'team_1';
const OTHER = 'team_2';
/** The tests that search use this team. */
const SEARCHED = 'team_3';
const own = systemScope(TEAM);
const others = systemScope(OTHER);

const packagesOf = (purls: readonly string[], more: object = {}): readonly SbomPackage[] =>
  listPackages(
    purls.map((purl) => ({
      purls: [purl],
      name: '',
      version: '',
      source: undefined,
      licenses: [],
      ...more,
    })),
  ).packages;

function packagesOfFile(name: string): readonly SbomPackage[] {
  const sbom = readSbom(readFileSync(new URL(`./testdata/${name}`, import.meta.url)));
  if ('problem' in sbom) throw new Error(sbom.problem);
  return sbom.packages;
}

describe.skipIf(!(await has('postgres')))('package sets', () => {
  let database: TestDatabase;
  let sql: SqlTag;

  beforeAll(async () => {
    database = await createTestDatabase({ max: 20 });
    ({ sql } = database.db);
    await sql`insert into regions (id, name, operator) values ('reg_1', 'r', 'service')`;
    for (const id of [TEAM, OTHER, SEARCHED, 'team_gone'])
      await sql`insert into teams (id, name, region_id, created_at) values (${id}, ${id}, 'reg_1', now())`;
  });
  afterAll(async () => await database.drop());

  const store = async (purls: readonly string[], more: object = {}, teamId = TEAM): Promise<number> =>
    (await storePackageSet(sql, teamId, packagesOf(purls, more))).setId;
  const count = async (table: string): Promise<number> => {
    const [row] = await sql<Array<{ count: number }>>`select count(*) from ${sql(table)}`;
    return row?.count ?? 0;
  };

  describe('storePackageSet()', () => {
    it('stores equal claims of two documents once, whatever their order', async () => {
      const packages = packagesOfFile('cyclonedx-1.6.json');
      const first = await storePackageSet(sql, TEAM, packages);
      expect(first.added).toBe(true);
      const rows = [await count('packages'), await count('package_set_members')];
      const again = await storePackageSet(sql, TEAM, packages.toReversed());
      expect(again).toEqual({ ...first, added: false });
      expect([await count('packages'), await count('package_set_members')]).toEqual(rows);
      const elsewhere = await storePackageSet(sql, OTHER, packages);
      expect(elsewhere).toMatchObject({ digest: first.digest, added: true });
      expect(elsewhere.setId).not.toBe(first.setId);
    });

    it('stores the set of no packages', async () => {
      const empty = await storePackageSet(sql, TEAM, []);
      expect(empty.added).toBe(true);
      expect(await sql`select packages from package_sets where id = ${empty.setId}::bigint`).toEqual([
        { packages: 0 },
      ]);
    });

    it('keeps texts as they are, and of one package what each document says', async () => {
      const purl = 'pkg:deb/debian/odd%22%5C%7B%2C%7D@1?distro=debian-12';
      const licenses = ['a "b", {c}', 'back\\slash', 'NULL', 'Ünïcode'];
      const before = await store([purl], { licenses, source: 'Quelle' });
      const set = await store([purl, 'pkg:npm/second@1'], { licenses: ['MIT'] });
      const [stored] = await packagesOfAll(sql, own, { setIds: [before], limit: 10 });
      expect(stored).toMatchObject({
        type: 'deb',
        name: 'odd"\\{,}',
        version: '1',
        purl,
        nameKey: 'odd"\\{,}',
        sourceKey: 'quelle',
        licenses,
      });
      expect(await packagesOfAll(sql, own, { setIds: [set], limit: 1 })).toMatchObject([
        { purl, licenses: ['MIT'], sourceKey: null },
      ]);
      expect(await store([purl], { licenses, source: 'Quelle' })).toBe(before);
    });

    it('lets 20 at once store sets that overlap, each once', async () => {
      const purls = Array.from({ length: 310 }, (_, n) => `pkg:npm/shared-${n}@1`);
      const packages = await count('packages');
      // Ten sets, each asked for twice, in opposite orders.
      const asked = Array.from({ length: 20 }, (_, n) => {
        const list = packagesOf(purls.slice(n % 10, 300 + (n % 10)));
        return n < 10 ? list : list.toReversed();
      });
      // Opens the connections, which would keep the calls apart.
      await Promise.all(asked.map(async () => await sql`select 1`));
      const stored = await Promise.all(asked.map(async (list) => await storePackageSet(sql, TEAM, list)));
      expect(stored.filter(({ added }) => added)).toHaveLength(10);
      expect(new Set(stored.map(({ setId }) => setId)).size).toBe(10);
      expect(await count('packages')).toBe(packages + 309);
      const setId = stored[12]?.setId ?? 0;
      const members = await packagesOfAll(sql, own, { setIds: [setId], limit: 2_000 });
      expect(members.map(({ purl }) => purl)).toEqual(asked[2]?.map(({ purl }) => purl));
    });

    it('never lets two calls wait for each other', async () => {
      const [a, b, c] = ['pkg:npm/wait-a@1', 'pkg:npm/wait-b@1', 'pkg:npm/wait-c@1'] as const;
      const waiting = async (): Promise<number> => {
        const [row] = await sql<Array<{ count: number }>>`
          select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
        return row?.count ?? 0;
      };
      const stored: Array<Promise<unknown>> = [];
      await database.db.transact(async (tx) => {
        await tx.sql`
          insert into packages (team_id, type, name, name_key, version, purl, licenses, claim)
          values (${TEAM}, 'npm', 'wait-b', 'wait-b', '1', ${b}, '{}', sha256(convert_to(${`${b}\n\n`}::text, 'UTF8')))`;
        // Had each inserted what stands before `b` in its own order, each would now have what the other waits
        // for.
        stored.push(storePackageSet(sql, TEAM, packagesOf([a, b, c])));
        stored.push(storePackageSet(sql, TEAM, packagesOf([a, b, c, 'pkg:npm/more@1']).toReversed()));
        await waitFor('both calls to wait', waiting, { holds: (count) => count === 2 });
      });
      expect(await Promise.all(stored)).toMatchObject([{ added: true }, { added: true }]);
    });

    it('fails for a team that is gone, and goes with its team', async () => {
      await expect(storePackageSet(sql, 'team_none', packagesOf(['pkg:npm/a@1']))).rejects.toThrow(
        /foreign key/,
      );
      const { setId } = await storePackageSet(sql, 'team_gone', packagesOf(['pkg:npm/gone@1']));
      await sql`delete from teams where id = 'team_gone'`;
      expect(await sql`select from packages where team_id = 'team_gone'`).toHaveLength(0);
      expect(await sql`select from package_set_members where set_id = ${setId}::bigint`).toHaveLength(0);
    });
  });

  it('are paged through in the order of purls, and show nothing to another team', async () => {
    // Most collations would sort `-` and `A` elsewhere.
    const purls = ['pkg:npm/B@1', 'pkg:npm/a-c@1', 'pkg:npm/a@1', 'pkg:npm/aa@1', 'pkg:npm/a.b@1'];
    const setIds = [await store(purls)];
    const seen: StatedPackage[] = [];
    for (let size = -1; seen.length > size;) {
      size = seen.length;
      seen.push(...(await packagesOfAll(sql, own, { setIds, after: seen.at(-1), limit: 2 })));
    }
    expect(seen.map(({ purl }) => purl)).toEqual(purls.toSorted());
    expect(await packagesOfAll(sql, others, { setIds, limit: 10 })).toEqual([]);
  });

  describe('setsWith()', () => {
    const find = async (name: string, limit = 10, scope = systemScope(SEARCHED)) => {
      const wanted = wantedPackage(name);
      return wanted === undefined ? 'no name' : await setsWith(sql, scope, { wanted, limit });
    };
    const near = async (name: string) => {
      const wanted = wantedPackage(name);
      return wanted === undefined ? 'no name' : await namesNear(sql, systemScope(SEARCHED), wanted);
    };
    const stored = async (purls: readonly string[]): Promise<number> => await store(purls, {}, SEARCHED);
    let debian: number;
    let alpine: number;
    let languages: number;
    beforeAll(async () => {
      debian = await stored([
        'pkg:deb/debian/libssl3@3.0.11-1?arch=amd64&distro=debian-12&upstream=openssl',
        'pkg:deb/debian/curl@7.88.1-10',
      ]);
      alpine = await stored([
        'pkg:apk/alpine/libssl3@3.3.1-r0?upstream=openssl',
        'pkg:apk/alpine/busybox@1.36',
      ]);
      languages = await stored([
        'pkg:npm/%40angular/core@17.0.0',
        'pkg:npm/curl@0.1.4',
        'pkg:maven/org.apache.logging.log4j/log4j-core@2.17.1?type=jar',
        'pkg:golang/github.com/gorilla/mux@v1.8.1',
        'pkg:pypi/zope-interface@6.1',
        'pkg:composer/laravel/framework@11.0.0',
        'pkg:golang/github.com/labstack/echo/v4@v4.11.0',
        'pkg:npm/zope-interface2@1',
        'pkg:npm/is-even@1',
      ]);
    });

    it('finds names as people write them, in any case', async () => {
      expect(await find('busybox')).toEqual([alpine]);
      expect(await find(' @Angular/core ')).toEqual([languages]);
      expect(await find('org.apache.logging.log4j:log4j-core')).toEqual([languages]);
      expect(await find('github.com/gorilla/mux')).toEqual([languages]);
      expect(await find('Zope_Interface')).toEqual([languages]);
    });

    it.each([
      'log4j-core',
      'org.apache.logging.log4j/log4j-core',
      'Org.Apache.Logging.Log4j:Log4J-core:2.17.1',
      'laravel/framework',
      'Framework@11.0.0',
      'gorilla/mux',
      'mux@v1.8.1',
      'github.com/labstack/echo',
      'labstack/echo/v4',
      'echo',
      'zope.interface==6.1',
    ])('finds a group, a vendor or a path in whole, in part and not at all: %s', async (name) => {
      expect(await find(name)).toEqual([languages]);
    });

    it.each([
      'logging.log4j/log4j-core',
      'symfony/framework',
      'labstack/echo/v5',
      'mux@v1.8.2',
      'org.apache.logging.log4j:log4j-core:2.17.2',
      // Another package than `@angular/core`, and than `is-even` of npm, where `_` is no `-`.
      'core',
      'Is_Even',
    ])('does not take one package for another: %s', async (name) => {
      expect(await find(name)).toEqual([]);
    });

    it('names what is near: another namespace, another separator, a slip', async () => {
      expect(await near('core')).toEqual(['@angular/core']);
      expect(await near('is_even')).toEqual(['is-even']);
      expect(await near('symfony/framework')).toEqual(['framework']);
      expect(await near('log4j-coer')).toEqual(['org.apache.logging.log4j:log4j-core']);
      expect(await near('zope_interfac')).toEqual(['zope-interface', 'zope-interface2']);
      for (const name of ['c', 'never-heard-of-it']) expect(await near(name)).toEqual([]);
    });

    it('finds a name of several types, the newest set first, up to the limit', async () => {
      expect(await find('curl')).toEqual([languages, debian]);
      expect(await find('curl', 1)).toEqual([languages]);
    });

    it('finds packages of deb and apk by their source', async () => {
      expect(await find('libssl3')).toEqual([alpine, debian]);
      expect(await find('OpenSSL')).toEqual([alpine, debian]);
      expect(await find('pkg:deb/debian/openssl')).toEqual([debian]);
    });

    it('finds by purl one type, one namespace, and one version if it is named', async () => {
      expect(await find('pkg:npm/curl')).toEqual([languages]);
      expect(await find('pkg:deb/debian/curl@7.88.1-10')).toEqual([debian]);
      expect(await find('pkg:deb/debian/curl@7.88.1-9')).toEqual([]);
      expect(await find('pkg:deb/ubuntu/curl')).toEqual([]);
      expect(await find('pkg:deb/curl')).toEqual([debian]);
      expect(await find('pkg:composer/laravel/framework@11.0.0')).toEqual([languages]);
      expect(await find('pkg:composer/cakephp/framework')).toEqual([]);
    });

    it('finds nothing by what is no name, and nothing of another team', async () => {
      for (const name of ['', ' ', '/', ':', 'pkg:', 'pkg:npm/', 'pkg:golang/..'])
        expect(await find(name)).toBe('no name');
      for (const name of ['%', 'bus_box', "' or 1=1 --", '@', '==', 'busybox@', '\u{1f600}/a:b'])
        expect(await find(name)).toEqual([]);
      expect(await find('libssl3', 10, others)).toEqual([]);
    });
  });
});
