/**
 * Verifies an id_token, as far as that does not depend on the request. The order is fixed: form, header,
 * issuer, key, signature, audience, times, claims; nothing of a token is believed before its signature,
 * except which of the two issuers it claims to be of.
 */
import { ID_TOKEN_BYTES_MAX } from '../../access/auth/index.ts';
import { parseJson } from '@svc/proto/http/json-text.ts';
import { errors, jwtVerify, type CryptoKey } from 'jose';
import type { Clock } from '../../base/clock.ts';
import type { CiJob } from '../../kit/context.ts';
import { invalid, jobOf, printable, type Claims } from './claims.ts';
import { isDefaultAudience, issuerProblem, type Issuer } from './issuers.ts';
import type { IssuerKeys } from './keys.ts';

/** Allowed difference between our clock and the issuer's. */
const SKEW_S = 60;
/**
 * Greatest age of a token: those of GitLab live as long as their job may run, which is no reason to take them
 * for so long.
 */
const AGE_S_MAX = 600;
const JTI_CHARS_MAX = 255;
/** The year 2100. */
const END_S = 4_102_444_800;

export interface IdToken {
  readonly job: CiJob;
  readonly jti: string;
  readonly expiresAt: Date;
}

export type VerifyIdToken = (token: string) => Promise<IdToken>;

export interface VerifyDeps {
  readonly keys: IssuerKeys;
  readonly issuers: readonly Issuer[];
  readonly clock: Clock;
  /** The one audience that tokens must be made for. */
  audience(): string;
}

export function createVerifier({ keys, issuers, clock, audience }: VerifyDeps): VerifyIdToken {
  return async (token) => {
    const parsed = parse(token);
    const { header, claims } = parsed;
    const kid = checkHeader(header);
    const issuer = issuers.find((each) => each.issuer === claims['iss']);
    if (issuer === undefined) throw unknownIssuer(claims);
    const key = await keys.find(issuer, kid);
    if (key === undefined)
      throw invalid(`${issuer.issuer} has no key "${printable(kid)}"`, { claim: 'kid', claims });
    await checkSignatureAndTimes(parsed, key, clock.now());
    checkAudience(claims, audience());
    const jti = claims['jti'];
    if (typeof jti !== 'string' || jti === '' || jti.length > JTI_CHARS_MAX)
      throw invalid(`the claim jti is no text of 1 to ${JTI_CHARS_MAX} characters`, { claim: 'jti', claims });
    const exp = Number(claims['exp']);
    if (exp > END_S)
      throw invalid(`the claim exp is ${exp}, which no job's end can be`, { claim: 'exp', claims });
    return { job: jobOf(issuer, claims), jti, expiresAt: new Date(exp * 1_000) };
  };
}

/** A token that is read and not believed yet. */
interface Parsed {
  readonly token: string;
  readonly header: Claims;
  readonly claims: Claims;
}

function parse(token: string): Parsed {
  if (token.length > ID_TOKEN_BYTES_MAX)
    throw invalid(`it has ${token.length} bytes, at most ${ID_TOKEN_BYTES_MAX} are read`);
  const parts = token.split('.');
  const [header = '', claims = '', signature = ''] = parts;
  if (parts.length !== 3) throw invalid(`it has ${parts.length} parts, expected three between dots`);
  bytesOf(signature, 'signature');
  return { token, header: objectOf(header, 'header'), claims: objectOf(claims, 'claims') };
}

/**
 * Takes only the one spelling that base64url has for these bytes: another one would be another token with the
 * same signature.
 */
function bytesOf(part: string, name: string): Buffer {
  const bytes = Buffer.from(part, 'base64url');
  if (part === '' || bytes.toString('base64url') !== part) throw invalid(`its ${name} is not base64url`);
  return bytes;
}

function objectOf(part: string, name: string): Claims {
  let value: unknown;
  try {
    value = parseJson(bytesOf(part, name)); // Refuses a claim that is there twice: readers differ in which one they take.
  } catch {
    throw invalid(`its ${name} cannot be read as JSON in base64url with every name once`);
  }
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Claims;
  throw invalid(`its ${name} is no JSON object`);
}

/** Headers that hold a key or its address: no issuer of ours sends them. */
const FOREIGN_KEYS = ['jku', 'jwk', 'x5u', 'x5c', 'crit', 'b64'];

function checkHeader(header: Claims): string {
  const { alg, typ, kid } = header;
  if (alg !== 'RS256') throw invalid(`its algorithm is ${printable(alg)}, expected RS256`);
  if (typ !== 'JWT') throw invalid(`its type is ${printable(typ)}, expected JWT`);
  const foreign = FOREIGN_KEYS.find((name) => name in header);
  if (foreign !== undefined) throw invalid(`its header holds ${foreign}, which is not taken`);
  if (typeof kid === 'string' && kid.length >= 1 && kid.length <= 255) return kid;
  throw invalid('its header names no key');
}

function unknownIssuer(claims: Claims): Error {
  const { iss } = claims;
  const why = typeof iss === 'string' ? issuerProblem(iss, claims) : 'the claim iss is absent or no text';
  return invalid(`its issuer is ${printable(iss)}: ${why}`, { claim: 'iss', claims });
}

async function checkSignatureAndTimes({ token, claims }: Parsed, key: CryptoKey, now: Date): Promise<void> {
  try {
    await jwtVerify(token, key, {
      algorithms: ['RS256'],
      requiredClaims: ['exp', 'iat', 'jti'],
      clockTolerance: SKEW_S,
      maxTokenAge: AGE_S_MAX,
      currentDate: now,
    });
  } catch (error) {
    if (error instanceof errors.JWTExpired || error instanceof errors.JWTClaimValidationFailed)
      throw invalid(timeProblem(error.claim, claims, now), { claim: error.claim, claims });
    if (error instanceof errors.JOSEError) throw invalid('its signature is not that of the key it names');
    throw error;
  }
}

function timeProblem(claim: string, claims: Claims, now: Date): string {
  const at = Math.floor(now.getTime() / 1_000);
  return `the claim ${claim} is ${printable(claims[claim])} at ${at}; it must be made at most ${AGE_S_MAX} s ago, and be good now (${SKEW_S} s of difference between clocks are allowed)`;
}

function checkAudience(claims: Claims, wanted: string): void {
  const { aud } = claims;
  const only = Array.isArray(aud) && aud.length === 1 ? (aud as readonly unknown[])[0] : aud;
  if (only === wanted) return;
  const hint =
    typeof only === 'string' && isDefaultAudience(only)
      ? ', and the one that it has is what every token gets that names none'
      : '';
  throw invalid(`its audience is ${printable(aud)}, expected ${wanted} alone${hint}`, {
    claim: 'aud',
    claims,
  });
}
