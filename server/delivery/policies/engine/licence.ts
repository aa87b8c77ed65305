/**
 * Licences as lists of packages name them: expressions of SPDX in any case, full names, short forms of
 * distributions, and texts that are none of these. A text that is not understood as a whole stands for itself
 * and for each known licence that it names, all of which must be taken: it passes no rule by being unclear.
 */

/** As much as lists of packages keep of one; nothing is nested deeper than its text is long. */
const TEXT_CHARS_MAX = 1_000;
/** Texts that are kept as they were understood, in characters: each may become some hundred bytes. */
const KEPT_CHARS_MAX = 65_536;
const NAMES_MAX = 500;

type Node =
  | { readonly all: readonly Node[] }
  | { readonly any: readonly Node[] }
  /** The id is in lower case; `with <exception>` stands behind it where there is one. */
  | { readonly id: string; readonly exception: string };

/**
 * Tells whether what is licensed by all of the texts can be used under the names alone: of what `OR` joins it
 * is enough that one can. The last name that matches decides; what none matches is taken if the first name
 * excludes. Without a text nothing is asserted.
 */
export function isLicensed(texts: readonly unknown[], names: readonly unknown[]): boolean {
  const wanted = namesOf(names);
  return (texts.length === 0 ? ['NOASSERTION'] : texts).every((text) => isTaken(nodeOf(text), wanted));
}

interface Name {
  readonly isExcluded: boolean;
  readonly id: string;
  /** A `*` at its end. */
  readonly isBeginning: boolean;
}

/** These are the names of the call before: a rule asks the same for each package. */
let last: { readonly texts: readonly unknown[]; readonly names: readonly Name[] } = { texts: [], names: [] };

function namesOf(names: readonly unknown[]): readonly Name[] {
  if (names.length === 0 || names.length > NAMES_MAX)
    throw new Error(`licence() is given ${names.length} names of licences, expected 1 to ${NAMES_MAX}`);
  const isSame = names.length === last.texts.length && names.every((name, at) => name === last.texts[at]);
  if (!isSame) last = { texts: names, names: names.map((name) => nameOf(textOf(name))) };
  return last.names;
}

function nameOf(text: string): Name {
  const [, not = '', bare = '', star = ''] = /^(!?)\s*([^*!]*)(\*?)$/.exec(text.trim()) ?? [];
  if (bare === '' && star === '')
    throw new Error(`"${text}" names no licence: an identifier, a beginning with "*", or "!" before these`);
  return {
    isExcluded: not !== '',
    id: star === '' ? idOf(bare) : bare.toLowerCase(),
    isBeginning: star !== '',
  };
}

function textOf(value: unknown): string {
  if (typeof value !== 'string') throw new Error(`licence() takes texts, not a ${typeof value}`);
  if (value.length <= TEXT_CHARS_MAX) return value;
  throw new Error(`a licence of ${value.length} characters is too long: ${TEXT_CHARS_MAX} are the limit`);
}

function isTaken(node: Node, names: readonly Name[]): boolean {
  if ('all' in node) return node.all.every((each) => isTaken(each, names));
  if ('any' in node) return node.any.some((each) => isTaken(each, names));
  const { id, exception } = node;
  const written = exception === '' ? [id] : [id, `${id} with ${exception}`];
  const decides = names.findLast((name) =>
    written.some((each) => (name.isBeginning ? each.startsWith(name.id) : each === name.id)),
  );
  return decides === undefined ? names[0]?.isExcluded === true : !decides.isExcluded;
}

const kept = new Map<string, Node>();
let keptChars = 0;

function nodeOf(value: unknown): Node {
  const text = textOf(value);
  const known = kept.get(text);
  if (known !== undefined) return known;
  const whole = isJoined(text) ? undefined : licencesIn(text);
  const node = (whole?.isWhole === true ? undefined : read(text)) ?? allOf(whole ?? licencesIn(text));
  keptChars += text.length;
  if (keptChars > KEPT_CHARS_MAX) {
    kept.clear();
    keptChars = text.length;
  }
  kept.set(text, node);
  return node;
}

/**
 * Its words stand for more than one licence: some names have "or" and "and" in them, and these hold a word of
 * the second list.
 */
const isJoined = (text: string): boolean =>
  /\s(?:and|or|with)\s/i.test(text) && !/later|newer|lesser|library|distribution|revised/i.test(text);

const allOf = ({ ids }: Named, exception = ''): Node => ({ all: ids.map((id) => ({ id, exception })) });

/** Part of a name, and no choice. */
const LATER = /[\s,]+or\s+(?:\(?at your option\)?,?\s+)?(?:any\s+)?(?:later|newer)(?:\s+versions?)?\b/gi;
/** It is looked for by its words first. */
function withLater(text: string): string {
  return /later|newer/i.test(text) ? text.replace(LATER, '-or-later') : text;
}

const TOKENS = /[()]|[^\s()]+/g;
/** `MIT/Apache-2.0`, as packages of Rust had it; no address. */
const SLASH = /^[\w.+-]+(?:\/[\w.+-]+)+$/;
const OPERATORS: ReadonlyMap<string, string> = new Map([
  ['and', 'and'],
  ['&', 'and'],
  ['or', 'or'],
  ['|', 'or'],
  ['/', 'or'],
  ['with', 'with'],
]);

/** An expression of identifiers and names. Undefined: it is none. */
function read(text: string): Node | undefined {
  const tokens = (withLater(text).match(TOKENS) ?? []).flatMap((token) =>
    token.includes('/') && SLASH.test(token)
      ? token.split('/').flatMap((part, at) => (at === 0 ? [part] : ['/', part]))
      : [token],
  );
  const operators = tokens.map((token) =>
    token.length > 4 ? undefined : OPERATORS.get(token.toLowerCase()),
  );
  let at = 0;
  const operator = (): string | undefined => operators[at];
  const words = (): string => {
    const from = at;
    const isWord = (): boolean => operator() === undefined && tokens[at] !== '(' && tokens[at] !== ')';
    while (at < tokens.length && isWord()) at += 1;
    return tokens.slice(from, at).join(' ');
  };
  const one = (): Node | undefined => {
    if (tokens[at] === '(') {
      at += 1;
      const inner = joined('or');
      if (tokens[at] !== ')') return undefined;
      at += 1;
      return inner;
    }
    const name = words();
    if (name === '') return undefined;
    if (operator() !== 'with') return allOf(licencesIn(name));
    at += 1;
    const exception = words();
    return exception === '' ? undefined : allOf(licencesIn(name), exception.toLowerCase());
  };
  const joined = (by: 'and' | 'or'): Node | undefined => {
    const nodes: Node[] = [];
    do {
      if (nodes.length > 0) at += 1;
      const node = by === 'or' ? joined('and') : one();
      if (node === undefined) return undefined;
      nodes.push(node);
    } while (operator() === by);
    return by === 'or' ? { any: nodes } : { all: nodes };
  };
  const node = joined('or');
  return at === tokens.length ? node : undefined;
}

/** `GPLv2+`, `AGPL-3.0`, `LGPL-2.1-or-later`. */
const GNU_ID = /^(agpl|lgpl|gpl|gfdl)[-_]?v?(\d+)?((?:\.\d+)*)(\+|-or-later|-only|)$/;
/** Whoever names no version of theirs leaves the choice of any that there is. */
const FIRST: Readonly<Record<string, string>> = { agpl: '1.0', lgpl: '2.0', gpl: '1.0', gfdl: '1.1' };
const SHORT: ReadonlyMap<string, string> = new Map([
  ['expat', 'mit'],
  ['apache2', 'apache-2.0'],
  ['apache-2', 'apache-2.0'],
  ['mpl2', 'mpl-2.0'],
  ['mpl-2', 'mpl-2.0'],
]);

/** The id is that of one word. */
function idOf(word: string): string {
  const lower = word.trim().toLowerCase();
  const [, family, major, minor = '', end = ''] = GNU_ID.exec(lower) ?? [];
  if (family === undefined) return SHORT.get(lower) ?? lower;
  return gnuId(family, major && `${major}${minor}`, /^(?:\+|-or-later)$/.test(end));
}

function gnuId(family: string, version: string | undefined, isLater: boolean): string {
  if (version === undefined) return `${family}-${FIRST[family]}-or-later`;
  const full = version.includes('.') ? version : `${version}.0`;
  return `${family}-${full}-${isLater ? 'or-later' : 'only'}`;
}

type Id = (version: string | undefined, isLater: boolean) => string;

const gnu =
  (family: string): Id =>
  (...given) =>
    gnuId(family, ...given);
const versioned =
  (family: string, usual: string): Id =>
  (version = usual) =>
    `${family}-${version.includes('.') ? version : `${version}.0`}`;
const LESSER =
  /\b(?:gnu )?(?:lesser|library)(?: or (?:lesser|library))? (?:general public|gpl)\b|\blgpl(?!l)(?: ?v?(?=\d))?/g;
const GPL = /\b(?:gnu )?general public\b|\bgnu (?:gpl|public)\b|\bgpl(?: ?v?(?=\d))?/g;
const CDDL = /\bcommon development and distribution\b|\bcddl\b/g;
const BSD_2 = /\b(?:simplified|freebsd) bsd\b|\bbsd 2 clause(?: simplified)?\b|\b2 clause bsd\b/g;
const BSD_3 = /\b(?:new|modified|revised) bsd\b|\bbsd 3 clause(?: new or revised)?\b|\b3 clause bsd\b/g;

/**
 * Families by which a name is recognised; a longer name stands before one that it contains. Whatever a
 * pattern finds has one of its words, and to look for a word costs a fraction of the pattern. The version is
 * that of the text.
 */
const FAMILIES: ReadonlyArray<readonly [words: readonly string[], pattern: RegExp, id: Id]> = [
  [['affero', 'agpl'], /\b(?:gnu )?affero(?: (?:general public|gpl))?\b|\bagpl(?: ?v?(?=\d))?/g, gnu('agpl')],
  [['lesser', 'library', 'lgpl'], LESSER, gnu('lgpl')],
  [['free documentation', 'gfdl'], /\b(?:gnu )?free documentation\b|\bgfdl\b/g, gnu('gfdl')],
  [['general public', 'gnu gpl', 'gnu public', 'gpl'], GPL, gnu('gpl')],
  [['apache', 'asl'], /\bapache(?: software)?\b|\basl\b/g, versioned('apache', '2.0')],
  [['mozilla public', 'mpl'], /\bmozilla public\b|\bmpl\b/g, versioned('mpl', '2.0')],
  [['eclipse public', 'epl'], /\beclipse public\b|\bepl\b/g, versioned('epl', '1.0')],
  [['european union public', 'eupl'], /\beuropean union public\b|\beupl\b/g, versioned('eupl', '1.2')],
  [['common development and distribution', 'cddl'], CDDL, versioned('cddl', '1.0')],
  [['server side public', 'sspl'], /\bserver side public\b|\bsspl\b/g, () => 'sspl-1.0'],
  [['business source', 'busl'], /\bbusiness source\b|\bbusl\b/g, () => 'busl-1.1'],
  [['elastic'], /\belastic\b/g, versioned('elastic', '2.0')],
  [['boost'], /\bboost(?: software)?\b/g, () => 'bsl-1.0'],
  [['bsd'], /\bbsd (?:zero clause|0 clause)\b/g, () => '0bsd'],
  [['bsd'], BSD_2, () => 'bsd-2-clause'],
  [['bsd'], BSD_3, () => 'bsd-3-clause'],
  [['mit', 'expat'], /\bmit\b|\bexpat\b/g, () => 'mit'],
  [['isc'], /\bisc\b/g, () => 'isc'],
];
/** Says nothing of which licence it is. */
const NOISE =
  /\b(?:the|gnu|osi|approved|licen[cs]ed?|versions?|v|only|software|foundation|inc|or later|under|terms of)\b|\bv?\d+(?:\.\d+)*\+?/g;
/** One word that may hold names, and is no identifier of SPDX. */
const HOLDER = /[^\w.+-]|^licenseref-|^(?!.*-with-).*(?:gpl|affero)/i;

interface Named {
  /** The known licences that a name stands for, and the name itself where that is not all of it. */
  readonly ids: readonly string[];
  readonly isWhole: boolean;
}

/** Names as they were understood: the same few are in most expressions. */
const named = new Map<string, Named>();
const NAMED_MAX = 2_000;
const NAMED_CHARS_MAX = 64;

function licencesIn(name: string): Named {
  const known = named.get(name);
  if (known !== undefined) return known;
  const found = findIn(name);
  if (named.size >= NAMED_MAX) named.clear();
  // A long text hardly comes again.
  if (name.length <= NAMED_CHARS_MAX) named.set(name, found);
  return found;
}

const versionIn = (plain: string): string | undefined =>
  /\d+(?:\.\d+)*/.exec(plain.includes(' clause') ? plain.replace(/\b\d clause\b/g, '') : plain)?.[0];

function findIn(name: string): Named {
  const isWord = !/\s/.test(name.trim()) && !HOLDER.test(name);
  if (isWord || GNU_ID.test(name.trim().toLowerCase())) return { ids: [idOf(name)], isWhole: true };
  const plain = withLater(name)
    .toLowerCase()
    .replace(/[^\w.+]+/g, ' ')
    .trim();
  const version = /\d/.test(plain) ? versionIn(plain) : undefined;
  const isLater = /\bor later\b|\d\+/.test(plain);
  let rest = plain;
  const ids = FAMILIES.flatMap(([words, pattern, id]) => {
    if (!words.some((word) => rest.includes(word))) return [];
    const without = rest.replace(pattern, ' ');
    if (without === rest) return [];
    rest = without;
    return [id(version, isLater)];
  });
  const isWhole = ids.length === 1 && rest.replace(NOISE, ' ').trim() === '';
  return { ids: isWhole ? ids : [...ids, name.trim().toLowerCase()], isWhole };
}
