/**
 * This story tests evidence under fire: servers are killed while they record it, two do the same at once,
 * keys follow each other, and clocks are wrong. Each server is a process.
 */
import { execFileSync } from 'node:child_process';
import { gzipSync } from 'node:zlib';
import type { SvcSDK } from '@svc/sdk';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { IMAGE } from '../setup/builds/scripted-runner.ts';
import { has } from '../setup/needs.ts';
import { refused } from '../setup/refused.ts';
import { waitFor } from '../setup/wait-for.ts';
import { imageOf, startEvidenceWorld, type EvidenceWorld } from './evidence-world.ts';
import { WITHIN } from './two-servers.ts';

const postgresHere = await has('postgres');
const MINUTE_MS = 60_000;
const CATALOGUE = 'artifacts.catalogue';
const KEY_OF_BUILDS = 'svc-build-customer';

/** A list of packages as a runner sends it. */
function listOf(name: string): string {
  const component = { type: 'library', name, version: '1', purl: `pkg:deb/debian/${name}@1` };
  const document = { bomFormat: 'CycloneDX', specVersion: '1.6', components: [component] };
  return gzipSync(JSON.stringify(document)).toString('base64');
}

describe.skipIf(!postgresHere)('evidence', () => {
  let world: EvidenceWorld;
  let digests = 0;

  beforeAll(async () => {
    world = await startEvidenceWorld();
  }, 120_000);
  afterAll(async () => await world?.stop());

  const freshDigest = (): string => `sha256:${String((digests += 1)).padStart(64, '0')}`;
  const statementsOf = async (digest: string) =>
    await world.other.sdk.artifacts.attestations(world.teamId, digest);
  /** The server that is stopped at the lock is killed there. Another one goes on. */
  const killedAt = async (
    { lock, text }: { readonly lock: string; readonly text: string },
    { act, meanwhile }: { readonly act: () => Promise<void>; readonly meanwhile?: () => Promise<unknown> },
  ): Promise<void> => {
    const { one, other, hold, untilWaiting, loseJobs } = world;
    await other.process.kill();
    const release = await hold(lock);
    await act();
    await untilWaiting(text, 1);
    await one.process.kill();
    await meanwhile?.();
    await release();
    await other.process.start();
    await loseJobs();
    await one.process.start();
  };
  /** Expects one valid statement of each of these types, and no other. */
  const expectOnce = async (digest: string, buildId: string, types = ['provenance']): Promise<void> => {
    await waitFor('provenance', async () => await statementsOf(digest), {
      ...WITHIN,
      holds: (some) => some.some(({ predicateType }) => predicateType?.includes('provenance')),
    });
    await world.untilDone(CATALOGUE);
    const statements = await statementsOf(digest);
    const typeOf = (full = ''): string => types.find((type) => full.includes(`/${type}/`)) ?? full;
    expect(statements.map(({ predicateType }) => typeOf(predicateType)).toSorted()).toEqual(types);
    expect(statements.map(({ verification }) => verification?.status)).toEqual(types.map(() => 'valid'));
    expect((await world.other.sdk.artifacts.get(world.teamId, digest)).sources).toMatchObject([
      { ref: buildId },
    ]);
    const signed = (await world.other.sdk.audit.list(world.teamId)).filter(
      ({ action, details }) =>
        action === 'attestation.signed' && JSON.stringify(details?.['subjects']).includes(digest),
    );
    expect(signed).toHaveLength(types.length);
  };
  const headOfLedger = () => ({
    lock: `select 1 from audit_heads where chain = '${world.teamId}' for update`,
    text: 'audit_heads',
  });

  it('is one envelope when a server is killed between the signature and its storing', async () => {
    const { submitted, environment, runner, vault, one } = world;
    const digest = freshDigest();
    const { buildId, offer } = await submitted(await environment(), one.sdk);
    const before = vault.signaturesOf(KEY_OF_BUILDS);
    await killedAt(headOfLedger(), {
      act: async () => await runner.finish(offer, imageOf(digest)),
      meanwhile: async () => {
        expect(vault.signaturesOf(KEY_OF_BUILDS)).toBe(before + 1);
        expect(await world.sql`select 1 from attestation_subjects where digest = ${digest}`).toHaveLength(0);
      },
    });
    await expectOnce(digest, buildId);
    expect(vault.signaturesOf(KEY_OF_BUILDS)).toBeGreaterThan(before + 1);
  });

  it('is one envelope when a worker is late, counts as lost, and stores what another one has signed as well', async () => {
    const { submitted, environment, runner, vault, one, hold, untilWaiting, loseJobs } = world;
    const digest = freshDigest();
    const { buildId, offer } = await submitted(await environment(), one.sdk);
    const before = vault.signaturesOf(KEY_OF_BUILDS);
    const { lock, text } = headOfLedger();
    const release = await hold(lock);
    await runner.finish(offer, imageOf(digest));
    await untilWaiting(text, 1);
    await loseJobs();
    await waitFor('two signatures', () => vault.signaturesOf(KEY_OF_BUILDS) >= before + 2, WITHIN);
    await release();
    await expectOnce(digest, buildId);
  });

  it('is one artifact of a build whose runner was lost when it had published and told of it late, to a server that is killed', async () => {
    const { submitted, environment, runner, sql, one, other, teamId } = world;
    const digest = freshDigest();
    const environmentId = await environment();
    const { buildId, offer } = await submitted(environmentId, one.sdk);
    for (const phase of ['cloning', 'building', 'publishing'])
      expect(await runner.beat(offer, phase)).toBe('ok');
    await sql`update work_leases set expires_at = now() - interval '1 hour' where work_id = ${offer.id} and ended_at is null`;
    const state = async () => (await one.sdk.builds.get(environmentId, buildId)).state;
    await waitFor('the end of the build', state, { ...WITHIN, holds: (it) => it === 'failed' });
    const late = { build: { ...imageOf(digest), sbom: listOf('zlib'), phases: [] } };
    const locked = { lock: 'lock table artifacts in exclusive mode', text: 'artifacts' };
    await killedAt(locked, {
      act: async () => expect((await runner.report(offer, late)).status).toBe(409),
    });
    expect((await runner.report(offer, late)).status).toBe(409);
    await expectOnce(digest, buildId, ['provenance', 'reference']);
    const packages = async () => (await other.sdk.artifacts.get(teamId, digest)).sbom?.packages;
    await waitFor('the list of packages', packages, { ...WITHIN, holds: (count) => count === 1 });
  });

  it('names the gap where the list of packages is lost before it was read', async () => {
    const { submitted, environment, runner, sql, one, other, teamId } = world;
    const digest = freshDigest();
    const { offer } = await submitted(await environment(), one.sdk);
    const sbom = listOf('gone');
    const locked = { lock: 'lock table artifacts in exclusive mode', text: 'artifacts' };
    await killedAt(locked, {
      act: async () => await runner.finish(offer, { ...imageOf(digest), sbom }),
      meanwhile: async () => expect((await sql`delete from sboms`).count).toBeGreaterThan(0),
    });
    const gaps = async () => {
      const { document: passport } = await other.sdk.artifacts.passport(teamId, digest);
      return passport as { readonly gaps: readonly string[] } | undefined;
    };
    const passport = await waitFor('the passport', gaps, WITHIN);
    expect(passport.gaps).toContain('it is not known what it is made of');
    expect((await other.sdk.artifacts.get(teamId, digest)).sbom).toMatchObject({
      problem: 'the list of packages that its runner reported is lost',
    });
  });

  it('is one build of a hundred approvals at once at two servers, and one end where one approves and another rejects', async () => {
    const { one, other, teamId, projectId, environment } = world;
    const { sdk } = one;
    const environmentId = await environment({ deploy: { kind: 'container' } });
    const params = { name: IMAGE, kind: 'image', digest: freshDigest(), uri: `${IMAGE}:latest` } as const;
    const { id: artifactId } = await sdk.artifacts.declare(teamId, params);
    const promoted = async (version: string): Promise<string> => {
      const { id } = await sdk.releases.create(projectId, { version, artifactIds: [artifactId] });
      return (await sdk.promotions.create(environmentId, id)).id;
    };
    const id = await promoted('1');
    const people = await Promise.all([one, other].map(async ({ signedIn }) => await signedIn()));
    const at = (n: number): SvcSDK => people[n % 2] ?? sdk;
    const approvals = Array.from({ length: 100 }, async (_, n) =>
      refused(at(n).promotions.approve(environmentId, id)),
    );
    // A machine that is busy may refuse some for want of connections, and none otherwise.
    const answers = new Set(await Promise.all(approvals));
    expect(answers).toContain('not refused');
    expect([...answers].filter((answer) => answer !== 'not refused' && !answer.startsWith('503'))).toEqual(
      [],
    );
    const builds = await sdk.builds.list(environmentId);
    expect(builds).toHaveLength(1);
    expect((await sdk.promotions.get(environmentId, id)).approvals).toHaveLength(1);
    await sdk.builds.cancel(environmentId, builds[0]?.id ?? '');
    for (let round = 0; round < 4; round += 1) {
      const next = await promoted(`2.${round}`);
      const both = await Promise.all([
        refused(at(round).promotions.approve(environmentId, next)),
        refused(at(round + 1).promotions.reject(environmentId, next, { reason: 'no' })),
      ]);
      expect(both.toSorted()).toEqual(['409 promotion_not_pending', 'not refused']);
      const { state, buildId } = await sdk.promotions.get(environmentId, next);
      expect([both[0] === 'not refused', buildId !== undefined]).toEqual(Array(2).fill(state === 'approved'));
      if (buildId !== undefined) await sdk.builds.cancel(environmentId, buildId);
    }
  });

  it('has every deployment in exactly one of two periods that meet, whatever the clocks of the servers say', async () => {
    const { one, other, environment, teamId } = world;
    const environmentId = await environment({ deploy: { kind: 'container' } });
    const deployed = async (by: SvcSDK): Promise<string> => await deployedBy(by, environmentId);
    const start = await now();
    await other.stepClock(10 * MINUTE_MS);
    const first = [await deployed(one.sdk), await deployed(other.sdk)];
    const middle = await now();
    // What has not ended by the clock that dates deployments is not whole, whatever a fast server says.
    const ahead = new Date(Date.parse(middle) + 5 * MINUTE_MS).toISOString();
    expect(await other.sdk.compliance.assemble(teamId, start, ahead)).toMatchObject({ partial: true });
    await other.stepClock(-10 * MINUTE_MS);
    const second = [await deployed(one.sdk), await deployed(other.sdk)];
    const end = await now();
    expect(await buildsOf(other.sdk, [start, middle])).toEqual(first);
    expect(await buildsOf(other.sdk, [middle, end])).toEqual(second);
    await other.stepClock(0);
  });

  /** Returns what time it is in the database. */
  const now = async (): Promise<string> => {
    const [row] = await world.sql<Array<{ now: Date }>>`select clock_timestamp() as now`;
    return row!.now.toISOString();
  };
  const deployedBy = async (by: SvcSDK, environmentId: string): Promise<string> => {
    const { buildId, offer } = await world.submitted(environmentId, by);
    await world.runner.finish(offer, imageOf(freshDigest()));
    return buildId;
  };
  /** Returns the numbers that builds have in the population of the package of a period. */
  const buildsOf = async (sdk: SvcSDK, [start, end]: readonly [string, string]) => {
    const { teamId } = world;
    const { id, partial } = await sdk.compliance.assemble(teamId, start, end);
    expect(partial).toBe(false);
    await waitFor(`package ${id}`, async () => await sdk.compliance.get(teamId, id), {
      ...WITHIN,
      holds: ({ state }) => state === 'assembled',
    });
    await (await world.other.signedIn()).compliance.markLegalReviewed(teamId, id);
    const input = await sdk.compliance.export(teamId, id);
    const args = ['-xOf', '-', 'changes/population.json'];
    const population = JSON.parse(execFileSync('tar', args, { input, encoding: 'utf8' })) as ReadonlyArray<{
      readonly number: number;
      readonly buildId: string;
    }>;
    return population.toSorted((a, b) => a.number - b.number).map(({ buildId }) => buildId);
  };

  it('is waited for by the package of a period in which a deployment is not recorded yet', async () => {
    const { one, environment, hold, untilWaiting, sql, teamId } = world;
    const environmentId = await environment({ deploy: { kind: 'container' } });
    const release = await hold('lock table deployments in exclusive mode');
    const start = await now();
    const buildId = await deployedBy(one.sdk, environmentId);
    const end = await now();
    await untilWaiting('delete from outbox', 1);
    const { id } = await one.sdk.compliance.assemble(teamId, start, end);
    const tried = async () =>
      await sql`select 1 from jobs where kind = 'compliance.assembly' and state = 'waiting' and epoch > 0`;
    await waitFor('a first try', tried, { ...WITHIN, holds: (some) => some.length > 0 });
    expect(await one.sdk.compliance.get(teamId, id)).toMatchObject({ state: 'assembling' });
    await release();
    expect(await buildsOf(one.sdk, [start, end])).toEqual([buildId]);
  });

  it('is signed on while one key takes over from another at two servers, each statement by one of the two', async () => {
    const { one, other, staff, teamId } = world;
    const { sdk } = one;
    const models = Array.from({ length: 4 }, freshDigest);
    for (const digest of models)
      await sdk.artifacts.declare(teamId, { name: 'model', kind: 'model', digest });
    const evaluatedAt = new Date().toISOString();
    const said = { suiteId: 's', suiteName: 'S', evaluatedAt, methodologyVersion: '1', caseResults: [] };
    let next = 0;
    const evaluating = async (by: SvcSDK): Promise<void> => {
      for (let n = next++; n < 200; n = next++) {
        if (n === 50) await staff.adminSigningKeys.rotate({ purpose: 'platform', reason: 'a test' });
        if (n === 100)
          await Promise.all([one, other].map(async (each) => await each.stepClock(16 * MINUTE_MS)));
        await by.artifacts.attestEvaluation(teamId, models[n % 4] ?? '', { ...said, score: n });
      }
    };
    await Promise.all([one, other, one, other].map(async ({ sdk: by }) => await evaluating(by)));
    const all = (await Promise.all(models.map(statementsOf))).flat();
    expect(all).toHaveLength(200);
    expect(new Set(all.map(({ verification }) => verification?.status))).toEqual(new Set(['valid']));
    const hints = all.map(({ bundle }) => hintOf(bundle));
    expect(new Set(hints).size).toBe(2);
    expect(await sdk.audit.verify(teamId)).toMatchObject({ report: { finding: 'intact' } });
  });

  const hintOf = (bundle: unknown): string =>
    (bundle as { verificationMaterial: { publicKey: { hint: string } } }).verificationMaterial.publicKey.hint;
});
