/**
 * Signature base and `@signature-params` (RFC 9421 sections 2.3 and 2.5), for the components of this profile
 * only.
 */

export interface SignatureParams {
  /** Seconds since 1970. */
  readonly created: number;
  readonly expires: number;
  readonly nonce: string;
  readonly keyid: string;
  readonly alg: string;
  readonly tag: string;
}

/** Gives the inner list alone, as in `("@method" "@authority")`. */
export function serializeComponents(components: readonly string[]): string {
  return `(${components.map((name) => `"${name}"`).join(' ')})`;
}

/**
 * Value of `Signature-Input` after the label, with the parameters in the order in which this profile's signer
 * writes them.
 */
export function serializeSignatureParams(components: readonly string[], params: SignatureParams): string {
  return (
    `${serializeComponents(components)};created=${params.created};expires=${params.expires}` +
    `;nonce="${params.nonce}";keyid="${params.keyid}";alg="${params.alg}";tag="${params.tag}"`
  );
}

/** The text that is signed: one line a component, LF between lines, none at the end. */
export function signatureBase(
  components: readonly string[],
  valueOf: (component: string) => string,
  signatureParams: string,
): string {
  let base = '';
  for (const component of components) base += `"${component}": ${valueOf(component)}\n`;
  return `${base}"@signature-params": ${signatureParams}`;
}
