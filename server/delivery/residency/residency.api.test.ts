/** Residency over the real door: the chain, its digests computed anew, and attestations that are made at the same moment. */
import { createHash } from 'node:crypto';
import { createSvcSDK } from '@svc/sdk';
import type { ResidencyAttestation, SvcApiError, SvcSDK } from '@svc/sdk';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { setFeature } from '../../../test/setup/features.ts';
import { has } from '../../../test/setup/needs.ts';
import { join, stranger } from '../../../test/setup/people.ts';
import { startTestServer } from '../../../test/setup/server.ts';
import type { TestServer } from '../../../test/setup/server.ts';

const postgresHere = await has('postgres');

/** From the contract's words, not from the server's code. */
function digestOf(a: ResidencyAttestation): string {
  const fields = [a.id, a.teamId, a.environmentId, a.sequence, a.regionId, a.operator, a.attestedBy];
  const at = new Date(a.attestedAt).toISOString();
  const lines = ['svc-residency-v1', ...fields, at, a.previousDigest ?? ''];
  return createHash('sha256').update(lines.join('\n')).digest('hex');
}

describe.skipIf(!postgresHere)('residency', () => {
  let server: TestServer;
  let sdk: SvcSDK;
  let teamId: string;
  let environmentId: string;

  const sdkOf = (token: string): SvcSDK => createSvcSDK({ baseUrl: server.baseUrl, token, maxRetries: 0 });
  const refused = async (call: PromiseLike<unknown>): Promise<string> => {
    try {
      await call;
    } catch (error) {
      const { status, code } = error as SvcApiError;
      return `${status} ${code}`;
    }
    return 'not refused';
  };
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

  it('is a chain that follows the region of the team', async () => {
    expect(await sdk.residency.listForEnvironment(environmentId)).toEqual([]);
    const { userId } = await sdk.account.whoami();
    const first = await sdk.residency.attestEnvironment(environmentId);
    expect(first).toMatchObject({
      teamId,
      environmentId,
      sequence: 1,
      operator: 'service',
      attestedBy: userId,
    });
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
    const developer = sdkOf((await join(server, server.first.apiKey, { teamId, role: 'developer' })).token);
    expect(await developer.residency.listForEnvironment(environmentId)).toEqual([]);
    expect(await refused(developer.residency.attestEnvironment(environmentId))).toBe('403 role_insufficient');
    const other = sdkOf((await stranger(server)).token);
    expect(await refused(other.residency.listForEnvironment(environmentId))).toBe('404 not_found');
    expect(await refused(other.residency.attestEnvironment(environmentId))).toBe('404 not_found');
  });

  it('is behind its switch', async () => {
    await setFeature(server, 'host.compliance.residency_chain', 'disabled');
    expect(await refused(sdk.residency.attestEnvironment(environmentId))).toBe('403 feature_disabled');
    await setFeature(server, 'host.compliance.residency_chain', 'enabled');
    expect(await sdk.residency.listForEnvironment(environmentId)).toEqual([]);
  });
});
