/**
 * Here artifacts are tested over the real doors: a runner that the test plays publishes an image, and what is
 * known of it stays.
 */
import { execFileSync } from 'node:child_process';
import { createPublicKey, generateKeyPairSync } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { bundleFromJSON } from '@sigstore/bundle';
import { toSignedEntity, toTrustMaterial, Verifier } from '@sigstore/verify';
import type { Artifact, Attestation, SvcSDK } from '@svc/sdk';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { IMAGE, type ScriptedRunner } from '../../../test/setup/builds/scripted-runner.ts';
import { COMMIT, CONTAINER, cycloneDx, goodsOf, REPOSITORY } from '../../../test/setup/delivery/goods.ts';
import { enveloped, signingPair, statementAbout } from '../../../test/setup/delivery/statements.ts';
import { has } from '../../../test/setup/needs.ts';
import { newKey } from '../../../test/setup/people.ts';
import { refused } from '../../../test/setup/refused.ts';
import { waitFor } from '../../../test/setup/wait-for.ts';
import { paeOf } from '../attestations/envelope.ts';
import { world, type World } from '../../../test/setup/world.ts';

const INVALID = '400 validation_failed';
const REFUSED = '400 attestation_invalid';
const CANARY = 'canary-51e0a7f3';

const packed = (components: readonly object[], more: object = {}): string =>
  gzipSync(cycloneDx(components, more)).toString('base64');

describe.skipIf(!(await has('postgres')))('artifacts', () => {
  let w: World;
  let { server, sdk: person, teamId, projectId } = {} as World;
  let sdk: SvcSDK;
  let secret: string;
  let environmentId: string;
  let runner: ScriptedRunner;

  const goods = goodsOf(() => ({ sdk, teamId, projectId }));
  const { artifact, environment, fresh, freshDigest, release } = goods;
  /** A build of the environment that publishes an image with this digest. */
  const built = async (digest: string, more: object = {}): Promise<string> =>
    await goods.built(runner, environmentId, { digest, ...more });
  const artifactOf = async (digest: string): Promise<Artifact> =>
    await waitFor(`the artifact ${digest}`, async () => await sdk.artifacts.get(teamId, digest));
  const statementsOf = async (digest: string): Promise<readonly Attestation[]> =>
    await sdk.artifacts.attestations(teamId, digest);
  const provenanceOf = async (digest: string): Promise<Attestation> =>
    await waitFor(`provenance of ${digest}`, async () => (await statementsOf(digest))[0]);

  beforeAll(async () => {
    w = await world();
    ({ server, sdk: person, teamId, projectId } = w);
    // A session does not report runs of CI systems.
    ({ secret } = await newKey(server, w.owner.token));
    sdk = w.as(secret);
    runner = await w.runner();
  });
  beforeEach(async () => {
    environmentId = await environment();
  });

  it('of a build have provenance that the service signed, with names of variables and never their values', async () => {
    await sdk.variables.set(environmentId, 'API_TOKEN', CANARY, { secret: true });
    await sdk.variables.set(environmentId, 'MODE', CANARY);
    const digest = freshDigest();
    const mediaType = 'application/vnd.oci.image.manifest.v1+json';
    const base = { name: 'registry.example.com:5000/library/debian:13', digest: freshDigest() };
    const buildId = await built(digest, { mediaType, platform: 'linux/arm/v7', baseImages: [base] });
    expect(await artifactOf(digest)).toMatchObject({
      digest,
      kind: 'image',
      name: IMAGE,
      uri: `${IMAGE}@${digest}`,
      mediaType,
      platform: 'linux/arm/v7',
      sources: [
        {
          origin: 'build',
          ref: buildId,
          projectId,
          projectName: 'web',
          environmentId,
          repository: REPOSITORY,
          branch: 'main',
          commit: COMMIT,
          runnerId: runner.runnerId,
        },
      ],
    });
    const provenance = await provenanceOf(digest);
    expect(provenance).toMatchObject({
      predicateType: 'https://slsa.dev/provenance/v1',
      verification: { status: 'valid', signer: 'the service (build_customer)' },
      ledger: { chain: teamId },
      statement: {
        _type: 'https://in-toto.io/Statement/v1',
        subject: [{ name: IMAGE, digest: { sha256: digest.slice('sha256:'.length) } }],
        predicate: {
          buildDefinition: {
            buildType: 'https://svc.example/attestations/environment-build/v1',
            externalParameters: {
              variableNames: ['MODE'],
              secretNames: ['API_TOKEN'],
              ref: 'refs/heads/main',
            },
            internalParameters: { buildId, runnerId: runner.runnerId, executor: 'podman' },
            resolvedDependencies: [
              { uri: 'git+https://git.example.com/acme/web@refs/heads/main', digest: { gitCommit: COMMIT } },
              {
                uri: `pkg:oci/debian@sha256%3A${base.digest.slice('sha256:'.length)}?repository_url=registry.example.com:5000%2Flibrary%2Fdebian&tag=13`,
                digest: { sha256: base.digest.slice('sha256:'.length) },
              },
            ],
          },
          runDetails: {
            builder: { id: `https://svc.example/attestations/builders/customer/${teamId}/v1` },
            metadata: { invocationId: `${buildId}#1` },
          },
        },
      },
    });
    const [kept] = await server.db.sql<Array<{ all: string }>>`
      select string_agg(convert_from(bundle, 'UTF8'), ' ') || (select coalesce(string_agg(payload::text, ' '), '') from jobs where team_id = ${teamId}) as all from attestations where team_id = ${teamId}`;
    expect(kept?.all).not.toContain(CANARY);
    const entries = await goods.entries({});
    const entry = entries.find(({ seq }) => seq === provenance.ledger?.seq);
    expect(entry).toMatchObject({ action: 'attestation.signed', details: { sha256: provenance.sha256 } });
  });

  it('are made of what their runner found, which has a list, names and what was not read', async () => {
    const digest = freshDigest();
    const components = ['openssl', 'zlib'].map((name) => {
      return { type: 'library', name, version: '1', purl: `pkg:deb/debian/${name}@1?distro=debian-12` };
    });
    const metadata = { properties: [{ name: 'svc:unread', value: 'rpm database' }] };
    await built(digest, { sbom: packed(components, { metadata }) });
    await provenanceOf(digest);
    expect((await artifactOf(digest)).sbom).toMatchObject({ packages: 2, unread: ['rpm database'] });
    const packages = await sdk.artifacts.packages(teamId, digest);
    expect(packages.map(({ name, type }) => `${type} ${name}`)).toEqual(['deb openssl', 'deb zlib']);

    const without = freshDigest();
    await built(without, { sbomProblem: 'the image was not read within 60 s' });
    await provenanceOf(without);
    expect((await artifactOf(without)).sbom).toMatchObject({ problem: 'the image was not read within 60 s' });
    expect(await refused(sdk.artifacts.packages(teamId, without))).toBe('404 not_found');
  });

  it('take documents of somebody, each once, beside each other, and none that cannot be read', async () => {
    const { digest } = await artifact({ kind: 'package' });
    const documentOf = (name: string): string => {
      const packages = [{ SPDXID: 'SPDXRef-1', name, versionInfo: '2', licenseConcluded: 'MIT' }];
      return btoa(JSON.stringify({ spdxVersion: 'SPDX-2.3', packages }));
    };
    const upload = async (document: string) => await sdk.artifacts.uploadSbom(teamId, digest, { document });
    expect(await refused(upload(btoa('no document')))).toBe(INVALID);
    expect((await upload(documentOf('left-pad'))).sbom).toMatchObject({ packages: 1 });
    expect((await upload(documentOf('left-pad'))).sbom).toMatchObject({ packages: 1 });
    expect((await upload(documentOf('right-pad'))).sbom?.lists).toMatchObject([
      { source: 'upload', packages: 1 },
      { source: 'upload', packages: 1 },
    ]);
    expect(await sdk.artifacts.packages(teamId, digest)).toMatchObject([
      { name: 'left-pad', licenses: ['MIT'], listedBy: ['upload'] },
      { name: 'right-pad' },
    ]);
    await upload(documentOf('third'));
    expect(await refused(upload(documentOf('fourth')))).toBe('409 limit_reached');
  });

  it('are followed from their commit to where they run, and found by what they are made of', async () => {
    const digest = freshDigest();
    const purl = 'pkg:deb/debian/libcs3@3?distro=debian-12';
    const properties = [{ name: 'svc:source', value: 'crypto-suite' }];
    const component = { type: 'library', name: 'libcs3', version: '3', purl, properties };
    const buildId = await built(digest, { sbom: packed([component]) });
    await provenanceOf(digest);
    const { id } = await artifactOf(digest);
    const { id: releaseId, version } = await release(id);
    const target = await environment({ name: 'production', deploy: CONTAINER });
    const impact = async (query: object) => await sdk.artifacts.impact(teamId, query);
    expect(await impact({ packageName: 'crypto-suite' })).toMatchObject({
      environments: [],
      counts: { artifacts: 1, releases: 1 },
    });
    const promotion = await sdk.promotions.create(target, releaseId);
    expect(promotion.state).toBe('pending');
    await person.promotions.approve(target, promotion.id);
    await runner.finish(await runner.take());
    await waitFor('the deployment', async () => (await impact({ digest })).environments, {
      holds: ({ length }) => length > 0,
    });

    const where = { environmentId: target, environmentName: 'production', digest, promotionId: promotion.id };
    for (const query of [
      { packageName: 'crypto-suite' },
      { packageName: 'pkg:deb/debian/libcs3@3' },
      { digest },
    ])
      expect(await impact(query), JSON.stringify(query)).toMatchObject({
        environments: [where],
        releases: [{ id: releaseId, version }],
        artifacts: [{ id, digest }],
        counts: { environments: 1, releases: 1, artifacts: 1 },
        truncated: false,
      });
    expect((await impact({ commit: COMMIT })).artifacts?.map((each) => each.id)).toContain(id);
    const nowhere = { environments: 0, releases: 0, artifacts: 0 };
    expect((await impact({ packageName: 'left-pad@none' })).counts).toEqual(nowhere);
    expect(await refused(impact({}))).toBe(INVALID);
    expect(await refused(impact({ digest, commit: COMMIT }))).toBe(INVALID);

    const { nodes, edges, truncated } = await sdk.artifacts.lineage(teamId, digest);
    const deployment = nodes.find(({ kind }) => kind === 'deployment')?.id;
    expect(nodes.map((node) => `${node.kind} ${node.id}`)).toEqual([
      `commit ${COMMIT}`,
      `build ${buildId}`,
      `artifact ${id}`,
      `release ${releaseId}`,
      `promotion ${promotion.id}`,
      `deployment ${deployment}`,
    ]);
    expect(edges).toEqual([
      { from: COMMIT, to: buildId, relation: 'built_by' },
      { from: buildId, to: id, relation: 'produced' },
      { from: id, to: releaseId, relation: 'in' },
      { from: releaseId, to: promotion.id, relation: 'promoted_by' },
      { from: promotion.id, to: deployment, relation: 'deployed_as' },
    ]);
    expect(truncated).toBe(false);

    await server.db.sql`
      insert into artifact_sources (team_id, artifact_id, origin, ref, commit, at)
      select ${teamId}, ${id}, 'ci_run', 'run_' || n, md5(n::text), now() + n * interval '1 s' from generate_series(1, 600) n`;
    const busy = await sdk.artifacts.lineage(teamId, digest);
    const [first, last] = [busy.nodes.find(({ kind }) => kind === 'ci_run')?.id, deployment];
    expect([first, busy.nodes.at(-1)?.id, busy.truncated]).toEqual(['run_502', last, true]);
    expect(busy.nodes.find(({ kind }) => kind === 'build')?.id).toBe(buildId);
    expect((await sdk.artifacts.get(teamId, digest)).sources?.map(({ ref }) => ref)).toContain(buildId);
    expect(busy.edges).toHaveLength(203);
  });

  it('have a signed passport with what is known and what is missing, a new one for each change and none for the same', async () => {
    const made = { name: fresh('image'), kind: 'image', digest: freshDigest(), projectId } as const;
    const { name, digest } = made;
    const { id } = await artifact(made);
    expect(await refused(sdk.artifacts.passport(teamId, id))).toBe('404 passport_not_ready');
    expect(await refused(sdk.artifacts.passport(teamId, 'art_none'))).toBe('404 not_found');
    const first = await waitFor('a passport', async () => await sdk.artifacts.passport(teamId, id));
    expect(first).toMatchObject({
      artifactId: id,
      revision: 1,
      document: {
        artifact: { id, digest, kind: 'image', name },
        sources: [{ origin: 'declared' }],
        releases: [],
        gaps: [
          'no build of the platform made it',
          'it has no provenance that verifies',
          'it is not known what it is made of',
        ],
      },
    });
    await artifact(made);
    const { version, id: releaseId } = await release(id);
    const second = await waitFor('the next passport', async () => {
      const { revision, document, bundle } = await sdk.artifacts.passport(teamId, id);
      return revision > 1 ? { revision, document, bundle } : undefined;
    });
    expect(second).toMatchObject({
      revision: 2,
      document: { gaps: first.document?.['gaps'], releases: [{ id: releaseId, version }] },
    });
    const { payload } = (second.bundle as { dsseEnvelope: { payload: string } }).dsseEnvelope;
    expect(JSON.parse(Buffer.from(payload, 'base64').toString('utf8'))).toMatchObject({
      subject: [{ name, digest: { sha256: digest.slice('sha256:'.length) } }],
      predicateType: 'https://svc.example/attestations/passport/v1',
      predicate: { revision: 2, ...second.document },
    });
  });

  /** A run of an external CI system that is under way on the branch `main`. */
  const ciRun = async (externalRunId: string, repositoryPath: string) => {
    const repository = { provider: 'github', repositoryHost: 'github.com', repositoryPath } as const;
    const { id: ciConnectionId } = await sdk.ci.createConnection(teamId, repository);
    const said = { externalRunId, status: 'running', commitSha: COMMIT, branch: 'main' } as const;
    return { ciConnectionId, run: await sdk.ci.report({ ciConnectionId, ...said }) };
  };

  it('of CI runs are the word of the run, for the team of its connection', async () => {
    const { ciConnectionId, run } = await ciRun('7', 'acme/web');
    const branch = 'main';
    const digest = freshDigest();
    const reported = await sdk.artifacts.reportForRun(run.id, { name: 'web.tgz', kind: 'file', digest });
    expect(reported).toMatchObject({
      digest,
      sources: [
        { origin: 'ci_run', ref: run.id, repository: 'https://github.com/acme/web', branch, commit: COMMIT },
      ],
    });
    const file = { name: 'web.tgz', kind: 'file', digest } as const;
    const named = await sdk.artifacts.reportForRun(`${ciConnectionId}:1:7`, file);
    expect(named.sources).toEqual(reported.sources);
    // The end of a run is not the end of what its jobs have to tell.
    await sdk.ci.complete(run.id, 'success');
    const late = await sdk.artifacts.reportForRun(run.id, { ...file, digest: freshDigest() });
    expect(late.sources).toMatchObject([{ origin: 'ci_run', ref: run.id }]);
    await sdk.ci.updateConnection(ciConnectionId, { status: 'paused' });
    expect(await refused(sdk.artifacts.reportForRun(run.id, file))).toBe('409 ci_connection_paused');
    const { sdk: other } = await w.stranger();
    expect(await refused(other.artifacts.reportForRun(run.id, file))).toMatch(/^40[34]/);
  });

  it('have evaluations that the service signs: of a sandbox run, or of whoever says so', async () => {
    const { id, digest } = await artifact({ kind: 'model' });
    const evaluation = {
      suiteId: 'mmlu',
      suiteName: 'MMLU',
      score: 0.71,
      evaluatedAt: new Date().toISOString(),
      methodologyVersion: '3',
      caseResults: [{ name: 'algebra', passed: true }],
    };
    const attested = await sdk.artifacts.attestEvaluation(teamId, digest, evaluation);
    expect(attested).toMatchObject({
      predicateType: 'https://svc.example/attestations/evaluation/v1',
      verification: { status: 'valid', signer: 'the service (platform)' },
      statement: {
        predicate: { score: 0.71, assuranceLevel: 'self_attested', caseResults: [{ name: 'algebra' }] },
      },
    });
    expect((await sdk.artifacts.attestEvaluation(teamId, digest, evaluation)).id).toBe(attested.id);
    await server.db.sql`update attestations set bundle = 'edited' where id = ${attested.id ?? ''}`;
    expect(await statementsOf(digest)).toMatchObject([
      { id: attested.id, verification: { status: 'invalid' } },
    ]);
    const run = await sdk.sandboxRuns.create(teamId, { command: ['true'] });
    const withRun = { ...evaluation, sandboxRunId: run.id };
    const ofRun = await sdk.artifacts.attestEvaluation(teamId, digest, withRun);
    expect(ofRun.statement).toMatchObject({
      predicate: { assuranceLevel: 'self_attested', sandboxRun: { id: run.id } },
    });
    const bad = async (more: object) =>
      await refused(sdk.artifacts.attestEvaluation(teamId, digest, { ...evaluation, ...more }));
    expect(await bad({ sandboxRunId: 'run_none' })).toBe('404 not_found');
    expect(await bad({ evaluatedAt: new Date(Date.now() + 3_600_000).toISOString() })).toBe(INVALID);
    expect(await bad({ caseResults: 'all good' })).toBe(INVALID);
    const first = await sdk.artifacts.attestationsPage(teamId, digest, { limit: 1 });
    const cursor = first.nextCursor!;
    const second = await sdk.artifacts.attestationsPage(teamId, digest, { limit: 1, cursor });
    const ids = [first, second].flatMap((page) => page.attestations!.map(({ id }) => id));
    expect(ids).toEqual([ofRun.id, attested.id]);
    expect(second.nextCursor).toBeUndefined();

    const require =
      "artifacts.all(a, a.kind != 'model' || a.evaluations.exists(e, e.suiteId == 'mmlu' && e.score >= 0.9))";
    const rules = [{ id: 'score', message: 'a model needs 0.9 on MMLU', require }];
    const document = { on: ['release.create'], rules };
    const policyId = await goods.enabled(document, { projectId });
    expect(await refused(release(id))).toBe('403 policy_denied');
    await sdk.artifacts.attestEvaluation(teamId, digest, { ...evaluation, score: 0.95 });
    expect(await refused(release(id))).toBe('not refused');
    await sdk.policies.disable(teamId, policyId);
  });

  it('verify without the service: by @sigstore/verify, and by openssl over what DSSE signs; a flipped byte fails both', async () => {
    const digest = freshDigest();
    await built(digest);
    const { bundle } = await provenanceOf(digest);
    const { keys } = (await (await fetch(`${server.baseUrl}/signing-keys`)).json()) as {
      keys: Array<{ id: string; hint: string; publicKey: string; state: string }>;
    };
    const { verificationMaterial, dsseEnvelope } = bundle as unknown as {
      verificationMaterial: { publicKey: { hint: string } };
      dsseEnvelope: { payload: string; payloadType: string; signatures: Array<{ sig: string }> };
    };
    const key = keys.find(({ hint }) => hint === verificationMaterial.publicKey.hint);
    const pem = await (await fetch(`${server.baseUrl}/signing-keys/${key?.id}.pem`)).text();
    expect(pem).toBe(key?.publicKey);

    const verify = (json: unknown): void => {
      const root = {
        certificateAuthorities: [],
        ctlogs: [],
        tlogs: [],
        timestampAuthorities: [],
        mediaType: '',
      };
      const trust = toTrustMaterial(root as never, (hint) => ({
        publicKey: createPublicKey(keys.find((each) => each.hint === hint)?.publicKey ?? ''),
        validFor: () => true,
      }));
      const none = { tlogThreshold: 0, ctlogThreshold: 0, tsaThreshold: 0 };
      new Verifier(trust, none).verify(toSignedEntity(bundleFromJSON(json)));
    };
    const openssl = (payload: Uint8Array): string => {
      const folder = mkdtempSync(join(tmpdir(), 'svc-openssl-'));
      try {
        writeFileSync(join(folder, 'key.pem'), pem);
        writeFileSync(join(folder, 'pae'), paeOf(dsseEnvelope.payloadType, payload));
        writeFileSync(join(folder, 'sig'), Buffer.from(dsseEnvelope.signatures[0]?.sig ?? '', 'base64'));
        const args = ['dgst', '-sha256', '-verify', 'key.pem', '-signature', 'sig', 'pae'];
        return execFileSync('openssl', args, {
          cwd: folder,
          encoding: 'utf8',
          stdio: ['ignore', 'pipe', 'pipe'],
        });
      } catch (error) {
        return String((error as { stdout?: unknown }).stdout);
      } finally {
        rmSync(folder, { recursive: true, force: true });
      }
    };
    const payload = Buffer.from(dsseEnvelope.payload, 'base64');
    expect(() => verify(bundle)).not.toThrow();
    expect(openssl(payload)).toContain('Verified OK');
    payload[payload.length - 3]! ^= 1;
    const flipped = { ...dsseEnvelope, payload: payload.toString('base64') };
    expect(() => verify({ ...bundle, dsseEnvelope: flipped })).toThrow(/signature/);
    expect(openssl(payload)).toContain('Verification failure');
  });

  it('are recorded although their environment is deleted before the event is published, and once however often', async () => {
    const digest = freshDigest();
    const buildId = await built(digest);
    await sdk.environments.delete(environmentId);
    const { sources } = await artifactOf(digest);
    expect(sources).toMatchObject([{ ref: buildId, environmentId }]);
    const first = await provenanceOf(digest);
    const unknown = { version: null, executor: null, isolation: null };
    // The event, as if a worker had died between the signature and the end of the job.
    await server.db.sql`
      insert into jobs (id, team_id, kind, lane, payload, due_at, created_at)
      select 'job_' || ${teamId}, ${teamId}, 'artifacts.catalogue', 'again', ${server.db.sql.json({
        workId: buildId,
        epoch: 1,
        attempt: 1,
        build: {
          id: buildId,
          number: 1,
          environmentId,
          environmentName: 'gone',
          projectId,
          projectName: 'web',
          trigger: 'manual',
          branch: 'main',
          commit: COMMIT,
          buildType: 'dockerfile',
          image: IMAGE,
          digest,
          claimedAt: new Date().toISOString(),
          finishedAt: new Date().toISOString(),
          sbomSha256: null,
          sbomProblem: null,
          imageFacts: { baseImages: [] },
          spec: { buildType: 'dockerfile' },
          runner: { id: runner.runnerId, ...unknown, inServicePool: false },
          region: { id: 'reg_1', operator: 'customer' },
        },
      })}::jsonb, now(), now()`;
    await waitFor('the end of the job', async () => {
      const open = await server.db.sql`select from jobs where id = 'job_' || ${teamId}`;
      return open.length === 0;
    });
    expect((await statementsOf(digest)).map(({ id }) => id)).toEqual([first.id]);
    expect((await artifactOf(digest)).sources).toHaveLength(1);
  });

  it('are one and the same when they are seen again, with one more source', async () => {
    const digest = freshDigest();
    const said = { name: 'web', kind: 'image', digest, projectId, commit: COMMIT } as const;
    const declared = await sdk.artifacts.declare(teamId, said);
    expect(declared.sources).toMatchObject([{ origin: 'declared', projectId }]);
    await built(digest);
    const both = await waitFor('both sources', async () => await sdk.artifacts.get(teamId, digest), {
      holds: ({ sources, uri }) => sources?.length === 2 && uri !== undefined,
    });
    expect(both).toMatchObject({ id: declared.id, name: IMAGE, uri: `${IMAGE}@${digest}` });
    const otherwise = { name: 'other', kind: 'file', digest, uri: 'https://x' } as const;
    const again = await sdk.artifacts.declare(teamId, otherwise);
    expect(again).toMatchObject({ id: declared.id, name: IMAGE, kind: 'image', uri: `${IMAGE}@${digest}` });
  });

  it('are what their build published, whatever was declared of the digest before it', async () => {
    const digest = freshDigest();
    const { id } = await sdk.artifacts.declare(teamId, {
      name: 'notes.txt',
      kind: 'file',
      digest,
      uri: 'https://elsewhere.example.com/notes.txt',
      mediaType: 'text/plain',
    });
    await built(digest, { mediaType: 'application/vnd.oci.image.manifest.v1+json' });
    expect(
      await waitFor('the build', async () => await sdk.artifacts.get(teamId, digest), {
        holds: ({ sources }) => sources?.length === 2,
      }),
    ).toMatchObject({
      id,
      kind: 'image',
      name: IMAGE,
      uri: `${IMAGE}@${digest}`,
      mediaType: 'application/vnd.oci.image.manifest.v1+json',
    });

    const { run } = await ciRun('1', 'acme/claims');
    const reported = { digest: freshDigest() };
    const uri = 'https://elsewhere.example.com/x';
    const claim = { name: 'notes.txt', kind: 'file', uri, ...reported } as const;
    await sdk.artifacts.declare(teamId, claim);
    const image = { name: IMAGE, kind: 'image', ...reported } as const;
    for (const seen of [
      await sdk.artifacts.reportForRun(run.id, image),
      await sdk.artifacts.declare(teamId, claim),
    ]) {
      expect(seen).toMatchObject(image);
      expect(seen.uri).toBeUndefined();
    }
  });

  it('are shown with all that is known, by id and by digest the same: oldest source first, without what is not known', async () => {
    const digest = freshDigest();
    const made = await sdk.artifacts.declare(teamId, { name: 'a "b"', kind: 'file', digest, commit: COMMIT });
    const { ref, at } = made.sources![0]!;
    await server.db.sql`
      insert into artifact_sources (team_id, artifact_id, origin, ref, region_id, operator, branch, at)
      select ${teamId}, ${made.id}, 'ci_run', 'cir_' || lpad(n::text, 3, '0'), 'reg_1', 'customer', 'main', '2026-01-01T00:00:00Z'
      from generate_series(1, 2) n`;
    const text = async (name: string): Promise<string> => {
      const headers = { authorization: `Bearer ${secret}` };
      return await (await fetch(`${server.baseUrl}/teams/${teamId}/artifacts/${name}`, { headers })).text();
    };
    const early = ['cir_001', 'cir_002'].map(
      (run) =>
        `{"origin":"ci_run","ref":"${run}","branch":"main","regionId":"reg_1","at":"2026-01-01T00:00:00Z"}`,
    );
    const own = `{"origin":"declared","ref":"${ref}","commit":"${COMMIT}","at":"${at}"}`;
    const shown = (sources: readonly string[], sbom: string): string =>
      `{"id":"${made.id}","teamId":"${teamId}","digest":"${digest}","kind":"file","name":"a \\"b\\"","createdAt":"${made.createdAt}","sources":[${sources.join(',')}],"sbom":${sbom}}`;
    expect(await text(made.id ?? '')).toBe(shown([...early, own], '{"unread":[],"lists":[]}'));
    const [set] = await server.db.sql<Array<{ id: number }>>`
      insert into package_sets (team_id, digest, packages, created_at) values (${teamId}, 'set', 7, now()) returning id`;
    await server.db.sql`
      insert into artifact_sboms (team_id, artifact_id, source, sha256, package_set_id, unread, by, at)
      values (${teamId}, ${made.id}, 'upload', 'ab', ${set!.id}, '{rpm,"a,b"}', 'usr_1', '2026-01-01T00:00:00Z')`;
    await server.db.sql`update artifacts set sbom_problem = 'none' where id = ${made.id}`;
    const list = `{"source":"upload","by":"usr_1","sha256":"ab","packages":7,"unread":["rpm","a,b"],"at":"2026-01-01T00:00:00Z"}`;
    expect(await text(digest)).toBe(
      shown(
        [...early, own],
        `{"packages":7,"unread":["rpm","a,b"],"problem":"none","sha256":"ab","lists":[${list}]}`,
      ),
    );
    await server.db.sql`delete from artifact_sources where artifact_id = ${made.id}`;
    expect(await text(digest)).toContain('"sources":[],');
  });

  it('are listed by project, kind and commit, and of another team nothing is there', async () => {
    const commit = '1234567890abcdef';
    const [file, model] = await Promise.all(
      (['file', 'model'] as const).map(
        async (kind) =>
          await sdk.artifacts.declare(teamId, { name: kind, kind, digest: freshDigest(), commit, projectId }),
      ),
    );
    const ids = async (query: object) =>
      (await sdk.artifacts.list(teamId, query)).map(({ id }) => id).toSorted();
    expect(await ids({ commit })).toEqual([file!.id, model!.id].toSorted());
    expect(await ids({ commit, kind: 'model' })).toEqual([model!.id]);
    expect(await ids({ projectId, kind: 'file' })).toContain(file!.id);
    expect(await ids({ commit: 'feedfacecafe' })).toEqual([]);
    const { sdk: other } = await w.stranger();
    expect(await refused(other.artifacts.list(teamId))).toBe('404 not_found');
    const { id: theirs } = await other.teams.create('others');
    expect(await refused(other.artifacts.get(theirs, file!.id))).toBe('404 not_found');
    expect(await refused(other.artifacts.get(theirs, file!.digest ?? ''))).toBe('404 not_found');
  });

  describe('take statements of others:', () => {
    const scanner = signingPair();
    const { pem: publicKey } = scanner;
    const predicateType = 'https://in-toto.io/attestation/vulns/v0.1';
    const envelope = (about: string, more: object = {}): string =>
      enveloped(statementAbout(about, predicateType, { findings: 0 }), scanner.privateKey, more);
    const { publicKey: weak } = generateKeyPairSync('rsa', { modulusLength: 1_024 });
    const AA = { sig: 'AA==' };
    const withoutBuilder = (of: string): string => {
      const predicate = { buildDefinition: { buildType: 'https://ci.example.com/t' }, runDetails: {} };
      const payload = Buffer.from(statementAbout(of, 'https://slsa.dev/provenance/v1', predicate));
      return envelope(of, { payload: payload.toString('base64') });
    };
    let digest: string;
    beforeEach(async () => {
      ({ digest } = await artifact({ kind: 'image' }));
    });

    it('they are unverified until the team trusts the key, and again when it does not any more', async () => {
      const bundle = envelope(digest);
      const uploaded = await sdk.artifacts.upload(teamId, digest, { bundle });
      expect(uploaded).toMatchObject({ predicateType, verification: { status: 'unverified' } });
      expect((await sdk.artifacts.upload(teamId, digest, { bundle })).id).toBe(uploaded.id);
      const key = await sdk.trustedKeys.add(teamId, { name: 'scanner', publicKey });
      expect((await statementsOf(digest))[0]).toMatchObject({
        verification: { status: 'valid', signer: 'scanner', keyId: key.id },
      });
      expect(await refused(sdk.trustedKeys.add(teamId, { name: 'twice', publicKey }))).toBe('409 name_taken');
      await person.trustedKeys.remove(teamId, key.id ?? '');
      expect((await statementsOf(digest)).map(({ verification }) => verification?.status)).toEqual([
        'unverified',
      ]);
    });

    it.each([
      ['about something else', () => envelope(freshDigest()), '400 attestation_subject_mismatch'],
      ['with two signatures', (of: string) => envelope(of, { signatures: [AA, AA] }), REFUSED],
      ['of provenance without a builder', withoutBuilder, REFUSED],
      ['that are none', () => '{"messageSignature":{}}', REFUSED],
      ['that are no JSON', () => 'bundle', REFUSED],
    ])('statements %s are refused, and nothing is kept', async (_what, make, answer) => {
      expect(await refused(sdk.artifacts.upload(teamId, digest, { bundle: make(digest) }))).toBe(answer);
      expect(await statementsOf(digest)).toEqual([]);
    });

    it.each([
      ['a private key', String(scanner.privateKey.export({ format: 'pem', type: 'pkcs8' }))],
      ['a weak key', String(weak.export({ format: 'pem', type: 'spki' }))],
      ['no key', 'ssh-ed25519 AAAA'],
    ])('a trusted key cannot be %s', async (_what, pem) => {
      expect(await refused(sdk.trustedKeys.add(teamId, { name: 'bad', publicKey: pem }))).toBe(INVALID);
    });
  });
});
