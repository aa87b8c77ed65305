import { createHash } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { contentDigest, contentDigestProblem } from './digest.ts';
import { check, headerOf, pollBody, pollRequest, signedFacts, withHeader } from './testing/fixtures.ts';

const body = Buffer.from('{"hello": "world"}');
const sha256 = contentDigest(body);
const sha512 = contentDigest(body, 'sha-512');
const hex = (algorithm: string, data: Uint8Array): string =>
  createHash(algorithm).update(data).digest('base64');

describe('contentDigest()', () => {
  it('reproduces RFC 9530 appendix B for the same JSON', () => {
    // Appendix D of RFC 9530: {"hello": "world"} followed by a line feed.
    const example = Buffer.from('{"hello": "world"}\n');
    expect(contentDigest(example)).toBe('sha-256=:RK/0qy18MlBSVnWgjwz6lZEWjP/lF5HF9bvEF8FabDg=:');
    expect(contentDigest(example, 'sha-512')).toBe(
      'sha-512=:YMAam51Jz/jOATT6/zvHrLVgOYTGFy1d6GJiOHTohq4yP+pgk4vf2aCsyRZOtw8MjkM7iw7yZ/WkppmM44T3qg==:',
    );
  });
});

describe('contentDigestProblem()', () => {
  it.each([
    ['sha-256', sha256],
    ['sha-512', sha512],
    ['both', `${sha256}, ${sha512}`],
    ['a known one beside an unknown one', `md5=:${hex('md5', body)}:, ${sha256}`],
  ])('accepts %s', (_name, field) => {
    expect(contentDigestProblem(field, body)).toBeUndefined();
  });

  it.each([
    ['an empty field', '', /not a list/],
    ['a wrong sha-256', contentDigest(Buffer.from('x')), /sha-256 does not match the 18 bytes/],
    [
      'sha-256 right and sha-512 wrong',
      `${sha256}, ${contentDigest(Buffer.from('x'), 'sha-512')}`,
      /sha-512 does not match/,
    ],
    [
      'sha-512 right and sha-256 wrong',
      `${sha512}, ${contentDigest(Buffer.from('x'))}`,
      /sha-256 does not match/,
    ],
    ['md5 only', `md5=:${hex('md5', body)}:`, /no known algorithm, only md5/],
    ['sha (SHA-1) only', `sha=:${hex('sha1', body)}:`, /no known algorithm, only sha/],
    ['unknown algorithms only', `id-blake9=:AAAA:, x=:AAAA:`, /no known algorithm/],
    ['an algorithm twice', `${sha256}, ${sha256}`, /twice/],
    ['a wrong one, then a right one', `${contentDigest(Buffer.from('x'))}, ${sha256}`, /does not match/],
    ['a sha-512 value under sha-256', `sha-256=:${hex('sha512', body)}:`, /does not match/],
    [
      'hex instead of base64',
      `sha-256=:${createHash('sha256').update(body).digest('hex')}:`,
      /does not match|canonical/,
    ],
    ['base64url', sha256.replaceAll('/', '_').replaceAll('+', '-') + '-', /not a list/],
    ['missing padding', sha256.replace('=:', '=:').replace(/=:$/, ':'), /canonical/],
    ['the old Digest syntax', `SHA-256=${hex('sha256', body)}`, /not a list/],
    ['upper case', sha256.toUpperCase(), /not a list/],
    ['a quoted string', `sha-256="${hex('sha256', body)}"`, /not a list/],
    ['parameters', `${sha256};a=1`, /not a list/],
    ['a trailing comma', `${sha256}, `, /not a list/],
  ])('refuses %s', (_name, field, reason) => {
    expect(contentDigestProblem(field, body)).toMatch(reason);
  });

  it('accepts the digest of nothing for an empty body and for no other', () => {
    const empty = contentDigest(new Uint8Array());
    expect(contentDigestProblem(empty, new Uint8Array())).toBeUndefined();
    expect(contentDigestProblem(empty, Buffer.of(0))).toMatch(/does not match the 1 bytes/);
  });

  it('accepts exactly the body that was hashed', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), fc.uint8Array({ maxLength: 200 }), (one, other) => {
        expect(contentDigestProblem(contentDigest(one), one)).toBeUndefined();
        if (Buffer.compare(one, other) !== 0)
          expect(contentDigestProblem(contentDigest(one), other)).toBeDefined();
      }),
    );
  });
});

describe('digest in a signed request', () => {
  it('covers the bytes as sent, not as decoded', async () => {
    const sent = gzipSync(pollBody);
    const facts = signedFacts({ ...pollRequest, body: sent, contentEncoding: 'gzip' });
    expect(await check(facts, sent)).toMatchObject({ ok: true });
    expect(await check(facts, pollBody)).toMatchObject({ reason: 'signature_invalid' });
  });

  it('is required and exact for an empty POST body', async () => {
    const facts = signedFacts({ ...pollRequest, body: new Uint8Array() });
    expect(headerOf(facts, 'content-digest')).toBe('sha-256=:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=:');
    expect(await check(facts, new Uint8Array())).toMatchObject({ ok: true });
    expect(await check(withHeader(facts, 'content-digest', undefined), new Uint8Array())).toMatchObject({
      ok: false,
    });
    expect(await check(facts, pollBody)).toMatchObject({ ok: false });
  });

  it('is itself signed: a digest and body exchanged together are refused', async () => {
    const other = Buffer.from('{"capacity":99}');
    const facts = withHeader(signedFacts(pollRequest), 'content-digest', contentDigest(other));
    expect(await check(facts, other)).toMatchObject({
      reason: 'signature_invalid',
      detail: 'signature does not verify',
    });
  });
});
