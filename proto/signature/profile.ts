/**
 * The one profile of RFC 9421 (HTTP Message Signatures) and RFC 9530 (Digest Fields) that runners and
 * gateways speak.
 *
 * A profile, not a library: label, algorithm, tag, covered components and their order are fixed, and every
 * field of ours must arrive in the canonical serialisation of RFC 9651. So exactly one text is right for a
 * request, nothing has to be negotiated, and two parsers cannot disagree about what was signed.
 *
 * Decisions where the RFC leaves a choice:
 * - The method alone decides the form: POST, PUT and PATCH always sign `content-type` and `content-digest`,
 *   even of zero bytes; GET, HEAD and DELETE never do and must have no body. A verifier knows the list before
 *   it reads the body.
 * - `content-encoding` and `idempotency-key` are covered exactly when the request carries them, in that
 *   order.
 * - Parameters may stand in any order, each exactly once; unknown ones are refused.
 * - More than one line of a covered or signature field is refused, never joined.
 */

export const SIGNATURE_LABEL = 'sig1';
/** Stops a signature that was made for another protocol or version from being used here. */
export const SIGNATURE_TAG = 'runner-v1';
export const SIGNATURE_ALGORITHM = 'ed25519';

/** Longest accepted value of any one field that takes part, in characters. */
export const FIELD_LENGTH_MAX = 4096;
/** `expires - created` may be 1 to this many seconds; signers use all of it. */
export const LIFETIME_SECONDS_MAX = 60;
/** A `created` older than this is refused. */
export const AGE_SECONDS_MAX = 60;
/** `created` may lie so far ahead of the verifier's clock, and so long past `expires` is forgiven. */
export const SKEW_SECONDS_MAX = 30;

export const SIGNATURE_REASONS = [
  'signature_missing',
  'signature_invalid',
  'clock_skew',
  'replayed',
  'key_unknown',
] as const;

/**
 * A caller may be told one of these. `clock_skew` and `replayed` are told only after the signature itself
 * verified.
 */
export type SignatureReason = (typeof SIGNATURE_REASONS)[number];

export interface SignatureProblem {
  readonly ok: false;
  readonly reason: SignatureReason;
  /** The text is for the log only: on the wire all `signature_invalid` answers look alike. */
  readonly detail: string;
}

export function signatureProblem(reason: SignatureReason, detail: string): SignatureProblem {
  return { ok: false, reason, detail };
}

/** Methods that may be signed, and whether they sign a body. */
const BODY_OF_METHOD: ReadonlyMap<string, boolean> = new Map([
  ['GET', false],
  ['HEAD', false],
  ['DELETE', false],
  ['POST', true],
  ['PUT', true],
  ['PATCH', true],
]);

/**
 * Tells whether requests of this method sign a body. It is undefined for a method that this profile does not
 * know.
 */
export function signsBody(method: string): boolean | undefined {
  return BODY_OF_METHOD.get(method);
}

/** These may be present besides the components that every request covers. */
export interface CoveredOptions {
  readonly body: boolean;
  readonly contentEncoding: boolean;
  readonly idempotencyKey: boolean;
}

/** The covered components of a request, in the only accepted order. */
export function coveredComponents(options: CoveredOptions): readonly string[] {
  return [
    '@method',
    '@authority',
    '@path',
    '@query',
    ...(options.body ? ['content-type', 'content-digest'] : []),
    ...(options.contentEncoding ? ['content-encoding'] : []),
    ...(options.idempotencyKey ? ['idempotency-key'] : []),
  ];
}
