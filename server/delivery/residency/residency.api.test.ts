/**
 * Here residency is tested over the real door: the chain, its digests computed anew, and attestations that
 * are made at the same moment.
 */
import { createHash } from 'node:crypto';
import { createSvcSDK, type ResidencyAttestation, type SvcSDK } from '@svc/sdk';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { setFeature } from '../../../test/setup/features.ts';
import { has } from '../../../test/setup/needs.ts';
import { join, stranger } from '../../../test/setup/people.ts';
import { refused } from '../../../test/setup/refused.ts';
import { startTestServer, type TestServer } from '../../../test/setup/server.ts';
import { waitFor } from '../../../test/setup/wait-for.ts';

type Attested = Pick<ResidencyAttestation, 'sequence' | 'attestedBy' | 'attestedAt' | 'previousDigest'>;

/** It is computed from the contract's words, not from the server's code. */
function chained(a: Attested, names: readonly string[], more: readonly string[]): string {
  const at = new Date(a.attestedAt).toISOString();
  const lines = [...names, a.sequence, ...more, a.attestedBy, at, a.previousDigest ?? ''];
  return createHash('sha256').update(lines.join('\n')).digest('hex');
}

const digestOf = (a: ResidencyAttestation): string =>
  chained(a, ['svc-residency-v1', a.id, a.teamId, a.environmentId], [a.regionId, a.operator]);

describe.skipIf(!(await has('postgres')))('residency', () => {
  let server: TestServer;
  let sdk: SvcSDK;
  let teamId: string;
  let environmentId: string;

  const sdkOf = (token: string): SvcSDK => createSvcSDK({ baseUrl: server.baseUrl, token, maxRetries: 0 });
  const sdkOfA = async (role: string): Promise<SvcSDK> =>
    sdkOf((await join(server, server.first.apiKey, { teamId, role })).token);
  const strangersSdk = async (): Promise<SvcSDK> => sdkOf((await stranger(server)).token);
  const expectChain = (newestFirst: readonly ResidencyAttestation[]) => {
    const chain = newestFirst.toReversed();
    expect(chain.map(({ sequence }) => sequence)).toEqual(chain.map((_, n) => n + 1));
    for (const [n, link] of chain.entries()) {
      expect(link.digest).toBe(digestOf(link));
      expect(link.previousDigest).toBe(chain[n - 1]?.digest);
    }
  };

  beforeAll(async () => {
    server = await startTestServer();
    sdk = sdkOf(server.first.apiKey);
    teamId = (await sdk.teams.create('residency')).id;
    await setFeature(server, 'host.compliance.residency_chain', 'enabled');
  });
  afterAll(async () => await server.stop());
  beforeEach(async () => {
    const project = await sdk.projects.create({ name: 'residency', teamId });
    environmentId = (await sdk.environments.create(project.id, { name: 'production' })).id;
  });

  it('of an artifact is a chain of its own, with where it was built, is stored and runs, and the service signs it', async () => {
    const image = { name: 'registry.example.com:5000/acme/web', digest: `sha256:${'5'.repeat(64)}` };
    const artifact = await sdk.artifacts.declare(teamId, { ...image, kind: 'image' });
    await server.db.sql`
      insert into artifact_sources (team_id, artifact_id, origin, ref, region_id, operator, at)
      values (${teamId}, ${artifact.id}, 'build', 'bld_1', 'reg_b', 'customer', now()), (${teamId}, ${artifact.id}, 'build', 'bld_2', 'reg_a', 'service', now())`;
    const first = await sdk.residency.attestArtifact(teamId, artifact.id);
    expect(first).toMatchObject({
      sequence: 1,
      artifactDigest: artifact.digest,
      builtIn: ['reg_a service', 'reg_b customer'],
      storedIn: ['registry.example.com:5000'],
      deployedIn: [],
    });
    await Promise.all([1, 2, 3].map(async () => await sdk.residency.attestArtifact(teamId, artifact.id)));
    const chain = (await sdk.residency.listForArtifact(teamId, artifact.id)).toReversed();
    expect(chain.map(({ sequence }) => sequence)).toEqual([1, 2, 3, 4]);
    for (const [n, link] of chain.entries()) {
      expect(link.previousDigest).toBe(chain[n - 1]?.digest);
      const lists = [link.builtIn, link.storedIn, link.deployedIn].map((list) => (list ?? []).join(','));
      const ids = [link.id, link.teamId, link.artifactId, link.artifactDigest];
      expect(link.digest).toBe(chained(link, ['svc-residency-artifact-v1', ...ids], lists));
    }
    const statements = async () => await sdk.artifacts.attestations(teamId, artifact.id);
    const signed = await waitFor('four statements', statements, { holds: ({ length }) => length === 4 });
    expect(signed.map(({ verification }) => verification?.status)).toEqual(Array(4).fill('valid'));
    expect(signed.at(-1)?.statement).toMatchObject({ predicate: { digest: first.digest } });
    const viewer = await sdkOfA('viewer');
    expect(await refused(viewer.residency.attestArtifact(teamId, artifact.id))).toBe('403 role_insufficient');
    const other = await strangersSdk();
    expect(await refused(other.residency.listForArtifact(teamId, artifact.id))).toBe('404 not_found');
  });

  it('is a chain that follows the region of the team', async () => {
    expect(await sdk.residency.listForEnvironment(environmentId)).toEqual([]);
    const { userId } = await sdk.account.whoami();
    const first = await sdk.residency.attestEnvironment(environmentId);
    const place = { teamId, environmentId, sequence: 1, operator: 'service', attestedBy: userId };
    expect(first).toMatchObject(place);
    expect(first).not.toHaveProperty('previousDigest');

    const staff = sdkOf(server.first.staffApiKey);
    const region = (await staff.regions.list()).find(({ operator }) => operator === 'customer');
    await staff.adminTeams.setRegion(teamId, region?.id ?? '');
    const second = await sdk.residency.attestEnvironment(environmentId);
    expect(second).toMatchObject({ sequence: 2, operator: 'customer', regionId: region?.id });

    const all = await sdk.residency.listForEnvironment(environmentId);
    expect(all).toEqual([second, first]);
    expectChain(all);
  });

  it('has no gap and no fork when many attest at once, page by page', async () => {
    await Promise.all(
      Array.from({ length: 12 }, async () => await sdk.residency.attestEnvironment(environmentId)),
    );
    const page = await sdk.residency.listForEnvironmentPage(environmentId, { limit: 5 });
    expect(page.attestations).toHaveLength(5);
    const all = await sdk.residency.listForEnvironment(environmentId);
    expect(all).toHaveLength(12);
    expectChain(all);
    const entries = await server.db.sql<Array<{ digest: string }>>`
      select details ->> 'digest' as digest from audit_entries
      where chain = ${teamId} and action = 'residency.attested' and target = ${environmentId} order by seq desc`;
    expect(entries.map(({ digest }) => digest)).toEqual(all.map(({ digest }) => digest));
  });

  it('counts a call that is repeated with its key once', async () => {
    const once = { idempotencyKey: `attest ${environmentId}` };
    const first = await sdk.residency.attestEnvironment(environmentId, once);
    expect(await sdk.residency.attestEnvironment(environmentId, once)).toEqual(first);
    expect(await sdk.residency.listForEnvironment(environmentId)).toHaveLength(1);
  });

  it('shows a row that was changed behind the service by its digest', async () => {
    await sdk.residency.attestEnvironment(environmentId);
    await server.db
      .sql`update residency_attestations set region_id = 'elsewhere' where environment_id = ${environmentId}`;
    const [changed] = await sdk.residency.listForEnvironment(environmentId);
    expect(changed && digestOf(changed)).not.toBe(changed?.digest);
  });

  it('is attested by admins, read by viewers, and hidden from others', async () => {
    const developer = await sdkOfA('developer');
    expect(await developer.residency.listForEnvironment(environmentId)).toEqual([]);
    expect(await refused(developer.residency.attestEnvironment(environmentId))).toBe('403 role_insufficient');
    const other = await strangersSdk();
    expect(await refused(other.residency.listForEnvironment(environmentId))).toBe('404 not_found');
    expect(await refused(other.residency.attestEnvironment(environmentId))).toBe('404 not_found');
  });

  it('records nothing while the feature is off: the newest is answered, or an empty object', async () => {
    const key = 'host.compliance.residency_chain';
    const artifact = await sdk.artifacts.declare(teamId, {
      name: 'registry.example.com/acme/quiet',
      kind: 'image',
      digest: `sha256:${'6'.repeat(64)}`,
    });
    const ofEnvironment = `POST /environments/${environmentId}/residency-attestations`;
    const ofArtifact = `POST /teams/${teamId}/artifacts/${artifact.id}/residency-attestations`;
    const attest = async (route: string) => {
      const { status, text, headers } = await server.call(route, { as: server.first.apiKey, body: {} });
      return [status, JSON.parse(text) as { sequence?: number }, headers.get('svc-feature-off')] as const;
    };
    await setFeature(server, key, 'disabled');
    for (const route of [ofEnvironment, ofArtifact]) {
      expect(await attest(route)).toEqual([200, {}, key]);
      await setFeature(server, key, 'enabled');
      const [status, first] = await attest(route);
      expect([status, first.sequence]).toEqual([201, 1]);
      await setFeature(server, key, 'disabled');
      expect(await attest(route)).toEqual([200, first, key]);
    }
    expect(await sdk.residency.listForEnvironment(environmentId)).toHaveLength(1);
    expect(await sdk.residency.listForArtifact(teamId, artifact.id)).toHaveLength(1);
    const other = await strangersSdk();
    expect(await refused(other.residency.attestEnvironment(environmentId))).toBe('404 not_found');
    await setFeature(server, key, 'enabled');
  });
});
