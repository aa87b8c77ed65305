/**
 * Keyless bundles against roots of trust. The authorities, logs and the bundle in testdata/ were made with
 * `@sigstore/mock` 0.11.0: a certificate for a workflow of one repository, and an entry of the kind `dsse` in
 * the log.
 */
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { trustRootOf, type TrustRoot } from './trust-root.ts';
import { verifyBundle, type TrustedIdentity } from './verify.ts';

const fileOf = (name: string): string => new URL(`./testdata/${name}`, import.meta.url).pathname;
const bundle = readFileSync(fileOf('keyless-bundle.json'));
const DIGEST = `sha256:${'a1b2'.repeat(16)}`;
const VULNS = 'https://in-toto.io/attestation/vulns/v0.1';
const scans: TrustedIdentity = {
  id: 'tid_1',
  name: 'scans',
  issuer: 'https://tokens.example.com',
  identity: 'https://ci.example.com/acme/web/scan.yml@refs/heads/main',
  predicateTypes: [],
};
const root = trustRootOf(fileOf('trusted-root.json'));
const otherRoot = trustRootOf(fileOf('other-root.json'));

interface Judging {
  readonly identities?: ReadonlyArray<Partial<TrustedIdentity>>;
  /** The issuer is null where there is none. */
  readonly by?: TrustRoot | null | undefined;
  readonly isOurs?: boolean;
}

const worth = (bytes: Uint8Array, { identities = [{}], by = root, isOurs = false }: Judging = {}) => {
  const trusted = identities.map((more) => ({ ...scans, ...more }));
  const keys = { service: [], trusted: [], identities: trusted, root: by ?? undefined };
  const expected = { digest: DIGEST, storedAt: new Date(), isOurs };
  const { statement: _statement, ...verified } = verifyBundle(bytes, keys, expected);
  return verified;
};

interface Json {
  readonly verificationMaterial: {
    readonly certificate: { rawBytes: string };
    tlogEntries: Array<{ integratedTime: string }>;
  };
  readonly dsseEnvelope: { payload: string; readonly signatures: Array<{ sig: string }> };
}

const changed = (change: (bundle: Json) => void): Buffer => {
  const copy = JSON.parse(bundle.toString()) as Json;
  change(copy);
  return Buffer.from(JSON.stringify(copy));
};

describe('a keyless bundle', () => {
  it('is valid by an identity that the team trusts, whole or up to its *, for what it is trusted for', () => {
    const valid = { status: 'valid', keyId: 'tid_1', signer: 'scans' };
    expect(worth(bundle)).toEqual(valid);
    expect(worth(bundle)).toEqual(valid);
    expect(worth(bundle, { identities: [{ predicateTypes: [VULNS] }] })).toEqual(valid);
    for (const identity of ['https://ci.example.com/acme/web/scan.yml@*', 'https://ci.example.com/acme/*'])
      expect(worth(bundle, { identities: [{ identity: 'https://else.example/*' }, { identity }] })).toEqual(
        valid,
      );
  });

  it.each<[string, Partial<TrustedIdentity>, string]>([
    [
      'of another issuer',
      { issuer: 'https://tokens.example.org' },
      'the team does not trust https://ci.example.com/',
    ],
    ['of another workflow', { identity: 'https://ci.example.com/acme/api/*' }, 'the team does not trust'],
    [
      'that is a beginning without *',
      { identity: 'https://ci.example.com/acme/' },
      'the team does not trust',
    ],
    ['for other predicates', { predicateTypes: ['https://slsa.dev/provenance/v1'] }, 'is not trusted for'],
  ])('is unverified by an identity %s', (_what, more, problem) => {
    expect(worth(bundle, { identities: [more] })).toMatchObject({
      status: 'unverified',
      problem: expect.stringContaining(problem),
    });
  });

  it('is unverified without a root, and by a root that does not know its authority', () => {
    expect(worth(bundle, { by: null }).problem).toContain('SIGSTORE_TRUSTED_ROOT');
    expect(worth(bundle, { by: otherRoot })).toMatchObject({
      status: 'unverified',
      problem: expect.stringContaining('certificate chain'),
    });
  });

  it.each<[string, string, (bundle: Json) => void]>([
    [
      'another payload',
      'invalid',
      ({ dsseEnvelope }) => {
        const text = Buffer.from(dsseEnvelope.payload, 'base64').toString().replace('scanner.', 'scannex.');
        dsseEnvelope.payload = Buffer.from(text).toString('base64');
      },
    ],
    [
      'another signature',
      'invalid',
      ({ dsseEnvelope: { signatures } }) =>
        signatures.forEach((each) => (each.sig = Buffer.from('forged').toString('base64'))),
    ],
    [
      'no entry of a log',
      'unverified',
      ({ verificationMaterial }) => (verificationMaterial.tlogEntries = []),
    ],
    [
      'a time of its own choice',
      'unverified',
      ({ verificationMaterial }) =>
        verificationMaterial.tlogEntries.forEach((entry) => (entry.integratedTime = '1')),
    ],
    [
      'a certificate that is none',
      'unverified',
      ({ verificationMaterial }) => (verificationMaterial.certificate.rawBytes = 'AAAA'),
    ],
  ])('with %s is %s', (_what, status, change) => {
    expect(worth(changed(change)).status).toBe(status);
  });

  it('is not what the service signs', () => {
    expect(worth(bundle, { isOurs: true }).status).toBe('invalid');
  });
});

describe('trustRootOf()', () => {
  it('says what is wrong with the file', () => {
    expect(trustRootOf(undefined)).toBeUndefined();
    const path = fileOf('keyless-bundle.json');
    const problem = `SIGSTORE_TRUSTED_ROOT is "${path}", expected a trusted_root.json of Sigstore: it names no certificate authority`;
    expect(() => trustRootOf(path)).toThrow(problem);
    expect(() => trustRootOf('/nowhere')).toThrow('ENOENT');
  });
});
