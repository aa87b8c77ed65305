/**
 * Domain names in the one form in which they are stored and compared: lower case, ASCII, without the dot of
 * the root.
 */
import { isIP } from 'node:net';
import { domainToASCII } from 'node:url';

const CHALLENGE = '_svc-challenge.';
/** A name of the DNS has 253 characters, and that of the record must be one. */
export const DOMAIN_CHARS_MAX = 253 - CHALLENGE.length;
const LABEL = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/;

export type ParsedDomain = { readonly domain: string } | { readonly problem: string };

/**
 * Names of one label are refused. Other public suffixes (`co.uk`) are not known here: no list of them is
 * kept, because whoever proves one has the records of its zone, and the nearest verified domain counts for
 * names below it.
 */
export function parseDomain(text: string): ParsedDomain {
  if (/[\s/:@?#%\\[\]]/.test(text))
    return { problem: 'expected a domain name alone, without scheme, port, path or spaces' };
  if (text.includes('*'))
    return { problem: 'expected a name without *, the names below a domain are covered by it' };
  const domain = domainToASCII(text).replace(/\.$/, '');
  if (domain === '') return { problem: 'it is no valid domain name' };
  if (isIP(domain) !== 0) return { problem: `${domain} is an IP address, expected a domain name` };
  if (domain.length > DOMAIN_CHARS_MAX)
    return {
      problem: `it has ${domain.length} characters in ASCII, at most ${DOMAIN_CHARS_MAX} are allowed: the name of the record is longer`,
    };
  const labels = domain.split('.');
  const bad = labels.find((label) => !LABEL.test(label));
  if (bad !== undefined)
    return {
      problem: `its label "${bad}" must have 1 to 63 letters, digits and dashes, no dash first or last`,
    };
  if (labels.length < 2)
    return { problem: `"${domain}" is a single label, expected at least two: example.com` };
  return { domain };
}

/** Gives the name under which the TXT record of the proof stands. */
export function recordName(domain: string): string {
  return `${CHALLENGE}${domain}`;
}

/** Returns names: the domain is the first, and those above it follow, nearest first. */
export function withParents(domain: string): readonly string[] {
  const labels = domain.split('.');
  return labels.map((_label, n) => labels.slice(n).join('.'));
}
