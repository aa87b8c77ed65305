/**
 * Addresses that people come back to from the provider's pages. A text is judged as it stands, because it is
 * sent as it stands: parsers take `https:evil.example` and `https:\\evil.example\@app…` for addresses of
 * evil.example, and printing a parsed address again would encode the `{CHECKOUT_SESSION_ID}` that the
 * provider fills in.
 */
import { validationError } from '@svc/proto/http/json-text.ts';

const LENGTH_MAX = 2_048;
const FORM = /^https?:\/\/[A-Za-z0-9.:[\]-]+([/?#][\x21-\x7e]*)?$/;
const LOOPBACK: readonly string[] = ['localhost', '127.0.0.1', '[::1]'];

/** Returns undefined for an address that people may be sent to. */
export function redirectProblem(given: string, origins: ReadonlySet<string>): string | undefined {
  if (given.length > LENGTH_MAX) return `has ${given.length} characters, at most ${LENGTH_MAX} are allowed`;
  if (/[\\@]/.test(given)) return 'holds `\\` or `@`, which no address to come back to may';
  if (!FORM.test(given)) return 'is no address such as https://app.example.com/billing';
  const url = parsed(given);
  if (url === undefined) return 'is no address such as https://app.example.com/billing';
  if (url.protocol === 'http:' && !LOOPBACK.includes(url.hostname))
    return 'is not encrypted: `http://` is for loopback alone';
  return origins.has(url.origin)
    ? undefined
    : `leads to ${url.origin}, which is neither in PUBLIC_URLS nor in BILLING_RETURN_ORIGINS`;
}

function parsed(given: string): URL | undefined {
  try {
    return new URL(given);
  } catch {
    return undefined; // A port that is none, or brackets around no address.
  }
}

export type CheckRedirects = (fields: Readonly<Record<string, string>>) => void;

/** Throws `validation_failed` with each field that may not be gone to. */
export function createRedirectCheck(origins: () => readonly string[]): CheckRedirects {
  return (fields) => {
    const allowed = new Set(origins().map((each) => new URL(each).origin));
    const wrong = Object.entries(fields).flatMap(([field, given]) => {
      const problem = redirectProblem(given, allowed);
      return problem === undefined ? [] : [{ field, rule: 'redirect', message: problem }];
    });
    if (wrong.length > 0) throw validationError(wrong);
  };
}
