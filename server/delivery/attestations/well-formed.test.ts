import { describe, expect, it } from 'vitest';
import { PAYLOAD_TYPE, readStatement } from './envelope.ts';
import { problemOf } from './well-formed.ts';

const SHA256 = 'a1'.repeat(32);
const V1 = 'https://slsa.dev/provenance/v1';
const V02 = 'https://slsa.dev/provenance/v0.2';
const whole = {
  [V1]: {
    buildDefinition: { buildType: 'https://ci.example.com/t' },
    runDetails: { builder: { id: 'https://ci.example.com' } },
  },
  [V02]: { buildType: 'https://ci.example.com/t', builder: { id: 'https://ci.example.com' } },
};

function saidOf(
  predicateType: string,
  predicate: unknown,
  subject: unknown[] = [{ name: 'web', digest: { sha256: SHA256 } }],
) {
  const json = { _type: 'https://in-toto.io/Statement/v1', subject, predicateType, predicate };
  const envelope = { payloadType: PAYLOAD_TYPE, payload: Buffer.from(JSON.stringify(json)) };
  return problemOf(readStatement({ ...envelope, signature: new Uint8Array(), hint: '', isKeyless: false }));
}

describe('a statement that others bring', () => {
  it.each([
    [V1, whole[V1]],
    [V02, whole[V02]],
    ['https://in-toto.io/attestation/vulns/v0.1', {}],
    ['https://in-toto.io/attestation/vulns/v0.1', undefined],
  ])('is taken as %s where it is whole', (type, predicate) =>
    expect(saidOf(type, predicate)).toBeUndefined(),
  );

  it.each<[string, unknown, string]>([
    [V1, {}, 'buildDefinition.buildType'],
    [V1, undefined, 'buildDefinition.buildType'],
    [V1, { ...whole[V1], runDetails: undefined }, 'runDetails.builder.id'],
    [V1, { ...whole[V1], runDetails: { metadata: {} } }, 'runDetails.builder.id'],
    [V1, { ...whole[V1], runDetails: { builder: { id: ' ' } } }, 'runDetails.builder.id'],
    [V1, { ...whole[V1], runDetails: [{ builder: { id: 'x' } }] }, 'runDetails.builder.id'],
    [V1, whole[V02], 'buildDefinition.buildType'],
    [V02, { buildType: 'https://ci.example.com/t' }, 'builder.id'],
    [V02, { builder: { id: 'https://ci.example.com' } }, 'buildType'],
    [V02, whole[V1], 'buildType'],
    ['https://slsa.dev/provenance/v0.1', { builder: { id: 'x' } }, 'recipe.type'],
  ])('of type %s names what it lacks in %o', (type, predicate, lacks) =>
    expect(saidOf(type, predicate)).toContain(`its predicate of type ${type} has no text at "${lacks}"`),
  );

  const good = { name: 'web', digest: { sha256: SHA256 } };
  it.each<[unknown, string]>([
    [{ name: 'other' }, 'subject 2 has no digest'],
    [{ name: 'other', digest: {} }, 'subject 2 has no digest'],
    [{ name: 'other', digest: `sha256:${SHA256}` }, 'subject 2 has no digest'],
    ['other', 'subject 2 has no digest'],
    [
      { name: 'other', digest: { sha256: 'xyz' } },
      'subject 2 has the sha256 "xyz", expected 64 hex digits in lower case',
    ],
    [{ name: 'other', digest: { sha256: SHA256.toUpperCase() } }, 'expected 64 hex digits'],
    [{ name: 'other', digest: { sha256: SHA256, sha512: SHA256 } }, 'subject 2 has the sha512'],
    [{ name: 'other', digest: { gitCommit: 'main' } }, 'expected 40 or 64 hex digits'],
    [{ name: 'other', digest: { blake3: 'zz' } }, 'has the blake3 "zz", expected hex digits'],
    [{ name: 'other', digest: { sha256: 7 } }, 'has the sha256 7'],
  ])('is refused with the subject %o', (subject, said) =>
    expect(saidOf(V1, whole[V1], [good, subject])).toContain(said),
  );

  it('may have subjects of any algorithm in hex', () =>
    expect(
      saidOf(V1, whole[V1], [good, { digest: { gitCommit: 'a1'.repeat(20), blake3: 'a1' } }]),
    ).toBeUndefined());
});
