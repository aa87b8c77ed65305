import * as noble from '@noble/ed25519';
import fc from 'fast-check';
import {
  component,
  createSignatureSync,
  verifySignature as verifyByOther,
  type RequestDescriptor,
} from 'http-message-sig';
import { sign as nodeSign, verify as nodeVerify } from 'node:crypto';
import { parseDictionary, serializeDictionary } from 'structured-headers';
import { describe, expect, it } from 'vitest';
import { contentDigest } from './digest.ts';
import { generateSigningKey, publicKeyObject } from './keys.ts';
import { coveredComponents } from './profile.ts';
import { signRequest, targetOfUrl, type SignableRequest } from './sign.ts';
import { parseSignature } from './verify.ts';
import {
  authorities,
  check,
  created,
  headerOf,
  healthRequest,
  nonce,
  pollBody,
  pollRequest,
  signedFacts,
  testKey,
  testPublicKey,
} from './testing/fixtures.ts';

const options = { key: testKey, created, nonce };
const params =
  `;created=1767225600;expires=1767225660;nonce="3q2-7wAAAAAAAAAAAAAAAA"` +
  `;keyid="poqkLGiymh_W0uP6PZFw-dvez3QJT5SolqXBCW38r0U";alg="ed25519";tag="runner-v1"`;

describe('worked example', () => {
  it('reproduces the fields of the POST byte for byte', () => {
    expect(signRequest(pollRequest, options)).toEqual({
      'content-digest': 'sha-256=:p/64+sGQOX71SDzy1ugpwfgyFKvDjiVekRtb7exBRTI=:',
      'signature-input': `sig1=("@method" "@authority" "@path" "@query" "content-type" "content-digest")${params}`,
      signature:
        'sig1=:/tvlZgd4ckL7WgHL3U0D6qhTEWjvYZMn9/c+Q3N5I3nmNbaZzRHhFwIM/JMf5kmHZPnR9Pwj+f2pGWvuiDmjAg==:',
    });
  });

  it('reproduces the signature base of the POST byte for byte', () => {
    const parsed = parseSignature(signedFacts(pollRequest), { authorities, nowMs: created * 1000 });
    expect(parsed.ok && parsed.base).toBe(
      [
        '"@method": POST',
        '"@authority": cp.example.com',
        '"@path": /runner.v1.RunnerService/PollWork',
        '"@query": ?',
        '"content-type": application/json',
        '"content-digest": sha-256=:p/64+sGQOX71SDzy1ugpwfgyFKvDjiVekRtb7exBRTI=:',
        `"@signature-params": ("@method" "@authority" "@path" "@query" "content-type" "content-digest")${params}`,
      ].join('\n'),
    );
  });

  it('reproduces the GET byte for byte', () => {
    expect(signRequest(healthRequest, options)).toEqual({
      'signature-input': `sig1=("@method" "@authority" "@path" "@query")${params}`,
      signature:
        'sig1=:2xJug9FqilWRH0ZS80ZVG9PoNk+X6rkr9V16gvpxMVz6STVENekS5U5jSg3mD0ofc0k8DKdcASOXK9XqnBEbBA==:',
    });
  });

  it('verifies both', async () => {
    expect(await check(signedFacts(pollRequest), pollBody)).toEqual({
      ok: true,
      keyid: testKey.keyid,
      nonce,
      created,
      expires: created + 60,
    });
    expect(await check(signedFacts(healthRequest))).toMatchObject({ ok: true });
  });
});

const token = fc.stringMatching(/^[A-Za-z0-9._~%-]{1,12}$/);
const requests: fc.Arbitrary<SignableRequest> = fc
  .record({
    method: fc.constantFrom('GET', 'HEAD', 'DELETE', 'POST', 'PUT', 'PATCH'),
    segments: fc.array(token, { minLength: 1, maxLength: 4 }),
    query: fc.option(token, { nil: undefined }),
    contentType: fc.constantFrom(
      'application/json',
      'application/proto',
      'application/json; charset="utf-8"',
    ),
    contentEncoding: fc.constantFrom(undefined, 'gzip', 'br'),
    idempotencyKey: fc.option(fc.uuid(), { nil: undefined }),
    body: fc.uint8Array({ maxLength: 300 }),
  })
  .map((input) => {
    const hasBody = input.method.startsWith('P');
    return {
      method: input.method,
      authority: 'cp.example.com',
      path: `/${input.segments.join('/')}`,
      ...(input.query === undefined ? {} : { query: `?${input.query}` }),
      ...(input.idempotencyKey === undefined ? {} : { idempotencyKey: input.idempotencyKey }),
      ...(hasBody ? { body: input.body, contentType: input.contentType } : {}),
      ...(hasBody && input.contentEncoding !== undefined ? { contentEncoding: input.contentEncoding } : {}),
    };
  });

/** The request as http-message-sig wants it, with the digest but without the signature. */
function descriptorOf(request: SignableRequest): RequestDescriptor {
  const fields = [
    ['content-type', request.contentType],
    ['content-encoding', request.contentEncoding],
    ['idempotency-key', request.idempotencyKey],
    ['content-digest', request.body === undefined ? undefined : contentDigest(request.body)],
  ] as const;
  return {
    kind: 'request',
    method: request.method,
    targetUri: `https://${request.authority}${request.path}${request.query ?? ''}`,
    fields: fields.flatMap(([name, value]) => (value === undefined ? [] : [{ name, value }])),
  };
}

function componentsOf(request: SignableRequest): readonly string[] {
  return coveredComponents({
    body: request.body !== undefined,
    contentEncoding: request.contentEncoding !== undefined,
    idempotencyKey: request.idempotencyKey !== undefined,
  });
}

describe('against an independent implementation', () => {
  it('http-message-sig verifies what is signed here', async () => {
    await fc.assert(
      fc.asyncProperty(requests, async (request) => {
        const descriptor = descriptorOf(request);
        const signature = signRequest(request, options);
        const verified = await verifyByOther(
          {
            ...descriptor,
            fields: [
              ...descriptor.fields,
              { name: 'signature-input', value: signature['signature-input'] },
              { name: 'signature', value: signature.signature },
            ],
          },
          {
            policy: {
              algorithms: ['ed25519'],
              requiredComponents: componentsOf(request).map((name) => component(name)),
              requiredParameters: ['created', 'expires', 'nonce', 'keyid', 'alg', 'tag'],
              now: created,
            },
            resolveVerifier: () => ({
              algorithm: 'ed25519',
              verify: (data, bytes) => nodeVerify(null, data, testPublicKey, bytes),
            }),
          },
        );
        expect(verified.parameters['keyid']).toBe(testKey.keyid);
      }),
      { numRuns: 300 },
    );
  });

  it('what http-message-sig signs verifies here, with equal bytes', async () => {
    await fc.assert(
      fc.asyncProperty(requests, async (request) => {
        const fields = createSignatureSync(descriptorOf(request), {
          label: 'sig1',
          components: componentsOf(request),
          parameters: {
            created,
            expires: created + 60,
            nonce,
            keyid: testKey.keyid,
            alg: 'ed25519',
            tag: 'runner-v1',
          },
          signer: {
            algorithm: 'ed25519',
            sign: (data) => new Uint8Array(nodeSign(null, data, testKey.privateKey)),
          },
        });
        const facts = signedFacts(request);
        expect(headerOf(facts, 'signature-input')).toBe(fields.signatureInput);
        expect(headerOf(facts, 'signature')).toBe(fields.signature);
        expect(await check(facts, request.body)).toMatchObject({ ok: true });
      }),
      { numRuns: 300 },
    );
  });

  it('@noble/ed25519 makes the same signature over the same base', () => {
    fc.assert(
      fc.property(requests, (request) => {
        const facts = signedFacts(request);
        const parsed = parseSignature(facts, { authorities, nowMs: created * 1000 });
        if (!parsed.ok) throw new Error(parsed.detail);
        const seed = testKey.privateKey.export({ format: 'jwk' }).d ?? '';
        const expected = noble.sign(
          new TextEncoder().encode(parsed.base),
          new Uint8Array(Buffer.from(seed, 'base64url')),
        );
        expect(Buffer.from(parsed.signature).toString('hex')).toBe(Buffer.from(expected).toString('hex'));
      }),
      { numRuns: 30 },
    );
  });

  it('accepts no signature-input that a structured-fields parser reads or writes differently', () => {
    const input = headerOf(signedFacts(pollRequest), 'signature-input');
    const characters = '()";=.-_ \t\\,:@?a1Z*';
    const edits = fc.array(
      fc.record({
        at: fc.nat(input.length),
        remove: fc.nat(2),
        insert: fc.string({ unit: fc.constantFrom(...characters), maxLength: 2 }),
      }),
      { minLength: 1, maxLength: 2 },
    );
    let accepted = 0;
    fc.assert(
      fc.property(edits, (list) => {
        let text = input;
        for (const edit of list)
          text = text.slice(0, edit.at) + edit.insert + text.slice(edit.at + edit.remove);
        const facts = signedFacts(pollRequest);
        const headers = facts.headers.map(
          ([name, value]) => [name, name === 'signature-input' ? text : value] as const,
        );
        const parsed = parseSignature({ ...facts, headers }, { authorities, nowMs: created * 1000 });
        if (!parsed.ok) return;
        accepted += 1;
        expect(serializeDictionary(parseDictionary(text))).toBe(text.trim());
      }),
      { numRuns: 5_000 },
    );
    expect(accepted).toBeGreaterThan(0);
  });
});

describe('signRequest()', () => {
  it('round-trips any request and fresh key', async () => {
    await fc.assert(
      fc.asyncProperty(requests, async (request) => {
        const key = generateSigningKey();
        const facts = signedFacts(request, { key, created, nonce });
        expect(await check(facts, request.body, { publicKey: publicKeyObject(key.publicKey) })).toMatchObject(
          {
            ok: true,
          },
        );
      }),
      { numRuns: 30 },
    );
  });

  it('takes the target of a URL as it goes on the wire', () => {
    expect(targetOfUrl(new URL('HTTPS://CP.Example.com:443/a%2Fb/../c?x=1#f'))).toEqual({
      authority: 'cp.example.com',
      path: '/c',
      query: '?x=1',
    });
    expect(targetOfUrl(new URL('http://localhost:8080/')).authority).toBe('localhost:8080');
  });

  it.each([
    ['an unknown method', { ...pollRequest, method: 'TRACE' }],
    ['a body on GET', { ...healthRequest, body: pollBody }],
    ['a POST without content-type', { method: 'POST', authority: 'a', path: '/' }],
    ['a line break in a covered field', { ...pollRequest, idempotencyKey: 'a\nb' }],
    ['a non-ASCII character', { ...pollRequest, idempotencyKey: 'ä' }],
    ['an empty path', { ...pollRequest, path: '' }],
  ] satisfies [string, SignableRequest][])('refuses %s', (_name, request) => {
    expect(() => signRequest(request, options)).toThrow(RangeError);
  });
});
