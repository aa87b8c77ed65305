/** These tests show what a statement is worth, and every way in which it is worth nothing. */
import { sign } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { signingPair } from '../../../test/setup/delivery/statements.ts';
import { hintOf, type SigningKey } from '../signingkeys/index.ts';
import { bundleOf, PAYLOAD_TYPE, paeOf, readEnvelope } from './envelope.ts';
import { PROVENANCE_TYPE, statementBytes } from './statement.ts';
import { verifyBundle, type Keys, type TrustedKey } from './verify.ts';

const DIGEST = `sha256:${'1'.repeat(64)}`;
const AT = new Date('2026-11-01T12:00:00.000Z');

function pair() {
  const { privateKey, publicKey } = signingPair();
  return { privateKey, publicKey, hint: hintOf(publicKey.export({ format: 'der', type: 'spki' })) };
}
type Pair = ReturnType<typeof pair>;

const [build, platform, stranger, trusted] = [pair(), pair(), pair(), pair()];

function ofService({ publicKey, hint }: Pair, more: Partial<SigningKey>): SigningKey {
  const none = { revokedAt: null, compromisedSince: null, revokeReason: null, externalRef: null };
  const row = {
    id: 'sgk_1',
    spki: new Uint8Array(),
    privateSealed: '',
    createdAt: AT,
    activeFrom: AT,
    ...none,
  };
  return { ...row, publicKey, hint, purpose: 'build_customer', state: 'active', ...more };
}

const believed = (more: Partial<TrustedKey> = {}): TrustedKey => ({
  ...trusted,
  id: 'tky_1',
  name: 'scanner',
  predicateTypes: [],
  ...more,
});

const keysWith = (more: Partial<SigningKey> = {}, others: readonly TrustedKey[] = []): Keys => ({
  service: [ofService(build, more), ofService(platform, { id: 'sgk_2', purpose: 'platform' })],
  trusted: others,
  identities: [],
});

interface Making {
  readonly by?: Pair;
  readonly predicateType?: string;
  readonly digest?: string;
  readonly hint?: string;
  readonly payload?: Uint8Array;
  readonly payloadType?: string;
}

function made({
  by = build,
  predicateType = PROVENANCE_TYPE,
  digest = DIGEST,
  hint = by.hint,
  ...more
}: Making = {}) {
  const payload =
    more.payload ??
    statementBytes({ subjects: [{ name: 'web', digest }], predicateType, predicate: { a: 1 } });
  const { payloadType = PAYLOAD_TYPE } = more;
  const signature = sign('sha256', paeOf(payloadType, payload), { key: by.privateKey, dsaEncoding: 'der' });
  const bundle = bundleOf({ payload, signature, hint }).toString('utf8');
  return Buffer.from(bundle.replace(JSON.stringify(PAYLOAD_TYPE), JSON.stringify(payloadType)));
}

const worth = (bundle: Uint8Array, keys: Keys = keysWith(), isOurs = false) =>
  verifyBundle(bundle, keys, { digest: DIGEST, storedAt: AT, isOurs });

/** The bundle with one member of its envelope changed. */
function changed(change: (envelope: { payload: string; signatures: unknown[] }) => void): Buffer {
  const bundle = JSON.parse(made().toString('utf8')) as {
    dsseEnvelope: { payload: string; signatures: unknown[] };
  };
  change(bundle.dsseEnvelope);
  return Buffer.from(JSON.stringify(bundle));
}

describe('paeOf()', () => {
  it('is that of the specification', () => {
    const body = Buffer.from('hello world');
    expect(paeOf('http://example.com/HelloWorld', body).toString()).toBe(
      'DSSEv1 29 http://example.com/HelloWorld 11 hello world',
    );
  });

  it('counts bytes and not characters', () => {
    expect(paeOf('ü', Buffer.from('日')).toString()).toBe('DSSEv1 2 ü 3 日');
  });
});

describe('verifyBundle()', () => {
  it('believes a key of the service on what it is for', () => {
    const valid = { status: 'valid', keyId: 'sgk_1', signer: 'the service (build_customer)' };
    expect(worth(made(), keysWith(), true)).toMatchObject(valid);
    expect(
      worth(made({ by: platform, predicateType: 'https://svc.example/attestations/release/v1' })),
    ).toMatchObject({
      status: 'valid',
      keyId: 'sgk_2',
    });
  });

  it.each([
    ['provenance by the key of the platform', made({ by: platform }), /a key for platform may not sign/],
    [
      'a release by a key for builds',
      made({ predicateType: 'https://x.example/release/v1' }),
      /may not sign/,
    ],
    ['a good signature about something else', made({ digest: `sha256:${'2'.repeat(64)}` }), /something else/],
    ['another payload type', made({ payloadType: 'application/json' }), /payload type/],
    ['no statement', made({ payload: Buffer.from('{"_type":"https://example.com"}') }), /_type/],
    ['a member twice', made({ payload: Buffer.from('{"_type":1,"_type":2}') }), /same key twice/],
    ['nesting 200 deep', made({ payload: Buffer.from(`${'['.repeat(200)}${']'.repeat(200)}`) }), /deep|nest/],
    ['a flipped byte', changed((e) => (e.payload = `${e.payload.slice(0, -8)}AAAAAAA=`)), /./],
    ['two signatures', changed((e) => (e.signatures = [e.signatures[0], e.signatures[0]])), /2 signatures/],
    ['no signature', changed((e) => (e.signatures = [])), /0 signatures/],
    ['what is no JSON', Buffer.from('bundle'), /not JSON/],
  ])('finds %s invalid', (_what, bundle, problem) => {
    const { status, problem: told } = worth(bundle);
    expect({ status, told }).toEqual({ status: 'invalid', told: expect.stringMatching(problem) as string });
  });

  it('finds a signature of another key under the hint of a known one invalid', () => {
    expect(worth(made({ by: stranger, hint: build.hint })).status).toBe('invalid');
  });

  it('does not know a stranger, unless the team trusts the key, and then for what it is trusted for', () => {
    expect(worth(made({ by: stranger })).status).toBe('unverified');
    expect(worth(made({ by: trusted })).status).toBe('unverified');
    const scan = { by: trusted, predicateType: 'https://in-toto.io/attestation/vulns/v0.1' };
    expect(worth(made(scan), keysWith({}, [believed()]))).toMatchObject({
      status: 'valid',
      signer: 'scanner',
    });
    const narrow = keysWith({}, [believed({ predicateTypes: [PROVENANCE_TYPE] })]);
    expect(worth(made(scan), narrow)).toMatchObject({ status: 'unverified', keyId: 'tky_1' });
    expect(worth(made({ by: trusted }), narrow).status).toBe('valid');
  });

  it('takes an envelope alone, in base64url, and a signature that names no key', () => {
    const { dsseEnvelope } = JSON.parse(made({ hint: '' }).toString()) as {
      dsseEnvelope: Record<string, string>;
    };
    const payload = dsseEnvelope['payload']!.replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
    const alone = Buffer.from(JSON.stringify({ ...dsseEnvelope, payload }));
    expect(readEnvelope(alone).hint).toBe('');
    expect(worth(alone)).toMatchObject({ status: 'valid', keyId: 'sgk_1' });
  });

  it('does not take a trusted key for what the service made', () => {
    expect(worth(made({ by: trusted }), keysWith({}, [believed()]), true).status).toBe('invalid');
  });

  it('judges a bundle whose signature it knows by its bytes and by the keys as they are now', () => {
    const bundle = made();
    for (let n = 0; n < 2; n += 1) {
      expect(worth(bundle).status).toBe('valid');
      expect(worth(bundle, keysWith({ state: 'revoked' })).status).toBe('key_revoked');
      expect(worth(bundle, keysWith({ publicKey: stranger.publicKey })).status).toBe('invalid');
      expect(worth(bundle, { service: [], trusted: [], identities: [] }).status).toBe('unverified');
      const other = { digest: `sha256:${'2'.repeat(64)}`, storedAt: AT, isOurs: true };
      expect(verifyBundle(bundle, keysWith(), other).status).toBe('invalid');
    }
    const { dsseEnvelope, ...rest } = JSON.parse(bundle.toString()) as { dsseEnvelope: { payload: string } };
    const payload = Buffer.from(dsseEnvelope.payload, 'base64').toString().replace('"a":1', '"a":2');
    const edited = { ...dsseEnvelope, payload: Buffer.from(payload).toString('base64') };
    expect(worth(Buffer.from(JSON.stringify({ ...rest, dsseEnvelope: edited }))).status).toBe('invalid');
    const byTrusted = made({ by: trusted });
    expect(worth(byTrusted, keysWith({}, [believed()])).status).toBe('valid');
    expect(worth(byTrusted).status).toBe('unverified');
  });

  it('counts nothing of a revoked key, but what the ledger had before it was compromised', () => {
    const revoked = { state: 'revoked', revokedAt: AT, revokeReason: 'laptop stolen' } as const;
    expect(worth(made(), keysWith(revoked))).toMatchObject({
      status: 'key_revoked',
      problem: 'its key was revoked: laptop stolen',
    });
    const since = (ms: number) => keysWith({ ...revoked, compromisedSince: new Date(AT.getTime() + ms) });
    expect(worth(made(), since(1)).status).toBe('valid');
    expect(worth(made(), since(0)).status).toBe('key_revoked');
    expect(worth(made(), keysWith({ state: 'retired' })).status).toBe('valid');
  });
});
