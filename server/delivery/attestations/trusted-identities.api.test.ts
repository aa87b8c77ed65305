/**
 * Here keyless statements are tested over the real doors: what a team trusts decides at each read, also for
 * its policies.
 */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
import { createSvcSDK, type SvcSDK } from '@svc/sdk';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { listingPayload } from '../../../test/setup/listing.ts';
import { goodsOf } from '../../../test/setup/delivery/goods.ts';
import { has } from '../../../test/setup/needs.ts';
import { firstSession, stranger } from '../../../test/setup/people.ts';
import { refused } from '../../../test/setup/refused.ts';
import { startTestServer, type TestServer } from '../../../test/setup/server.ts';

const fileOf = (name: string): string => new URL(`./testdata/${name}`, import.meta.url).pathname;
const DIGEST = `sha256:${'a1b2'.repeat(16)}`;
const VULNS = 'https://in-toto.io/attestation/vulns/v0.1';
const SCANS = {
  name: 'scans',
  issuer: 'https://tokens.example.com',
  identity: 'https://ci.example.com/acme/web/scan.yml@*',
};

interface LogEntry {
  readonly logIndex: string;
  readonly logId: unknown;
  readonly inclusionProof: unknown;
}

interface Bundle {
  readonly verificationMaterial: {
    readonly certificate: { readonly rawBytes: string };
    readonly tlogEntries: readonly [LogEntry];
  };
  readonly dsseEnvelope: {
    readonly payload: string;
    readonly signatures: ReadonlyArray<{ readonly sig: string }>;
  };
}

/** The bundle as a client of Rekor v2 makes it: no log gives a time, an authority for timestamps does. */
function loggedByRekor2(): string {
  const bundle = JSON.parse(readFileSync(fileOf('keyless-bundle.json'), 'utf8')) as Bundle;
  const { verificationMaterial: material, dsseEnvelope } = bundle;
  const { logIndex, logId, inclusionProof } = material.tlogEntries[0];
  const digest = createHash('sha256').update(Buffer.from(dsseEnvelope.payload, 'base64')).digest('base64');
  const verifier = { x509Certificate: material.certificate, keyDetails: 'PKIX_ECDSA_P256_SHA_256' };
  const body = {
    apiVersion: '0.0.2',
    kind: 'dsse',
    spec: {
      dsseV002: {
        payloadHash: { algorithm: 'SHA2_256', digest },
        signatures: dsseEnvelope.signatures.map(({ sig }) => ({ content: sig, verifier })),
      },
    },
  };
  const entry = {
    logIndex,
    logId,
    kindVersion: { kind: 'dsse', version: '0.0.2' },
    inclusionProof,
    canonicalizedBody: Buffer.from(JSON.stringify(body)).toString('base64'),
  };
  const verificationMaterial = {
    certificate: material.certificate,
    tlogEntries: [entry],
    timestampVerificationData: { rfc3161Timestamps: [{ signedTimestamp: 'MAA=' }] },
  };
  return JSON.stringify({ ...bundle, verificationMaterial });
}

describe.skipIf(!(await has('postgres')))('trusted identities', () => {
  let server: TestServer;
  let sdk: SvcSDK;
  let teamId: string;
  let projectId: string;
  const { enabled, entries, release } = goodsOf(() => ({ sdk, teamId, projectId }));
  const declared = async (team = teamId): Promise<string> => {
    const image = { name: 'registry.example.com/acme/web', kind: 'image', digest: DIGEST } as const;
    return (await sdk.artifacts.declare(team, image)).id;
  };

  beforeAll(async () => {
    server = await startTestServer({ env: { SIGSTORE_TRUSTED_ROOT: fileOf('trusted-root.json') } });
    sdk = createSvcSDK({ baseUrl: server.baseUrl, token: await firstSession(server), maxRetries: 0 });
    teamId = (await sdk.teams.create('makers')).id;
    projectId = (await sdk.projects.create({ name: 'web', teamId })).id;
  });
  afterAll(async () => await server?.stop());

  it('make the statements of their workflow count, for reads and for policies, until they are removed', async () => {
    const id = await declared();
    const bundle = readFileSync(fileOf('keyless-bundle.json'), 'utf8');
    expect(await sdk.artifacts.upload(teamId, id, { bundle })).toMatchObject({
      predicateType: VULNS,
      verification: {
        status: 'unverified',
        problem:
          'the team does not trust https://ci.example.com/acme/web/scan.yml@refs/heads/main of https://tokens.example.com',
      },
    });
    const rule = {
      id: 'scanned',
      message: 'every image needs a scan',
      require: `artifacts.all(a, a.attestations.exists(t, t.predicateType == '${VULNS}' && t.verified && t.signer == 'scans'))`,
    };
    await enabled({ on: ['release.create'], rules: [rule] });
    const worth = async () => {
      const all = await sdk.artifacts.attestations(teamId, id);
      return all.find(({ predicateType }) => predicateType === VULNS)?.verification;
    };
    expect(await refused(release(id))).toBe('403 policy_denied');
    const added = await sdk.trustedIdentities.add(teamId, { ...SCANS, predicateTypes: [VULNS] });
    expect(await worth()).toEqual({ status: 'valid', keyId: added.id, signer: 'scans' });
    expect(await refused(release(id))).toBe('not refused');
    await sdk.trustedIdentities.remove(teamId, added.id);
    expect(await worth()).toMatchObject({ status: 'unverified' });
    expect(await refused(release(id))).toBe('403 policy_denied');
    const acts = await entries({ target: added.id });
    expect(acts.map(({ action }) => action)).toEqual(['trusted_identity.removed', 'trusted_identity.added']);
  });

  it('do not make a statement count that a log of Rekor v2 has, which is said where it is brought and read', async () => {
    const id = await declared();
    const trusted = await sdk.trustedIdentities.add(teamId, SCANS);
    const stored = await sdk.artifacts.upload(teamId, id, { bundle: loggedByRekor2() });
    const { status, problem } = stored.verification ?? {};
    expect([status, problem]).toEqual([
      'unverified',
      expect.stringMatching(/is of a log of Rekor v2, which is/),
    ]);
    const listed = await sdk.artifacts.attestations(teamId, id);
    expect(listed.find((each) => each.id === stored.id)?.verification).toEqual({ status, problem });
    await sdk.trustedIdentities.remove(teamId, trusted.id);
  });

  it('are looked for in large bundles as well: in a packed one, and in one that is long for nothing', async () => {
    const long = (await sdk.teams.create('long')).id;
    const id = await declared(long);
    const trusted = await sdk.trustedIdentities.add(long, SCANS);
    const text = readFileSync(fileOf('keyless-bundle.json'), 'utf8');
    const bundle = JSON.parse(text) as Bundle;
    const spaced = text.replace('{', `{${' '.repeat(1_500_000)}`);
    expect((await sdk.artifacts.upload(long, id, { bundle: spaced })).verification).toMatchObject({
      status: 'valid',
      keyId: trusted.id,
    });
    const payload = listingPayload({ digest: DIGEST, bytes: 4_000_000 }).toString('base64');
    const other = { ...bundle, dsseEnvelope: { ...bundle.dsseEnvelope, payload } };
    const packed = gzipSync(JSON.stringify(other)).toString('base64');
    const { verification } = await sdk.artifacts.upload(long, id, { bundle: packed });
    expect(verification).toMatchObject({
      status: 'invalid',
      problem: expect.stringMatching(/^its certificate does not count: /),
    });
    const empty = gzipSync(text.replace('{', `{${' '.repeat(3_200_000)}`)).toString('base64');
    expect(await refused(sdk.artifacts.upload(long, id, { bundle: empty }))).toBe('400 attestation_invalid');
    await sdk.trustedIdentities.remove(long, trusted.id);
  });

  it('have a name each, and are whole or end with * behind a / or an @', async () => {
    const add = async (more: object) =>
      await refused(sdk.trustedIdentities.add(teamId, { ...SCANS, ...more }));
    expect(await add({})).toBe('not refused');
    expect(await add({})).toBe('409 name_taken');
    for (const identity of ['https://ci.example.com/acme*', '*', 'https://*/x', ''])
      expect(await add({ name: 'wide', identity }), identity).toBe('400 validation_failed');
    expect(await add({ name: 'plain', issuer: 'http://tokens.example.com' })).toBe('400 validation_failed');
    expect(await sdk.trustedIdentities.list(teamId)).toMatchObject([SCANS]);
    await Promise.all(Array.from({ length: 19 }, async (_, n) => await add({ name: `n${n}` })));
    expect(await add({ name: 'one more' })).toBe('409 limit_reached');
  });

  it('are of the team alone', async () => {
    const { token } = await stranger(server);
    const theirs = createSvcSDK({ baseUrl: server.baseUrl, token, maxRetries: 0 });
    const [first] = await sdk.trustedIdentities.list(teamId);
    expect(await refused(theirs.trustedIdentities.list(teamId))).toBe('404 not_found');
    expect(await refused(theirs.trustedIdentities.remove(teamId, first?.id ?? ''))).toBe('404 not_found');
  });
});
