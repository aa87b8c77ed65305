/**
 * Package URLs: the name of a package across ecosystems, as https://github.com/package-url/purl-spec has it.
 *
 * Two rules of the specification are left out on purpose: it lower-cases the names of `npm` and `golang`,
 * where case tells packages apart (`JSONStream` is not `jsonstream`) and databases of vulnerabilities keep
 * it. `nameKey` finds both spellings.
 */

export interface Purl {
  readonly type: string;
  readonly namespace?: string;
  readonly name: string;
  readonly version?: string;
  readonly qualifiers?: Readonly<Record<string, string>>;
  readonly subpath?: string;
}

/** The limit is in characters; the specification has none. */
export const PURL_LENGTH_MAX = 2_000;
const TYPE = /^[a-z][a-z0-9.-]*$/;
/** `__proto__` is none, because a key begins with a letter. */
const KEY = /^[a-z][a-z0-9._-]*$/;
/**
 * Controls, marks that turn the direction of writing, halves of a character: nobody can tell such a name from
 * another one by looking at it.
 */
const UNREADABLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u;
/** Types whose namespace and name are the same in upper and lower case. */
const CASELESS = new Set('alpm apk bitbucket composer deb github gitlab hex oci pub pypi'.split(' '));

const utf8 = new TextEncoder();

/** It returns the parts in canonical spelling, or undefined for a text that is not a valid purl. */
export function parsePurl(text: string): Purl | undefined {
  if (text.length > PURL_LENGTH_MAX) return undefined;
  const [withQualifiers, subpathText] = splitAtLast(text, '#');
  const [path, qualifiersText] = splitAtLast(withQualifiers, '?');
  const [, typeText = '', rest = ''] = /^pkg:\/*([^/]+)\/(.*)$/is.exec(path) ?? [];
  const type = typeText.toLowerCase();
  if (!TYPE.test(type)) return undefined;
  const [names, versionText] = splitVersion(type, rest);
  const segments = names.split('/').filter((segment) => segment !== '');
  const [name, ...namespace] = segments.map(decoded).toReversed();
  const version = versionText === undefined ? undefined : decoded(versionText);
  const qualifiers = parseQualifiers(qualifiersText ?? '');
  const parts = (subpathText ?? '').split('/').map(decoded);
  const subpath = segmentsOf(parts.join('/')).join('/');
  if (name === undefined || qualifiers === undefined || parts.includes(undefined)) return undefined;
  if (versionText !== undefined && !version) return undefined;
  if ([name, ...namespace].some((segment) => segment === undefined || segment === '.' || segment === '..'))
    return undefined;
  if ([...namespace, ...parts].some((segment) => segment?.includes('/') === true)) return undefined;
  return canonical({
    type,
    name,
    ...(namespace.length === 0 ? {} : { namespace: namespace.toReversed().join('/') }),
    ...(version === undefined ? {} : { version }),
    ...(Object.keys(qualifiers).length === 0 ? {} : { qualifiers }),
    ...(subpath === '' ? {} : { subpath }),
  });
}

/**
 * This prints the canonical spelling. It checks nothing: whoever has parts of unknown origin reads the result
 * again with `parsePurl`.
 */
export function formatPurl(purl: Purl): string {
  const { type, namespace = '', name, version = '', qualifiers = {}, subpath = '' } = canonical(purl);
  const pairs = Object.entries(qualifiers)
    .filter(([, value]) => value !== '')
    .map(([key, value]) => `${key.toLowerCase()}=${encoded(value)}`)
    .sort();
  return [
    `pkg:${type}/`,
    namespace === '' ? '' : `${segmentsOf(namespace).map(encoded).join('/')}/`,
    encoded(name),
    version === '' ? '' : `@${encoded(version)}`,
    pairs.length === 0 ? '' : `?${pairs.join('&')}`,
    subpath === '' ? '' : `#${segmentsOf(subpath).map(encoded).join('/')}`,
  ].join('');
}

/**
 * Makes the purl of an image from its digest; `repository` is its name with its registry and without a tag.
 * The examples of type `oci` in the specification encode the colon of the digest, and so do the tools that
 * read such a purl.
 */
export function imagePurl(repository: string, digest: string, tag = ''): string {
  const name = repository.slice(repository.lastIndexOf('/') + 1);
  const purl = formatPurl({
    type: 'oci',
    name,
    version: digest,
    qualifiers: { repository_url: repository, tag },
  });
  return purl.replace('@sha256:', '@sha256%3A');
}

/**
 * The name as its own ecosystem writes it: `@scope/name`, `group:artifact`, a module's path, or the bare
 * name.
 */
export function fullName({ type, namespace, name }: Pick<Purl, 'type' | 'namespace' | 'name'>): string {
  if (namespace === undefined || namespace === '') return name;
  if (type === 'npm' || type === 'golang') return `${namespace}/${name}`;
  return type === 'maven' ? `${namespace}:${name}` : name;
}

/** The text by which people search for the package, in lower case. */
export function nameKey(purl: Pick<Purl, 'type' | 'namespace' | 'name'>): string {
  return fullName(canonical(purl)).toLowerCase();
}

function canonical<T extends Pick<Purl, 'type' | 'namespace' | 'name'>>(purl: T): T {
  const type = purl.type.toLowerCase();
  const spelled = (text: string) => (CASELESS.has(type) ? text.toLowerCase() : text);
  const name = spelled(purl.name);
  return {
    ...purl,
    type,
    name: type === 'pypi' ? name.replaceAll(/[-_.]+/g, '-') : name,
    ...(purl.namespace === undefined ? {} : { namespace: spelled(purl.namespace) }),
  };
}

/** A scope may stand with its `@` as it is; elsewhere the last `@` begins the version. */
function splitVersion(type: string, rest: string): [names: string, version?: string] {
  const at = rest.lastIndexOf('@');
  const isScope = type === 'npm' && (at === 0 || rest[at - 1] === '/') && rest.includes('/', at);
  return at < 0 || isScope ? [rest] : [rest.slice(0, at), rest.slice(at + 1)];
}

function parseQualifiers(text: string): Record<string, string> | undefined {
  const found = new Map<string, string>();
  for (const pair of text === '' ? [] : text.split('&')) {
    const equals = pair.indexOf('=');
    const key = pair.slice(0, Math.max(equals, 0)).toLowerCase();
    const value = decoded(pair.slice(equals + 1));
    if (!KEY.test(key) || value === undefined || found.has(key)) return undefined;
    found.set(key, value);
  }
  return Object.fromEntries([...found].filter(([, value]) => value !== ''));
}

function splitAtLast(text: string, separator: string): [before: string, after?: string] {
  const at = text.lastIndexOf(separator);
  return at < 0 ? [text] : [text.slice(0, at), text.slice(at + 1)];
}

function segmentsOf(path: string): string[] {
  return path.split('/').filter((segment) => !['', '.', '..'].includes(segment));
}

function decoded(text: string): string | undefined {
  try {
    const plain = decodeURIComponent(text);
    return UNREADABLE.test(plain) ? undefined : plain;
  } catch {
    return undefined; // A percent sign that begins no UTF-8.
  }
}

/** All but these characters is encoded; the colon stays as it is. */
function encoded(text: string): string {
  return text.replaceAll(/[^A-Za-z0-9.\-_~:]+/g, (part) =>
    Array.from(utf8.encode(part), (byte) => `%${byte.toString(16).padStart(2, '0').toUpperCase()}`).join(''),
  );
}
