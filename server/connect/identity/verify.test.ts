/** Every way in which an id_token can be wrong by itself. What it is shown for is in attacks.api.test.ts. */
import { createHmac, createSign, generateKeyPairSync } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { githubClaims, gitlabClaims } from '../../../test/setup/oidc-issuer.ts';
import type { Clock } from '../../base/clock.ts';
import { importSPKI } from 'jose';
import { ISSUERS } from './issuers.ts';
import { createVerifier } from './verify.ts';

const AUDIENCE = 'https://svc.test';
const NOW = new Date('2026-11-20T12:00:00Z');
const now = NOW.getTime() / 1_000;
const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2_048 });
const other = generateKeyPairSync('rsa', { modulusLength: 2_048 });
const spki = publicKey.export({ type: 'spki', format: 'pem' }).toString();
const clock: Clock = { now: () => NOW, monotonicMs: () => 0 };
const asked: string[] = [];
const verify = createVerifier({
  issuers: ISSUERS,
  clock,
  audience: () => AUDIENCE,
  keys: {
    find: async (_issuer, kid) => {
      asked.push(kid);
      return kid === 'k' ? await importSPKI(spki, 'RS256') : undefined;
    },
  },
});

type Json = Readonly<Record<string, unknown>>;
const encode = (value: unknown): string =>
  Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url');
const HEADER = { alg: 'RS256', typ: 'JWT', kid: 'k' };
const TIMES = { iat: now - 10, nbf: now - 15, exp: now + 300, jti: 'j-1' };
const github = (more: Json = {}): Json => ({
  iss: ISSUERS[0]?.issuer,
  aud: AUDIENCE,
  ...TIMES,
  ...githubClaims(),
  ...more,
});
const gitlab = (more: Json = {}): Json => ({
  iss: ISSUERS[1]?.issuer,
  aud: AUDIENCE,
  ...TIMES,
  ...gitlabClaims(),
  ...more,
});
const without = (claims: Json, name: string): Json =>
  Object.fromEntries(Object.entries(claims).filter(([each]) => each !== name));

function signed(claims: unknown, header: unknown = HEADER, key = privateKey): string {
  const head = `${encode(header)}.${encode(claims)}`;
  return `${head}.${createSign('sha256').update(head).sign(key).toString('base64url')}`;
}

const refusalOf = async (token: string): Promise<{ code: string; message: string }> => {
  try {
    await verify(token);
  } catch (error) {
    return error as { code: string; message: string };
  }
  throw new Error('the token was taken');
};

describe('createVerifier()', () => {
  it('takes what GitHub and GitLab.com sign', async () => {
    const [hub, lab] = [await verify(signed(github())), await verify(signed(gitlab({ aud: [AUDIENCE] })))];
    expect(hub).toMatchObject({ jti: 'j-1', expiresAt: new Date((now + 300) * 1_000) });
    expect(hub.job).toMatchObject({
      provider: 'github',
      repositoryId: '1001',
      ownerId: '11',
      runId: '5001',
      attempt: 1,
    });
    expect(lab.job).toMatchObject({ provider: 'gitlab', repositoryId: '2001', ownerId: '21', runId: '9001' });
    expect(hub.job.claims).not.toHaveProperty('sub');
  });

  const at = (claims: Json) => signed(github(claims));
  const hmac = (): string => {
    const head = `${encode({ ...HEADER, alg: 'HS256' })}.${encode(github())}`;
    return `${head}.${createHmac('sha256', spki).update(head).digest('base64url')}`;
  };
  const twice = JSON.stringify(github()).replace('{', '{"repository_id":"9",');
  it.each<[string, string, string]>([
    ['alg none', `${encode({ ...HEADER, alg: 'none' })}.${encode(github())}.`, 'not base64url'],
    ['alg none, signed', signed(github(), { ...HEADER, alg: 'none' }), 'algorithm is none'],
    ['HS256 with the public key', hmac(), 'algorithm is HS256'],
    ['another alg of the same key', signed(github(), { ...HEADER, alg: 'RS512' }), 'algorithm is RS512'],
    ['alg in another case', signed(github(), { ...HEADER, alg: 'rs256' }), 'algorithm is rs256'],
    ['no typ', signed(github(), { alg: 'RS256', kid: 'k' }), 'type is nothing'],
    ['another typ', signed(github(), { ...HEADER, typ: 'at+jwt' }), 'type is at+jwt'],
    ['no kid', signed(github(), { alg: 'RS256', typ: 'JWT' }), 'names no key'],
    [
      'kid that is a path',
      signed(github(), { ...HEADER, kid: '../../etc/passwd' }),
      'no key "../../etc/passwd"',
    ],
    ['kid of a prototype', signed(github(), { ...HEADER, kid: '__proto__' }), 'no key "__proto__"'],
    ['a kid that is no text', signed(github(), { ...HEADER, kid: ['k'] }), 'names no key'],
    ['jku', signed(github(), { ...HEADER, jku: 'https://evil.test/jwks' }), 'header holds jku'],
    ['x5u', signed(github(), { ...HEADER, x5u: 'https://evil.test/cert' }), 'header holds x5u'],
    [
      'jwk',
      signed(github(), { ...HEADER, jwk: other.publicKey.export({ format: 'jwk' }) }, other.privateKey),
      'header holds jwk',
    ],
    ['crit', signed(github(), { ...HEADER, crit: ['b64'], b64: false }), 'header holds crit'],
    ['another key', signed(github(), HEADER, other.privateKey), 'signature is not that of the key'],
    [
      'a claim changed',
      signed(github()).replace(/\.[^.]+\./, `.${encode(github({ run_id: '1' }))}.`),
      'signature is not that of the key',
    ],
    ['a claim twice', signed(twice), 'every name once'],
    [
      'a header twice',
      signed(github(), '{"alg":"none","alg":"RS256","typ":"JWT","kid":"k"}'),
      'every name once',
    ],
    ['two parts', signed(github()).split('.').slice(0, 2).join('.'), '2 parts'],
    ['five parts', `${signed(github())}.x.y`, '5 parts'],
    ['an empty part', '..', 'not base64url'],
    ['more than 16 KiB', at({ pad: 'x'.repeat(16_400) }), 'at most 16384'],
    ['claims that are a list', signed([1]), 'no JSON object'],
    ['the issuer with a slash', at({ iss: `${ISSUERS[0]?.issuer}/` }), 'iss'],
    [
      'the issuer in another case',
      at({ iss: 'https://Token.actions.githubusercontent.com' }),
      'only https://',
    ],
    ['no issuer', at({ iss: undefined }), 'absent or no text'],
    [
      'GitHub Enterprise Server',
      at({ iss: 'https://ghe.acme.test/_services/token' }),
      'GitHub Enterprise Server',
    ],
    ['data residency', at({ iss: 'https://token.actions.acme.ghe.com' }), 'data residency'],
    ['an enterprise slug', at({ iss: `${ISSUERS[0]?.issuer}/acme` }), 'include_enterprise_slug'],
    ['a GitLab of their own', signed(gitlab({ iss: 'https://gitlab.acme.test' })), 'self-managed GitLab'],
    ['another audience', at({ aud: 'https://other.test' }), 'audience is https://other.test'],
    ['the audience with a slash', at({ aud: `${AUDIENCE}/` }), 'expected https://svc.test alone'],
    ["GitHub's default audience", at({ aud: 'https://github.com/acme' }), 'every token gets that names none'],
    [
      "GitLab's default audience",
      signed(gitlab({ aud: 'https://gitlab.com' })),
      'every token gets that names none',
    ],
    ['two audiences', at({ aud: [AUDIENCE, 'https://other.test'] }), 'audience is ["https://svc.test"'],
    ['no audience', at({ aud: undefined }), 'audience is nothing'],
    ['expired', at({ exp: now - 61 }), 'exp'],
    ['no end', at({ exp: undefined }), 'exp'],
    ['an end that is a text', at({ exp: String(now + 300) }), 'exp'],
    ['an end in another age', at({ exp: 1e300 }), 'exp'],
    ['made in the future', at({ iat: now + 61 }), 'iat'],
    ['made too long ago', at({ iat: now - 661, exp: now + 86_400 }), 'iat'],
    ['no time of making', at({ iat: undefined }), 'iat'],
    ['not good yet', at({ nbf: now + 61 }), 'nbf'],
    ['no jti', at({ jti: undefined }), 'jti'],
    ['an empty jti', at({ jti: '' }), 'jti'],
    ['a jti that is a number', at({ jti: 5 }), 'jti'],
    ['an endless jti', at({ jti: 'j'.repeat(256) }), 'jti'],
    ['ids that are numbers', at({ repository_id: 1001 }), 'repository_id is a number'],
    ['an id that is none', at({ repository_id: '1e3' }), 'which none of its kind can be'],
    ['no owner', at({ repository_owner_id: undefined }), 'repository_owner_id is absent'],
    ['an attempt of nought', at({ run_attempt: '0' }), 'run_attempt'],
    ['a sha that is none', at({ sha: 'main' }), 'sha'],
    ['no event', at({ event_name: undefined }), 'event_name is absent'],
    ['a project that is a number', signed(gitlab({ project_id: 2001 })), 'project_id is a number'],
    ['no pipeline', signed(without(gitlab(), 'pipeline_id')), 'pipeline_id is absent'],
  ])('refuses %s', async (_what, token, text) => {
    const { code, message } = await refusalOf(token);
    expect([code, message]).toEqual(['id_token_invalid', expect.stringContaining(text)]);
    expect(message).not.toContain(token.slice(0, 60));
  });

  it("refuses a merge request from a fork, whose code is a stranger's", async () => {
    const fork = { project_id: '3001', project_path: 'stranger/app' };
    const { code, message } = await refusalOf(signed(gitlab(fork)));
    expect([code, message]).toEqual(['id_token_refused', expect.stringContaining('comes from a fork')]);
  });

  it('reads the project where old GitLabs have no claims of the job', async () => {
    let claims = gitlab();
    for (const name of ['job_project_id', 'job_project_path', 'job_namespace_id'])
      claims = without(claims, name);
    expect((await verify(signed(claims))).job).toMatchObject({ repositoryId: '2001', ownerId: '21' });
  });

  it('allows clocks to differ by a minute', async () => {
    for (const times of [{ exp: now - 59 }, { iat: now + 59 }, { nbf: now + 59 }, { iat: now - 659 }])
      await expect(verify(at(times))).resolves.toBeDefined();
  });

  it('names the claims it saw, and looks for no key before form and header are good', async () => {
    const { message } = await refusalOf(at({ aud: 'https://other.test' }));
    expect(message).toContain('repository=acme/app, repository_id=1001');
    expect(message).not.toMatch(/octocat|j-1|sub=/);
    asked.length = 0;
    await refusalOf(signed(github(), { ...HEADER, alg: 'none' }));
    await refusalOf(at({ iss: 'https://evil.test' }));
    expect(asked).toEqual([]);
  });

  it('refuses every token in which a character was changed, added or left out', async () => {
    const token = signed(github());
    const change = fc.record({
      at: fc.nat(token.length - 1),
      put: fc.constantFrom(...'ABCxyz019-_.=+/ \n'),
      cut: fc.nat(1),
    });
    await fc.assert(
      fc.asyncProperty(change, async ({ at: place, put, cut }) => {
        const changed = token.slice(0, place) + put + token.slice(place + cut);
        fc.pre(changed !== token);
        expect((await refusalOf(changed)).code).toBe('id_token_invalid');
      }),
      { numRuns: 300 },
    );
  });
});
