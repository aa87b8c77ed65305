/**
 * Compliance packages over the real door: what a period leaves behind is packed twice, unpacked, and checked
 * by a shell that knows nothing of the service.
 */
import { execFile, execFileSync } from 'node:child_process';
import { hash } from 'node:crypto';
import {
  appendFileSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import type { CompliancePackage, SvcSDK } from '@svc/sdk';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CONTAINER, goodsOf } from '../../../test/setup/delivery/goods.ts';
import { assembled as assembledOf } from '../../../test/setup/delivery/packages.ts';
import { has } from '../../../test/setup/needs.ts';
import { refused } from '../../../test/setup/refused.ts';
import { waitFor } from '../../../test/setup/wait-for.ts';
import { world, type World } from '../../../test/setup/world.ts';
import { appendAudit } from '../../kit/ledger/index.ts';

const INVALID = '400 validation_failed';
const DAY_MS = 24 * 60 * 60_000;
const DIRECT = `sha256:${'1'.repeat(64)}`;
const PROMOTED = `sha256:${'2'.repeat(64)}`;
/** All that verify.sh may use beside its shell. */
const PROGRAMS = ['basename', 'cat', 'comm', 'dirname', 'mktemp', 'openssl', 'rm', 'sha256sum', 'sort', 'wc'];

interface Population {
  readonly number: number;
  readonly how: string;
  readonly digest: string;
  readonly exceptions: readonly string[];
  readonly promotion: { readonly approvals: ReadonlyArray<{ readonly userId: string }> } | null;
  readonly artifact: { readonly commit: string } | null;
  readonly decisions: ReadonlyArray<{ readonly action: string; readonly outcome: string }>;
}

describe.skipIf(!(await has('postgres')))('compliance packages', () => {
  let w: World;
  let { server, sdk, teamId } = {} as World;
  let admin: SvcSDK;
  let adminId: string;
  let environmentId: string;
  let period: readonly [string, string];
  let folder: string;
  let programs: string;
  let reviewed: CompliancePackage;
  let unpacked: string;

  const { built, enabled, entries, environment, image, promotion } = goodsOf(() => w);
  const assembled = async (...asked: readonly [string, string]): Promise<CompliancePackage> =>
    await assembledOf(admin, teamId, asked);
  const reviewedPackage = async (): Promise<CompliancePackage> => {
    const { id, state, reason } = await assembled(...period);
    expect([state, reason]).toEqual(['assembled', undefined]);
    return await sdk.compliance.markLegalReviewed(teamId, id, { note: 'read' });
  };
  const unpack = async ({ id }: CompliancePackage): Promise<string> => {
    const bytes = await admin.compliance.export(teamId, id);
    const place = join(folder, id);
    mkdirSync(place);
    execFileSync('tar', ['-xf', '-', '-C', place], { input: bytes });
    return place;
  };
  const json = (place: string, path: string): unknown => JSON.parse(readFileSync(join(place, path), 'utf8'));
  const filesOf = (place: string): string[] =>
    readdirSync(place, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name).slice(place.length + 1))
      .toSorted();
  const verify = async (place: string, ...args: readonly string[]): Promise<string> =>
    await new Promise((resolve) => {
      const env = { PATH: programs };
      execFile('/bin/sh', [join(place, 'verify.sh'), ...args], { env }, (error, stdout, stderr) =>
        resolve(`${error === null ? 0 : error.code} ${stdout}${stderr}`),
      );
    });
  const changedCopy = (name: string, change: (place: string) => void): string => {
    const place = join(folder, name);
    cpSync(unpacked, place, { recursive: true });
    change(place);
    return place;
  };

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'svc-compliance-'));
    programs = join(folder, 'programs');
    mkdirSync(programs);
    for (const name of PROGRAMS)
      symlinkSync(execFileSync('which', [name], { encoding: 'utf8' }).trim(), join(programs, name));
    w = await world();
    ({ server, sdk, teamId } = w);
    ({ sdk: admin, userId: adminId } = await w.member('admin'));
    const runner = await w.runner();
    const start = new Date().toISOString();
    environmentId = await environment({ name: 'production', deploy: CONTAINER });
    await built(runner, environmentId, { digest: DIRECT });
    const { id } = await promotion(environmentId, (await image({ digest: PROMOTED })).id);
    await admin.promotions.approve(environmentId, id);
    await runner.finish(await runner.take());
    const document = { on: ['deploy'], rules: [{ id: 'any', message: 'any', require: 'true' }] };
    const policyId = await enabled(document);
    await admin.policies.disable(teamId, policyId);
    await admin.policies.enable(teamId, policyId);
    const written = async () =>
      await server.db.sql<Array<{ deployments: number; stated: number }>>`
      select (select count(*)::int from deployments where team_id = ${teamId}) as deployments,
        (select count(distinct digest)::int from attestation_subjects where team_id = ${teamId}) as stated`;
    await waitFor('deployments and what is stated about their artifacts', written, {
      holds: ([row]) => row?.deployments === 2 && row.stated === 2,
    });
    // A server whose clock is a day behind writes one entry between two of the period.
    await server.db.transact(async (tx) => {
      const actor = { kind: 'system', id: 'test', display: 'a slow clock' } as const;
      const act = { chain: teamId, actor, action: 'test.out_of_order', target: teamId, requestId: '' };
      await appendAudit(tx, act, new Date(Date.now() - DAY_MS));
      await appendAudit(tx, { ...act, action: 'test.in_order' }, new Date());
    });
    const untilAfter = async (time: number): Promise<void> =>
      void (await waitFor('the next millisecond', async () => await Promise.resolve(Date.now() > time)));
    await untilAfter(Date.parse(start));
    period = [start, new Date(Date.now() + 1).toISOString()];
    await untilAfter(Date.parse(period[1]) - 1);
    reviewed = await reviewedPackage();
    unpacked = await unpack(reviewed);
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  it('hold the population with commits, approvals and decisions, and name what an auditor asks about first', () => {
    const all = json(unpacked, 'changes/population.json') as readonly Population[];
    const population = all.toSorted((a, b) => a.number - b.number);
    expect(population).toMatchObject([
      {
        how: 'direct',
        digest: DIRECT,
        promotion: null,
        artifact: { commit: 'c'.repeat(40) },
        exceptions: ['direct', 'no_package_list'],
      },
      {
        how: 'promotion',
        digest: PROMOTED,
        promotion: { approvals: [{ userId: adminId }] },
        exceptions: ['unverified_provenance', 'no_package_list'],
      },
    ]);
    const passed = population.map(({ decisions }) =>
      decisions.map(({ action, outcome }) => `${action} ${outcome}`).toSorted(),
    );
    expect(passed).toEqual([
      ['build.create allow', 'deploy allow'],
      ['deploy allow', 'promotion.approve allow'],
    ]);
    const exceptions = json(unpacked, 'changes/exceptions.json') as ReadonlyArray<{ kind: string }>;
    expect(exceptions.map(({ kind }) => kind).toSorted()).toEqual([
      'direct',
      'no_package_list',
      'no_package_list',
      'policy_disabled',
      'unverified_provenance',
    ]);
    const folders = ['artifacts', 'attestations', 'controls', 'policies', 'promotions', 'releases'];
    for (const name of folders) expect(readdirSync(join(unpacked, name)), name).not.toEqual([]);
    expect(json(unpacked, 'access/members.json')).toHaveLength(2);
  });

  it('take the ledger by place: an entry out of the order of time is in, and the part is intact', () => {
    const text = gunzipSync(readFileSync(join(unpacked, 'ledger/entries.ndjson.gz'))).toString();
    const lines = text.trim().split('\n');
    const entries = lines.map((line) => JSON.parse(line) as { seq: number; action: string; at: number });
    const [first] = entries;
    expect(entries.map(({ seq }) => seq)).toEqual(entries.map((_, n) => (first?.seq ?? 0) + n));
    const late = entries.find(({ action }) => action === 'test.out_of_order');
    expect(late?.at).toBeLessThan(Date.parse(period[0]));
    const last = entries.at(-1)?.seq;
    expect(json(unpacked, 'ledger/verification.json')).toMatchObject({ finding: 'intact', last });
    expect(json(unpacked, 'ledger/checkpoint.json')).toMatchObject({ seq: last });
  });

  it('of one period differ in id, time of assembly and signature alone', async () => {
    const other = await unpack(await reviewedPackage());
    expect(filesOf(other)).toEqual(filesOf(unpacked));
    const differing = filesOf(unpacked).filter(
      (path) => !readFileSync(join(unpacked, path)).equals(readFileSync(join(other, path))),
    );
    expect(differing).toEqual(['MANIFEST.json', 'manifest.sigstore.json']);
    const manifestOf = (place: string) => json(place, 'MANIFEST.json') as Record<string, unknown>;
    const manifests = [unpacked, other].map(manifestOf);
    const [one, two] = manifests.map(({ id: _id, assembledAt: _at, ...rest }) => rest);
    expect(one).toEqual(two);
    expect(manifests[0]?.['id']).not.toBe(manifests[1]?.['id']);
  });

  it('are checked by a shell without the service, with its key or with one that is brought along', async () => {
    expect(await verify(unpacked)).toBe('0 all files are as they were signed\n');
    const keys = (await server.call('GET /signing-keys')).body['keys'] as ReadonlyArray<{
      readonly purpose: string;
      readonly publicKey: string;
    }>;
    for (const { purpose, publicKey } of keys) {
      const path = join(folder, `${purpose}.pem`);
      writeFileSync(path, publicKey);
      const said = await verify(unpacked, path);
      if (purpose === 'platform') expect(said).toBe('0 all files are as they were signed\n');
      else expect(said).toMatch(/^1 changed: manifest.sigstore.json, its signature/);
    }
  });

  it('are checked by svc with the keys of the service', async () => {
    const path = join(folder, 'package.tar');
    const keys = join(folder, 'signing-keys.json');
    writeFileSync(path, await admin.compliance.export(teamId, reviewed.id));
    writeFileSync(keys, (await server.call('GET /signing-keys')).text);
    const line = ['cli/dist/main.js', 'compliance', 'verify', path, '--keys', keys, '--json'];
    const said = JSON.parse(execFileSync(process.execPath, line, { encoding: 'utf8' })) as object;
    expect(said).toMatchObject({ ok: true });
    expect(said).toHaveProperty('predicateType', 'https://svc.example/attestations/compliance-package/v1');
  });

  it('name each file that was changed, is missing, or was added', async () => {
    const place = changedCopy('changed', (copy) => {
      appendFileSync(join(copy, 'changes/exceptions.json'), ' ');
      rmSync(join(copy, 'access/members.json'));
      writeFileSync(join(copy, 'controls/.more.json'), '{}');
    });
    expect((await verify(place)).split('\n')).toEqual([
      '1 missing: access/members.json',
      'changed: changes/exceptions.json',
      'additional: controls/.more.json',
      '',
    ]);
    const manifest = changedCopy('manifest', (copy) => appendFileSync(join(copy, 'MANIFEST.json'), ' '));
    expect(await verify(manifest)).toBe('1 changed: MANIFEST.json\n');
    const bundle = changedCopy('bundle', (copy) => {
      const path = join(copy, 'manifest.sigstore.json');
      const text = readFileSync(path, 'utf8');
      const payload = /"payload":"([^"]*)"/.exec(text)?.[1] ?? '';
      const forged = atob(payload).replace(/"name":"M/, '"name":"m');
      writeFileSync(path, text.replace(payload, btoa(forged)));
    });
    expect(await verify(bundle)).toMatch(/^1 changed: manifest.sigstore.json, its signature/);
  });

  it('are not believed for a statement of the service about something else, whatever its predicate holds', async () => {
    const place = changedCopy('forged', (copy) => {
      const path = join(copy, 'MANIFEST.json');
      writeFileSync(path, readFileSync(path, 'utf8').replace('"exceptions":', '"exceptions" :'));
    });
    const sha256 = hash('sha256', readFileSync(join(place, 'MANIFEST.json')), 'hex');
    const about = { name: 'MANIFEST.json', kind: 'file', digest: `sha256:${sha256}` } as const;
    const { id } = await admin.artifacts.declare(teamId, about);
    const predicateType = 'https://svc.example/attestations/compliance-package/v1';
    const { bundle } = await admin.artifacts.attestEvaluation(teamId, id, {
      suiteId: 'any',
      suiteName: 'any',
      score: 1,
      evaluatedAt: new Date().toISOString(),
      methodologyVersion: '1',
      caseResults: [{ predicateType, subject: [{ digest: { sha256 }, name: 'MANIFEST.json' }] }],
    });
    writeFileSync(join(place, 'manifest.sigstore.json'), JSON.stringify(bundle));
    expect(await verify(place)).toMatch(/^1 changed: /);
  });

  it('are exported only when an owner has marked them as reviewed, and each act is in the ledger', async () => {
    const { id, sizeBytes, selfReviewed } = await assembled(...period);
    expect(sizeBytes).toBeGreaterThan(10_000);
    expect(selfReviewed).toBe(false);
    expect(await refused(admin.compliance.export(teamId, id))).toBe('403 legal_review_required');
    expect(await refused(admin.compliance.markLegalReviewed(teamId, id))).toBe('403 role_insufficient');
    const marked = await sdk.compliance.markLegalReviewed(teamId, id, { note: 'read' });
    expect(marked).toMatchObject({ state: 'legal_reviewed', legalReviewNote: 'read', selfReviewed: false });
    expect(await sdk.compliance.markLegalReviewed(teamId, id)).toEqual(marked);
    await admin.compliance.export(teamId, id);
    await admin.compliance.export(teamId, id);
    expect((await entries({ target: id })).map(({ action }) => action)).toEqual([
      'compliance.exported',
      'compliance.exported',
      'compliance.legal_reviewed',
      'compliance.assembled',
    ]);
    const about = async () => (await admin.notifications.list()).filter(({ body }) => body?.includes(id));
    const told = await waitFor('the notification', about, { holds: (some) => some.length > 0 });
    expect(told).toMatchObject([{ kind: 'compliance.package_ready' }]);
  });

  it('have a manifest that is exported alone, with its signature, under the same rules', async () => {
    const { id } = await assembled(...period);
    const manifestOf = async (packageId: string) =>
      await admin.compliance.export(teamId, packageId, { part: 'manifest' });
    expect(await refused(manifestOf(id))).toBe('403 legal_review_required');
    const place = join(folder, 'manifest-alone');
    mkdirSync(place);
    execFileSync('tar', ['-xf', '-', '-C', place], { input: await manifestOf(reviewed.id) });
    expect(filesOf(place)).toEqual(['MANIFEST.json', 'manifest.sigstore.json']);
    for (const path of filesOf(place))
      expect(readFileSync(join(place, path)).equals(readFileSync(join(unpacked, path))), path).toBe(true);
    const keys = join(folder, 'keys.json');
    writeFileSync(keys, (await server.call('GET /signing-keys')).text);
    const [manifest = '', bundle = ''] = filesOf(place).map((path) => join(place, path));
    const line = ['cli/dist/main.js', 'artifacts', 'verify', manifest, '--bundle', bundle, '--keys', keys];
    expect(execFileSync(process.execPath, [...line, '--json'], { encoding: 'utf8' })).toContain('"ok": true');
    const [entry] = await sdk.audit.list(teamId);
    expect(entry).toMatchObject({
      action: 'compliance.exported',
      target: reviewed.id,
      details: { sha256: reviewed.sha256, part: 'manifest' },
    });
    expect(await refused(admin.compliance.export(teamId, id, { part: 'all' as 'package' }))).toBe(INVALID);
  });

  it('are a hundred at most, and an owner deletes those that are not needed, which the ledger keeps', async () => {
    const { id, sha256, manifestSha256 } = await assembled(...period);
    await server.db.sql`
      insert into compliance_packages (id, team_id, created_at, state, period_start, period_end, partial, covers_until, requested_by, sha256)
      select 'cmp_many_' || n, ${teamId}, now(), 'assembled', now(), now(), false, now(), ${adminId}, 'none' from generate_series(1, 100) n`;
    await expect(admin.compliance.assemble(teamId, ...period)).rejects.toMatchObject({
      code: 'limit_reached',
      message: expect.stringMatching(/at most 100 are allowed; delete those that are not needed any more$/),
    });
    expect(await refused(admin.compliance.delete(teamId, id))).toBe('403 role_insufficient');
    await sdk.compliance.delete(teamId, id);
    await server.db.sql`delete from compliance_packages where id like 'cmp_many_%'`;
    expect(await refused(admin.compliance.get(teamId, id))).toBe('404 not_found');
    const [left] = await server.db.sql`select from compliance_pieces where package_id = ${id}`;
    expect(left).toBeUndefined();
    const [entry] = await sdk.audit.list(teamId);
    expect(entry).toMatchObject({
      action: 'compliance.deleted',
      target: id,
      details: { state: 'assembled', sha256, manifestSha256, periodStart: period[0], periodEnd: period[1] },
    });
    await server.db.sql`
      insert into compliance_packages (id, team_id, created_at, state, period_start, period_end, partial, covers_until, requested_by)
      values ('cmp_busy', ${teamId}, now(), 'assembling', now(), now(), false, now(), ${adminId})`;
    expect(await refused(sdk.compliance.delete(teamId, 'cmp_busy'))).toBe('409 state_conflict');
    await server.db.sql`delete from compliance_packages where id = 'cmp_busy'`;
    expect(await refused(sdk.compliance.delete(teamId, id))).toBe('404 not_found');
  });

  it('of a period under way are one, and of a period that has not ended are partial', async () => {
    const today = new Date().toISOString().slice(0, 10);
    const asked = await Promise.all(
      Array.from({ length: 5 }, async () => await admin.compliance.assemble(teamId, today, today)),
    );
    expect(new Set(asked.map(({ id }) => id)).size).toBeLessThan(5);
    expect(asked[0]).toMatchObject({ partial: true });
    expect(Date.parse(asked[0]?.coversUntil ?? '')).toBeLessThan(Date.parse(asked[0]?.periodEnd ?? ''));
  });

  it('are hidden from other teams, and closed to developers', async () => {
    const { sdk: other } = await w.stranger();
    const otherTeam = (await other.teams.create('others')).id;
    for (const team of [teamId, otherTeam]) {
      expect(await refused(other.compliance.get(team, reviewed.id))).toBe('404 not_found');
      expect(await refused(other.compliance.export(team, reviewed.id))).toBe('404 not_found');
      expect(await refused(other.compliance.markLegalReviewed(team, reviewed.id))).toBe('404 not_found');
      expect(await refused(other.compliance.delete(team, reviewed.id))).toBe('404 not_found');
    }
    const { sdk: developer } = await w.member('developer');
    expect(await refused(developer.compliance.list(teamId))).toBe('403 role_insufficient');
    expect(await refused(admin.compliance.assemble(teamId, '2026-02-30', '2026-03-01'))).toBe(INVALID);
  });

  it('have the same population when the environment is gone', async () => {
    await sdk.environments.delete(environmentId);
    const after = await unpack(await reviewedPackage());
    const path = 'changes/population.json';
    expect(readFileSync(join(after, path), 'utf8')).toBe(readFileSync(join(unpacked, path), 'utf8'));
  });

  it('name what was taken out of the deployments, the last and the first as well, by what the ledger was told', async () => {
    const numbers = async (): Promise<readonly number[]> => {
      const place = await unpack(await reviewedPackage());
      const [status, ...lines] = (await verify(place)).split(/(?<=^\d) |\n/).filter((line) => line !== '');
      const exceptions = json(place, 'changes/exceptions.json') as ReadonlyArray<Record<string, unknown>>;
      const named = exceptions.filter(({ kind }) => kind === 'deployment_missing');
      const digest = expect.stringMatching(/^sha256:/);
      expect(named).toEqual(named.map((each) => ({ ...each, environmentId, digest })));
      const said = lines.filter((line) => line.startsWith('missing deployment: build bld_'));
      expect(said).toHaveLength(named.length);
      expect(status).toBe(named.length === 0 ? '0' : '1');
      const { counts } = json(place, 'MANIFEST.json') as { counts: Record<string, number> };
      expect(counts).toMatchObject({ deployments: 2 - named.length, deploymentsInLedger: 2 });
      return named.map(({ number }) => Number(number)).toSorted((a, b) => a - b);
    };
    const cut = async (digest: string) =>
      await server.db.sql`delete from deployments where team_id = ${teamId} and digest = ${digest}`;
    expect(await numbers()).toEqual([]);
    await cut(PROMOTED);
    expect(await numbers()).toEqual([2]);
    await cut(DIRECT);
    expect(await numbers()).toEqual([1, 2]);
  });
});
