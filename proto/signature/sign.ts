/**
 * This file signs one request of a runner. Sign last: after compression, over exactly the bytes and fields
 * that go out.
 */
import { sign } from 'node:crypto';
import { serializeSignatureParams, signatureBase } from './base.ts';
import { contentDigest } from './digest.ts';
import type { SigningKey } from './keys.ts';
import {
  coveredComponents,
  LIFETIME_SECONDS_MAX,
  SIGNATURE_ALGORITHM,
  SIGNATURE_LABEL,
  SIGNATURE_TAG,
  signsBody,
} from './profile.ts';

export interface SignableRequest {
  readonly method: string;
  /** Host in lower case, port only when it is not the scheme's default: `new URL(…).host`. */
  readonly authority: string;
  /** As it will stand in the request line, percent-encoded. */
  readonly path: string;
  /** It has its leading `?`, and is empty or absent where there is none. */
  readonly query?: string;
  readonly contentType?: string;
  readonly contentEncoding?: string;
  readonly idempotencyKey?: string;
  /** Bytes as sent, so after content-encoding. */
  readonly body?: Uint8Array;
}

export interface SignOptions {
  readonly key: Pick<SigningKey, 'privateKey' | 'keyid'>;
  /** Seconds since 1970 on the verifier's clock: local time plus the offset of `skew.ts`. */
  readonly created: number;
  /** The nonce is from `createNonce`, and fresh for every attempt, also for a retry of the same request. */
  readonly nonce: string;
}

export interface SignatureHeaders {
  readonly 'content-digest'?: string;
  readonly 'signature-input': string;
  readonly signature: string;
}

/** The fields to add to the request. The other fields of `request` must go out as given here. */
export function signRequest(request: SignableRequest, options: SignOptions): SignatureHeaders {
  const body = signsBody(request.method);
  if (body === undefined) throw new RangeError(`method ${request.method} cannot be signed`);
  if (!body && (request.body?.length ?? 0) > 0)
    throw new RangeError(`a ${request.method} request has no body`);
  if (body && request.contentType === undefined)
    throw new RangeError('a request with a body needs a content-type');
  const digest = body ? contentDigest(request.body ?? new Uint8Array()) : undefined;
  const components = coveredComponents({
    body,
    contentEncoding: body && request.contentEncoding !== undefined,
    idempotencyKey: request.idempotencyKey !== undefined,
  });
  const params = serializeSignatureParams(components, {
    created: options.created,
    expires: options.created + LIFETIME_SECONDS_MAX,
    nonce: options.nonce,
    keyid: options.key.keyid,
    alg: SIGNATURE_ALGORITHM,
    tag: SIGNATURE_TAG,
  });
  const base = signatureBase(components, (component) => valueOf(component, request, digest), params);
  const signature = sign(null, Buffer.from(base, 'ascii'), options.key.privateKey).toString('base64');
  return {
    ...(digest === undefined ? {} : { 'content-digest': digest }),
    'signature-input': `${SIGNATURE_LABEL}=${params}`,
    signature: `${SIGNATURE_LABEL}=:${signature}:`,
  };
}

function valueOf(component: string, request: SignableRequest, digest: string | undefined): string {
  const values: Readonly<Record<string, string | undefined>> = {
    '@method': request.method,
    '@authority': request.authority,
    '@path': request.path,
    '@query': request.query || '?',
    'content-type': request.contentType,
    'content-digest': digest,
    'content-encoding': request.contentEncoding,
    'idempotency-key': request.idempotencyKey,
  };
  const value = values[component];
  if (value === undefined) throw new RangeError(`${component} has no value to sign`);
  if (!/^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/.test(value)) {
    throw new RangeError(
      `${component} is empty or holds characters that cannot be signed: ${JSON.stringify(value)}`,
    );
  }
  return value;
}

/** The signed parts of the target of a request to `url`. */
export function targetOfUrl(url: URL): {
  readonly authority: string;
  readonly path: string;
  readonly query: string;
} {
  return { authority: url.host, path: url.pathname, query: url.search };
}
