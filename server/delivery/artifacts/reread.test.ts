/**
 * Here the upgrade from version 0.10 is tested: a database whose documents shared their claims, with lists
 * that hid others and statements that nobody looked at.
 */
import { createHash } from 'node:crypto';
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createEmptyDatabase } from '../../../test/setup/database.ts';
import { cycloneDx } from '../../../test/setup/delivery/goods.ts';
import { has } from '../../../test/setup/needs.ts';
import { systemScope } from '../../kit/authorise.ts';
import { systemClock } from '../../base/clock.ts';
import { migrate, openDatabase, type Database } from '../../base/db/index.ts';
import { bundleOf } from '../attestations/envelope.ts';
import { recountJob } from '../attestations/recount.ts';
import { statementBytes } from '../attestations/statement.ts';
import { packagesOf } from './packages.ts';
import { rereadJob } from './reread.ts';
import { createSbomReader } from './sbom/sbom-reader.ts';

const TEAM = 'team_1';
const FOLDER = new URL('../../migrations/', import.meta.url).pathname;

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');
const documentOf = (license: string): string =>
  cycloneDx([
    { type: 'library', purl: 'pkg:npm/netlib@2.0.0', licenses: [{ license: { id: license } }] },
  ]).toString();
const digestOf = (id: string): string => `sha256:${sha256(id)}`;

describe.skipIf(!(await has('postgres')))('documents of version 0.10', () => {
  let db: Database;
  let dropped: () => Promise<void>;
  const reader = createSbomReader();

  /** An artifact with a list of the shared set, whose document says `license`. */
  const artifact = async (id: string, license: string): Promise<void> => {
    const document = documentOf(license);
    await db.sql`
      insert into sboms (team_id, sha256, document, created_at) values (${TEAM}, ${sha256(document)}, ${Buffer.from(document)}, now()) on conflict do nothing`;
    await db.sql`
      insert into artifacts (id, team_id, created_at, digest, kind, name, package_set_id, sbom_sha256)
      select ${id}, ${TEAM}, now(), ${digestOf(id)}, 'image', 'web', id, ${sha256(document)} from package_sets`;
  };
  /** A statement of the service, as 0.10 stored it. */
  const stated = async (
    id: string,
    about: string,
    more: { dedupeKey: string; type: string; predicate?: object },
  ): Promise<void> => {
    const payload = statementBytes({
      subjects: [{ name: 'web', digest: digestOf(about) }],
      predicateType: more.type,
      predicate: { ...more.predicate },
    });
    const bundle = bundleOf({ payload, signature: Buffer.from('none'), hint: 'aGludA==' });
    await db.sql`
      insert into attestations (id, team_id, created_at, predicate_type, source, bundle, sha256, dedupe_key, ledger_seq)
      values (${id}, ${TEAM}, now(), ${more.type}, 'platform', ${bundle}, '', ${more.dedupeKey}, 1)`;
    await db.sql`insert into attestation_subjects (team_id, digest, attestation_id) values (${TEAM}, ${digestOf(about)}, ${id})`;
  };

  beforeAll(async () => {
    const { url, drop } = await createEmptyDatabase();
    dropped = drop;
    db = openDatabase({ url, max: 2 });
    const old = mkdtempSync(join(tmpdir(), 'svc-migrations-'));
    try {
      cpSync(FOLDER, old, { recursive: true });
      const journal = JSON.parse(readFileSync(join(old, 'meta/_journal.json'), 'utf8')) as {
        entries: Array<{ tag: string }>;
      };
      const before = journal.entries.findIndex(({ tag }) => tag.endsWith('_claims'));
      writeFileSync(
        join(old, 'meta/_journal.json'),
        JSON.stringify({ ...journal, entries: journal.entries.slice(0, before) }),
      );
      await migrate(url, { folder: old });
    } finally {
      rmSync(old, { recursive: true });
    }
    await db.sql`insert into regions (id, name, operator) values ('reg_1', 'r', 'service')`;
    await db.sql`insert into teams (id, name, region_id, created_at) values (${TEAM}, 't', 'reg_1', now())`;
    await db.sql`insert into packages (team_id, type, name, name_key, version, purl, licenses) values (${TEAM}, 'npm', 'netlib', 'netlib', '2.0.0', 'pkg:npm/netlib@2.0.0', '{MIT}')`;
    await db.sql`insert into package_sets (team_id, digest, packages, created_at) values (${TEAM}, ${Buffer.from(sha256('pkg:npm/netlib@2.0.0'), 'hex')}, 1, now())`;
    await db.sql`insert into package_set_members (team_id, set_id, package_id, place) select ${TEAM}, s.id, p.id, 1 from package_sets s, packages p`;
    await artifact('art_1', 'MIT');
    await artifact('art_2', 'AGPL-3.0-only');
    await artifact('art_3', 'MIT');
    await artifact('art_4', 'BSD-3-Clause');
    await db.sql`delete from sboms where sha256 = ${sha256(documentOf('BSD-3-Clause'))}`;
    // Its runner listed it as AGPL, behind an upload.
    const listed = (about: string, license: string) => ({
      dedupeKey: `sbom:${digestOf(about)}:${sha256(documentOf(license))}`,
      type: 'https://in-toto.io/attestation/reference/v0.1',
    });
    await stated('ats_3', 'art_3', listed('art_3', 'AGPL-3.0-only'));
    await stated('ats_1', 'art_1', listed('art_1', 'MIT'));
    await stated('ats_e', 'art_1', {
      dedupeKey: 'evaluation:1',
      type: 'https://svc.example/attestations/evaluation/v1',
      predicate: { suiteId: 'mmlu', statedBy: 'user_1', assuranceLevel: 'platform_run' },
    });
    await db.sql`update attestations set bundle = 'edited' where id = 'ats_1'`;
    expect((await migrate(url)).length).toBeGreaterThan(0);
  });
  afterAll(async () => {
    await reader.stop();
    await db?.close(1_000);
    await dropped?.();
  });

  const run = async (job: {
    readonly kind: string;
    run(job: never, signal: AbortSignal): Promise<unknown>;
  }): Promise<void> => {
    const due = await db.sql<
      Array<{ lane: string }>
    >`select lane from jobs where kind = ${job.kind} order by due_at`;
    expect(due).toHaveLength(2);
    await job.run({ teamId: TEAM, payload: {} } as never, new AbortController().signal);
  };
  const listsOf = async (id: string): Promise<string[]> =>
    (await packagesOf({ db, teams: systemScope(TEAM) }, id, { after: undefined, take: 10 }))
      .map(({ licenses, listedBy }) => `${listedBy.join(' ')} ${licenses.join(' ')}`)
      .toSorted();

  it('stand as they were until they are read again, and then each says its own', async () => {
    const ids = ['art_1', 'art_2', 'art_3', 'art_4'];
    expect(await Promise.all(ids.map(listsOf))).toEqual([
      ['runner MIT'],
      ['upload MIT'],
      ['upload MIT'],
      ['upload MIT'],
    ]);
    await run(rereadJob({ db, reader }));
    expect(await Promise.all(ids.map(listsOf))).toEqual([
      ['runner MIT'],
      ['upload AGPL-3.0-only'],
      ['runner AGPL-3.0-only', 'upload MIT'],
      // Its document is gone.
      ['upload MIT'],
    ]);
    const sets = await db.sql`select from package_sets`;
    await run(rereadJob({ db, reader }));
    expect(await db.sql`select from package_sets`).toHaveLength(sets.length);
  });

  it('have statements that count as what they are, but for those that are none any more', async () => {
    await run(recountJob({ db, clock: systemClock, root: undefined }) as never);
    const counted = await db.sql<
      Array<{ id: string; countsAs: string | null }>
    >`select id, counts_as as "countsAs" from attestations order by id`;
    expect(counted).toEqual([
      { id: 'ats_1', countsAs: null },
      { id: 'ats_3', countsAs: 'aGludA==' },
      { id: 'ats_e', countsAs: expect.stringMatching(/^user_1 [0-9a-f]{32}$/) },
    ]);
  });
});
