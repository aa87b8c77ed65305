/**
 * Holds what a verifier may know about a request before it reads the body, taken from the wire as raw as the
 * server lets us, so that repeated lines and odd spellings stay visible.
 */

export interface RequestFacts {
  readonly method: string;
  /** Request target exactly as received (`/path?query`). */
  readonly target: string;
  /** `:authority` of HTTP/2; undefined on HTTP/1.1. */
  readonly authority: string | undefined;
  /** Every field line in order, repeats included, without pseudo-fields. */
  readonly headers: readonly (readonly [name: string, value: string])[];
  /**
   * Take the authority from X-Forwarded-Host: true only when the peer's address is that of a trusted proxy.
   */
  readonly forwardedHostTrusted: boolean;
}

/** The part of `http.IncomingMessage` and `http2.Http2ServerRequest` that is read here; both fit. */
export interface NodeRequest {
  readonly method?: string | undefined;
  readonly url?: string | undefined;
  /** Names and values in turn; on HTTP/2 with the pseudo-fields. */
  readonly rawHeaders: readonly string[];
}

export function factsFromNodeRequest(
  request: NodeRequest,
  options: { readonly forwardedHostTrusted?: boolean } = {},
): RequestFacts {
  const headers: (readonly [string, string])[] = [];
  let authority: string | undefined;
  for (let index = 0; index + 1 < request.rawHeaders.length; index += 2) {
    const name = request.rawHeaders[index] ?? '';
    const value = request.rawHeaders[index + 1] ?? '';
    if (name === ':authority') authority = value;
    if (!name.startsWith(':')) headers.push([name, value]);
  }
  return {
    method: request.method ?? '',
    target: request.url ?? '',
    authority,
    headers,
    forwardedHostTrusted: options.forwardedHostTrusted ?? false,
  };
}

/** Accepted spellings of the authorities that this service answers for, each with the one that is signed. */
export type AuthoritySet = ReadonlyMap<string, string>;

/**
 * Makes the set from the public URLs of the service. A proxy that ends TLS hides the scheme from us, so the
 * default port is dropped by the scheme of the *configured* URL: `https://cp.example.com` accepts
 * `cp.example.com` and `cp.example.com:443`, and not `:80`. Host names are compared in lower case,
 * international ones in their ASCII form.
 */
export function authoritySet(publicUrls: Iterable<string | URL>): AuthoritySet {
  const authorities = new Map<string, string>();
  for (const publicUrl of publicUrls) {
    const url = new URL(publicUrl);
    if (url.protocol !== 'http:' && url.protocol !== 'https:') {
      throw new RangeError(`public URL ${url.href} is neither http nor https`);
    }
    authorities.set(url.host, url.host);
    if (url.port === '') authorities.set(`${url.host}:${url.protocol === 'https:' ? 443 : 80}`, url.host);
  }
  return authorities;
}
