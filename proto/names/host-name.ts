/**
 * Names under which deployed apps are reached, in the two forms in which they are stored and shown. Server
 * and runner read them by this grammar alone. `domainToASCII` of Node repairs what is no name (it drops a
 * path, decodes %65, makes an address of 127.1) and passes `a;b`, so that the raw text is refused before it
 * gets there, and its answer is checked after it.
 */
import { domainToASCII, domainToUnicode } from 'node:url';

export interface HostName {
  /** Lower case, punycode, no final dot; may begin with `*.`. */
  readonly ascii: string;
  /** The form for people; homoglyphs look alike in it, so it is shown beside the other one. */
  readonly unicode: string;
}
export type ParsedHostName = HostName | { readonly problem: string };

export interface HostNameRules {
  /** Names that nobody may take, with all below them: hosts of the service itself. */
  readonly reserved?: readonly string[];
  /** Lets `test` and `example*` through. */
  readonly allowTestDomains?: boolean;
}

const CHARS_MAX = 253;
/** The longest text that is read at all: each character of a name may be four escaped bytes elsewhere. */
const RAW_CHARS_MAX = 1_024;
const RAW = /^[\p{L}\p{M}\p{Nd}.-]+$/u;
const NAME = /^([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z]([a-z0-9-]{0,61}[a-z0-9])$/;
const WILDCARD = '*.';

/** No public authority issues for these, and resolvers answer them by rules of their own. */
const SPECIAL = ['localhost', 'local', 'internal', 'onion', 'arpa'];
const TEST_DOMAIN = /(^|\.)(test|example(\.[a-z]+)?)$/;

export function parseHostName(text: string, rules: HostNameRules = {}): ParsedHostName {
  if (text.length > RAW_CHARS_MAX) return { problem: `it is longer than ${CHARS_MAX} characters` };
  const isWildcard = text.startsWith(WILDCARD);
  const raw = isWildcard ? text.slice(WILDCARD.length) : text;
  if (!RAW.test(raw))
    return { problem: 'expected a name of letters, digits, dots and dashes, without scheme, port or path' };
  const lower = raw.toLowerCase().replace(/\.$/, '');
  const base = domainToASCII(lower);
  const problem = problemOf(base, lower);
  if (problem !== undefined) return { problem };
  const ascii = isWildcard ? WILDCARD + base : base;
  if (ascii.length > CHARS_MAX)
    return { problem: `it has ${ascii.length} characters in ASCII, at most ${CHARS_MAX} are allowed` };
  if (isReserved({ base, isWildcard }, rules)) return { problem: `"${ascii}" is a reserved name` };
  return { ascii, unicode: isWildcard ? WILDCARD + domainToUnicode(base) : domainToUnicode(base) };
}

/** Says whether the text is a name in the stored form: what a parser made of it, and nothing else. */
export function isHostName(text: string): boolean {
  const parsed = parseHostName(text, { allowTestDomains: true });
  return 'ascii' in parsed && parsed.ascii === text;
}

export function isWildcardName(name: string): boolean {
  return name.startsWith(WILDCARD);
}

function problemOf(base: string, lower: string): string | undefined {
  if (base === '') return 'it is no valid name';
  if (/^[0-9.]+$/.test(base)) return 'it is an IP address or a number, expected a name';
  if (!NAME.test(base))
    return 'each label must have 1 to 63 letters, digits and dashes, no dash first or last, and there must be two or more: app.example.com';
  // The answer has as many labels as the question, and reads back: else it was repaired.
  if (base.split('.').length !== lower.split('.').length) return 'it is no valid name';
  if (domainToASCII(domainToUnicode(base)) !== base) return 'its punycode does not decode to a name';
  return undefined;
}

function isReserved(
  { base, isWildcard }: { base: string; isWildcard: boolean },
  { reserved = [], allowTestDomains = false }: HostNameRules,
): boolean {
  if (!allowTestDomains && TEST_DOMAIN.test(base)) return true;
  return [...SPECIAL, ...reserved.map((name) => name.toLowerCase())].some(
    (name) =>
      base === name ||
      base.endsWith(`.${name}`) ||
      // A wildcard covers every name one label below its base.
      (isWildcard && name.slice(name.indexOf('.') + 1) === base),
  );
}
