/**
 * Here it is tested whose claim counts: what one document, upload or evaluation says decides nothing for what
 * others say, and fills nothing that others need.
 */
import { readFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
import type { SvcSDK } from '@svc/sdk';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { readYamlValue } from '../../../sdk/ci-definitions/index.ts';
import type { ScriptedRunner } from '../../../test/setup/builds/scripted-runner.ts';
import { cycloneDx, goodsOf } from '../../../test/setup/delivery/goods.ts';
import { enveloped, signingPair, statementAbout } from '../../../test/setup/delivery/statements.ts';
import { has } from '../../../test/setup/needs.ts';
import { newKey } from '../../../test/setup/people.ts';
import { refused } from '../../../test/setup/refused.ts';
import { waitFor } from '../../../test/setup/wait-for.ts';
import { world, type World } from '../../../test/setup/world.ts';

const MISSING = '404 not_found';
const LOW_ROLE = '403 role_insufficient';
const CONFLICT = '409 state_conflict';
const NETLIB = 'pkg:npm/netlib@2.0.0';

interface Component {
  readonly purl?: string;
  readonly licenses?: readonly string[];
  readonly source?: string;
}

const documentOf = (...components: readonly Component[]): Buffer =>
  cycloneDx(
    components.map(({ purl = NETLIB, licenses = [], source }) => ({
      type: 'library',
      name: 'netlib',
      version: '2.0.0',
      purl,
      licenses: licenses.map((id) => ({ license: { id } })),
      ...(source && { properties: [{ name: 'svc:source', value: source }] }),
    })),
  );

const many = (count: number): Buffer =>
  documentOf(...Array.from({ length: count }, (_, n) => ({ purl: `pkg:npm/filler-${n}@1` })));

describe.skipIf(!(await has('postgres')))('claims', () => {
  let w: World;
  let { sdk: session, teamId, projectId } = {} as World;
  let sdk: SvcSDK;
  let dev: SvcSDK;
  let devId: string;
  let runner: ScriptedRunner;

  const goods = goodsOf(() => ({ sdk, teamId, projectId }));
  const { artifact, freshDigest } = goods;
  const declared = async (kind: 'package' | 'model' = 'package'): Promise<string> =>
    (await artifact({ name: 'lib', kind }, dev)).id;
  const uploaded = async (id: string, document: Uint8Array) =>
    await goods.uploadSbom(id, gzipSync(document), dev);
  /** Makes an image that the runner of a build listed so. */
  const built = async (document: Buffer, digest = freshDigest()): Promise<string> => {
    const sbom = document.toString('base64');
    await goods.built(runner, await goods.environment(), { digest, sbom });
    const { id: artifactId } = await waitFor(
      `the list of ${digest}`,
      async () => await sdk.artifacts.get(teamId, digest),
      { holds: (seen) => seen.sbom?.lists.some(({ source }) => source === 'runner') === true },
    );
    return artifactId;
  };
  const licensesOf = async (id: string) =>
    (await sdk.artifacts.packages(teamId, id)).map(({ licenses, listedBy }) => ({ licenses, listedBy }));
  const releases = async (...artifactIds: string[]): Promise<string> =>
    await refused(goods.release(...artifactIds));
  const enforced = async (require: string): Promise<string> =>
    await goods.enabled({ on: ['release.create'], rules: [{ id: 'rule', message: require, require }] });
  /** The rule of a shipped template. */
  const template = (name: string): string => {
    const file = new URL(`../../../docs/policies/${name}.yaml`, import.meta.url);
    const { rules } = readYamlValue(readFileSync(file, 'utf8')) as { rules: Array<{ require: string }> };
    return rules[0]!.require;
  };

  beforeAll(async () => {
    w = await world();
    ({ sdk: session, teamId, projectId } = w);
    sdk = w.as((await newKey(w.server, w.owner.token)).secret);
    ({ sdk: dev, userId: devId } = await w.member('developer'));
    runner = await w.runner();
  });
  const allDisabled = async (): Promise<void> => {
    for (const { id, enabled } of await sdk.policies.list(teamId))
      if (enabled) await sdk.policies.disable(teamId, id);
  };
  beforeEach(async () => await allDisabled());

  describe('of a document', () => {
    it.each([
      ['another licence', { licenses: ['MIT'] }],
      ['no licence', {}],
      ['another source', { purl: 'pkg:deb/debian/netlib@2.0.0', source: 'other', licenses: ['MIT'] }],
    ])('stand beside those of a document that named the package first with %s', async (_what, first) => {
      const before = await declared();
      await uploaded(before, documentOf(first));
      const after = await declared();
      const claim = { ...first, source: goods.fresh('source'), licenses: ['AGPL-3.0-only'] };
      await uploaded(after, documentOf(claim));
      expect(await licensesOf(before)).toEqual([
        { licenses: 'licenses' in first ? first.licenses : [], listedBy: ['upload'] },
      ]);
      expect(await licensesOf(after)).toEqual([{ licenses: ['AGPL-3.0-only'], listedBy: ['upload'] }]);
      const { artifacts } = await sdk.artifacts.impact(teamId, { packageName: claim.source });
      expect(artifacts.map(({ id }) => id)).toEqual('purl' in first ? [after] : []);
      await enforced(template('no-agpl'));
      expect([await releases(before), await releases(after)]).toEqual(['not refused', '403 policy_denied']);
    });

    it('count all, where it says two things of one package', async () => {
      const id = await declared();
      await uploaded(id, documentOf({ licenses: ['MIT'] }, { licenses: ['AGPL-3.0-only'] }));
      expect((await licensesOf(id)).flatMap(({ licenses }) => licenses).toSorted()).toEqual([
        'AGPL-3.0-only',
        'MIT',
      ]);
      await enforced(template('no-agpl'));
      expect(await releases(id)).toBe('403 policy_denied');
    });

    it('add to what the runner listed, and neither replace nor hide it, whichever comes first', async () => {
      const agpl = documentOf({ licenses: ['AGPL-3.0-only'] }, { purl: 'pkg:npm/a@1' });
      const mit = documentOf({ licenses: ['MIT'] }, { purl: 'pkg:npm/b@1' }, { purl: 'pkg:npm/c@1' });
      const digest = freshDigest();
      await artifact({ name: 'web', kind: 'image', digest }, dev);
      await uploaded(digest, mit);
      const ids = [await built(agpl, digest), await built(agpl)] as const;
      const difference = { added: 2, lacking: 1, otherwise: 1 };
      const lists = [
        { source: 'runner', by: runner.runnerId, packages: 2 },
        { source: 'upload', by: devId, packages: 3, difference },
      ];
      expect((await uploaded(ids[1], mit)).sbom).toMatchObject({ packages: 2, lists });
      const same = { added: 0, lacking: 0, otherwise: 0 };
      expect((await uploaded(ids[1], Buffer.from(`${agpl.toString()} `))).sbom?.lists[2]).toMatchObject({
        difference: same,
      });
      expect((await sdk.artifacts.get(teamId, ids[0])).sbom).toMatchObject({ packages: 2, lists });
      expect(
        (await sdk.artifacts.packages(teamId, ids[0])).map(({ name, licenses, listedBy }) => [
          name,
          ...licenses!,
          ...listedBy!,
        ]),
      ).toEqual([
        ['a', 'runner'],
        ['b', 'upload'],
        ['c', 'upload'],
        ...(await licensesOf(ids[0]))
          .filter(({ licenses }) => licenses!.length > 0)
          .map(({ licenses, listedBy }) => ['netlib', ...licenses!, ...listedBy!]),
      ]);
      const page = await sdk.artifacts.packagesPage(teamId, ids[0], { limit: 3 });
      const rest = await sdk.artifacts.packagesPage(teamId, ids[0], { limit: 3, cursor: page.nextCursor! });
      expect([...page.packages, ...rest.packages]).toEqual(await sdk.artifacts.packages(teamId, ids[0]));
      await enforced(template('no-agpl'));
      expect([await releases(ids[0]), await releases(ids[1])]).toEqual([
        '403 policy_denied',
        '403 policy_denied',
      ]);
    });

    it('count although a runner lists the package otherwise, until an admin in person removes the document', async () => {
      const id = await built(documentOf({ licenses: ['MIT'] }));
      const { sbom } = await uploaded(id, documentOf({ licenses: ['AGPL-3.0-only'] }));
      const sha256 = sbom!.lists[1]!.sha256;
      await enforced(template('no-agpl'));
      expect(await releases(id)).toBe('403 policy_denied');
      expect(await refused(dev.artifacts.removeSbom(teamId, id, sha256))).toBe(LOW_ROLE);
      expect(await refused(sdk.artifacts.removeSbom(teamId, id, sha256))).toBe('403 session_required');
      expect(await refused(session.artifacts.removeSbom(teamId, id, sbom!.lists[0]!.sha256))).toBe(MISSING);
      expect((await session.artifacts.removeSbom(teamId, id, sha256)).sbom?.lists).toMatchObject([
        { source: 'runner' },
      ]);
      expect(await releases(id)).toBe('not refused');
      expect(
        (await sdk.audit.list(teamId)).find(({ action }) => action === 'artifact.sbom_removed'),
      ).toMatchObject({
        target: id,
        details: { sha256 },
      });
    });

    it('are bounded where they come, so that what they fill refuses nobody else', async () => {
      const image = await built(documentOf({ licenses: ['MIT'] }));
      const file = await declared();
      await enforced('artifacts.all(a, a.packages.all(p, p.name != "left-pad"))');
      expect(await refused(uploaded(file, many(10_001)))).toBe('409 limit_reached');
      expect(await refused(uploaded(image, many(1_001)))).toBe('409 limit_reached');
      await uploaded(image, many(900));
      expect(await refused(uploaded(image, many(200)))).toBe('409 limit_reached');
      expect(await releases(image, file)).toBe('not refused');
    });
  });

  describe('of statements', () => {
    const scanner = signingPair();
    const unknown = signingPair();
    const envelope = (digest: string, { key = scanner.privateKey, n = 0, more = {} } = {}): string =>
      enveloped(statementAbout(digest, 'https://x.example/scan', { n }), key, more);

    it('count in no gate while nobody is trusted for them, and are removed by whoever brought them or an admin', async () => {
      const { id, digest } = await artifact({ name: 'web', kind: 'image' });
      const stated: string[] = [];
      const state = async (by: SvcSDK, n: number): Promise<string> => {
        const bundle = envelope(digest, { n, key: unknown.privateKey });
        return (await by.artifacts.upload(teamId, id, { bundle })).id;
      };
      for (let n = 0; n < 110; n += 1) stated.push(await state(dev, n));
      await enforced('artifacts.all(a, size(a.attestations) == 0)');
      expect(await releases(id)).toBe('not refused');
      const other = await state(sdk, 110);
      expect(await refused(dev.artifacts.removeAttestation(teamId, id, other))).toBe(LOW_ROLE);
      expect(await refused(dev.artifacts.removeAttestation(teamId, id, stated[0]!))).toBe('not refused');
      expect(await refused(sdk.artifacts.removeAttestation(teamId, id, stated[1]!))).toBe('not refused');
      expect(await refused(sdk.artifacts.removeAttestation(teamId, id, stated[1]!))).toBe(MISSING);
      const [entry] = await sdk.audit.list(teamId);
      expect(entry).toMatchObject({
        action: 'attestation.removed',
        target: stated[1],
        details: { status: 'unverified' },
      });
    });

    it('count from the moment that their key is trusted, in whichever bytes once, and are evidence then', async () => {
      const { id, digest } = await artifact({ name: 'web', kind: 'image' });
      await enforced("artifacts.all(a, a.attestations.exists_one(t, t.verified && t.signer == 'scanner'))");
      const bundle = envelope(digest);
      const before = await dev.artifacts.upload(teamId, id, { bundle });
      await dev.artifacts.upload(teamId, id, { bundle: envelope(digest, { more: { twin: 1 } }) });
      expect(await releases(id)).toBe('403 policy_denied');
      const key = await sdk.trustedKeys.add(teamId, { name: 'scanner', publicKey: scanner.pem });
      expect(await releases(id)).toBe('not refused');
      const counting = new Set<string>();
      for (let n = 0; n < 5; n += 1)
        counting.add(
          (await dev.artifacts.upload(teamId, id, { bundle: envelope(digest, { more: { space: n } }) })).id,
        );
      expect(counting.size).toBe(1);
      for (let n = 1; n < 5; n += 1)
        await dev.artifacts.upload(teamId, id, { bundle: envelope(digest, { n }) });
      expect(await releases(id)).toBe('not refused');
      await session.trustedKeys.remove(teamId, key.id);
      expect(await releases(id)).toBe('403 policy_denied');
      const [first] = [...counting];
      expect((await dev.artifacts.upload(teamId, id, { bundle })).id).toBe(before.id);
      expect(await refused(dev.artifacts.removeAttestation(teamId, id, first!))).toBe(LOW_ROLE);
      expect(await refused(sdk.artifacts.removeAttestation(teamId, id, first!))).toBe('403 session_required');
      expect(await refused(session.artifacts.removeAttestation(teamId, id, first!))).toBe('not refused');
    });

    it('of the service itself stay', async () => {
      const id = await built(documentOf({}));
      const [own] = await waitFor('a statement', async () => await sdk.artifacts.attestations(teamId, id), {
        holds: ({ length }) => length > 0,
      });
      expect(await refused(session.artifacts.removeAttestation(teamId, id, own!.id))).toBe(CONFLICT);
    });
  });

  describe('of evaluations', () => {
    const evaluation = (more: object = {}) => ({
      suiteId: 'mmlu',
      suiteName: 'MMLU',
      score: 1,
      evaluatedAt: new Date().toISOString(),
      methodologyVersion: '3',
      caseResults: [],
      ...more,
    });

    it('are those of whoever stated them, also with a run that ended well', async () => {
      const id = await declared('model');
      const run = await dev.sandboxRuns.create(teamId, { command: ['true'] });
      const ofRun = evaluation({ score: 100, sandboxRunId: run.id });
      const stated = await dev.artifacts.attestEvaluation(teamId, id, ofRun);
      expect(stated.statement).toMatchObject({
        predicate: { assuranceLevel: 'self_attested', sandboxRun: { id: run.id } },
      });
      await enforced(
        "artifacts.all(a, a.evaluations.exists(e, e.score > 0.9 && e.assuranceLevel == 'platform_run'))",
      );
      expect(await releases(id)).toBe('403 policy_denied');
      await allDisabled();
      await enforced(
        `artifacts.all(a, a.evaluations.exists(e, e.assuranceLevel == 'self_attested' && e.statedBy == '${devId}' && e.signer == 'the service (platform)'))`,
      );
      expect(await releases(id)).toBe('not refused');
      await allDisabled();
      await enforced(template('evaluation'));
      expect(await releases(id)).toBe('403 policy_denied');
      await allDisabled();
      // A copy of what the service signed is no signature of somebody who is trusted.
      await dev.artifacts.upload(teamId, id, { bundle: JSON.stringify(stated.bundle) });
      await enforced("artifacts.all(a, a.evaluations.exists(e, e.assuranceLevel == 'signed'))");
      expect(await releases(id)).toBe('403 policy_denied');
    });

    it('and provenance that the service signed for another team tell nothing to this one', async () => {
      const { sdk: other, teamId: theirs } = await w.stranger();
      const digest = freshDigest();
      const model = { name: 'model', kind: 'model', digest } as const;
      await other.artifacts.declare(theirs, model);
      const { bundle } = await other.artifacts.attestEvaluation(theirs, digest, evaluation());
      const { id } = await dev.artifacts.declare(teamId, model);
      const copied = await dev.artifacts.upload(teamId, id, { bundle: JSON.stringify(bundle) });
      expect(copied.verification.status).toBe('valid');
      await enforced('artifacts.all(a, size(a.attestations) == 0 && size(a.evaluations) == 0)');
      expect(await releases(id)).toBe('not refused');
    });

    it('count with the level of a signature where a trusted key made it, whatever the statement says of itself', async () => {
      const lab = signingPair();
      const { id, digest } = await artifact({ name: 'model', kind: 'model' });
      const payload = statementAbout(digest, 'https://svc.example/attestations/evaluation/v1', {
        suiteId: 'mmlu',
        score: 0.95,
        evaluatedAt: new Date().toISOString(),
        assuranceLevel: 'platform_run',
        statedBy: devId,
      });
      const bundle = enveloped(payload, lab.privateKey);
      await enforced(template('evaluation'));
      await dev.artifacts.upload(teamId, id, { bundle });
      expect(await releases(id)).toBe('403 policy_denied');
      await sdk.trustedKeys.add(teamId, { name: 'evaluators', publicKey: lab.pem });
      expect(await releases(id)).toBe('not refused');
      await enforced(
        "artifacts.all(a, a.evaluations.all(e, e.statedBy == '' && e.assuranceLevel == 'signed'))",
      );
      expect(await releases(id)).toBe('not refused');
    });

    it('are bounded for each who states them, the newest of a suite counts, and long ones fill no gate', async () => {
      const id = await declared();
      await sdk.artifacts.attestEvaluation(teamId, id, evaluation({ suiteId: 'safety', score: 0.2 }));
      await sdk.artifacts.attestEvaluation(teamId, id, evaluation({ suiteId: 'safety', score: 0.95 }));
      const caseResults = Array.from({ length: 10_000 }, (_, n) => `case ${n} ${'x'.repeat(40)}`);
      for (let n = 0; n < 6; n += 1)
        await dev.artifacts.attestEvaluation(teamId, id, evaluation({ suiteId: `long-${n}`, caseResults }));
      for (let n = 0; n < 15; n += 1)
        await dev.artifacts.attestEvaluation(teamId, id, evaluation({ suiteId: `suite-${n}`, score: n }));
      await enforced(
        "artifacts.all(a, a.evaluations.exists_one(e, e.suiteId == 'safety' && e.score == 0.95) && !a.evaluations.exists(e, e.score == 0.2) && size(a.evaluations) == 11)",
      );
      expect(await releases(id)).toBe('not refused');
    });
  });
});
