/**
 * The normal form is what a line has in common with the same line of another commit, machine or team. What
 * differs is replaced, and with it what may be secret: addresses, tokens, values of secrets. Codes stay,
 * because they are the cause. Each expression costs no more than the length of its line, which is cut first.
 */

/** Characters of a line. */
const LINE_MAX = 400;

/** Digits that stay are kept as these while the others are replaced; a text that holds some loses them. */
const KEPT_FIRST = 0xe000;
const KEPT = /[\uE000-\uE009]/g;
/** Half of a character, which the cut may leave. */
const LONE = /[\ud800-\udfff]/gu;
const keep = (text: string): string =>
  text.replace(/\d/g, (digit) => String.fromCharCode(KEPT_FIRST + Number(digit)));

const SECRET_WORD =
  'passw(?:or)?d|passwd|passphrase|pwd|secret|token|api[_-]?key|access[_-]?key|private[_-]?key|credentials?|authorization|cookie|signature';

type Replacement = readonly [pattern: RegExp, by: string | ((...found: string[]) => string)];

const REPLACEMENTS: readonly Replacement[] = [
  // Possible secrets are replaced first, whole.
  [/\b(Bearer|Basic|Digest|Token) [\w.~+/=-]{6,}/gi, '$1 <secret>'],
  [
    new RegExp(
      `(${SECRET_WORD})([\\w-]{0,40}["']?)\\s{0,3}(?:=>|[:=])\\s{0,3}(?:"[^"]*"?|'[^']*'?|\\S+)`,
      'gi',
    ),
    '$1$2=<secret>',
  ],
  [new RegExp(`(--?(?:[a-z]{1,20}-)?(?:${SECRET_WORD})) (?:"[^"]*"?|'[^']*'?|\\S+)`, 'gi'), '$1 <secret>'],
  [/\b[a-z][a-z\d+.-]{1,20}:\/\/[^\s"'<>)\]]+/gi, '<url>'],
  [/(?<![\w.+-])[\w.+-]{1,64}@[A-Za-z\d-]{1,63}(?:\.[A-Za-z\d-]{1,63}){0,4}\.[A-Za-z]{2,24}\b/g, '<email>'],
  [/\b[\da-f]{2}-[\da-f]{32}-[\da-f]{16}-[\da-f]{2}\b/gi, '<trace>'],
  [/\b[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}\b/gi, '<uuid>'],
  [/\b[a-z]{2,6}_[\da-hjkmnp-tv-z]{26}\b/g, '<id>'],
  [/\bsha\d{1,3}-[A-Za-z\d+/]{20,100}={0,2}/g, '<hash>'],
  [/\b(?:sha\d{1,3}:)?[\da-f]{32,128}\b/gi, '<hash>'],
  [/\b\d{1,3}(?:\.\d{1,3}){3}(?::\d{1,5})?\b/g, '<ip>'],
  [/(?<![\w:])(?:[\da-f]{1,4}:){3,7}:?[\da-f]{1,4}(?![\w:])/gi, '<ip>'],
  [/\b\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:[.,]\d{1,9})?)?(?: ?(?:Z|UTC|[+-]\d\d:?\d\d))?)?/g, '<date>'],
  [/\b\d{1,2}:\d\d:\d\d(?:[.,]\d{1,9})?\b/g, '<time>'],
  [
    /(?<![\w.])\d{1,12}(?:\.\d{1,12})?\s?(?:ns|us|µs|ms|s|secs?|seconds?|m|mins?|minutes?|h|hours?)\b/g,
    '<duration>',
  ],
  [/(?<![\w.])\d{1,15}(?:\.\d{1,12})?\s?(?:[kKMGT]i?B|B|bytes)\b/g, '<size>'],
  [/\b0x[\da-f]+\b/gi, '<hex>'],
  [/\b[\da-f]{7,31}\b/gi, (word) => (/\d/.test(word) && /[a-f]/i.test(word) ? '<hex>' : word)],
  // Codes are kept: of tools, of programs that end, of HTTP.
  [/\b(?:utf|iso|sha|md|base|u?int|float|ipv|u|i|f)-?\d{1,4}(?:-\d{1,2})?\b/gi, keep],
  [/\b[A-Z]{1,8}-?\d{2,6}\b/g, keep],
  [
    /\b(?:exit(?:ed)?(?: with)?(?: code| status)?|status(?: code)?|code|signal|errno|returned|HTTP(?:\/[\d.]{1,4})?)[ :=]{1,3}\d{1,3}\b/gi,
    keep,
  ],
  [/\b[45]\d\d(?= [A-Z][a-z])/g, keep],
  [/(?<![\w.])v?\d{1,9}\.\d{1,9}\.\d{1,9}(?:[-+.][\w.+-]{0,60})?/g, '<version>'],
  // A name with its scope is no path, nor is one with the number of its arguments.
  [
    /(?<![\w./\\@+~$-])(?:[A-Za-z]:)?[\w.@+~$-]*(?:[\\/]+[\w.@+~$-]+)+[\\/]*/g,
    (path) =>
      /^@[\w-]+\/[\w.-]+$|^[A-Za-z_][\w.]*\/\d$/.test(path)
        ? path
        : `<path>${/\.[A-Za-z]\w{0,7}$/.exec(path)?.[0] ?? ''}`,
  ],
  [/=\s?(?:"[^"]*"|'[^']*')/g, '=<text>'],
  [/[A-Za-z\d+_=-]{20,}/g, (word) => (isRandom(word) ? '<token>' : word)],
  [/(?<!\w)\d\w*(?:[.,]\d\w*)*/g, '<n>'],
  [/\d{3,}/g, '<n>'],
];

/** The form has no line breaks, and no character that a database refuses. */
export function normalForm(line: string): string {
  let form = line
    .slice(0, LINE_MAX)
    .replace(KEPT, '')
    .replace(/[\p{Cc}\s]+/gu, ' ')
    .trim();
  for (const [pattern, by] of REPLACEMENTS)
    form = typeof by === 'string' ? form.replace(pattern, by) : form.replace(pattern, by);
  return form.replace(KEPT, (kept) => String(kept.charCodeAt(0) - KEPT_FIRST)).replace(LONE, '\ufffd');
}

/** Bits a character above which a word was drawn by chance. */
const RANDOM_BITS = 3.5;
/** Share of characters behind which capitals begin or end; names of classes stay below it. */
const RANDOM_CHANGES = 0.4;

/** A token has many different characters, with digits among them or with capitals anywhere. */
function isRandom(word: string): boolean {
  const counts = new Map<string, number>();
  let changes = 0;
  for (let at = 0; at < word.length; at += 1) {
    const sign = word.charAt(at);
    counts.set(sign, (counts.get(sign) ?? 0) + 1);
    if (at > 0 && isCapital(sign) !== isCapital(word.charAt(at - 1))) changes += 1;
  }
  let bits = 0;
  for (const count of counts.values()) bits -= (count / word.length) * Math.log2(count / word.length);
  if (bits <= RANDOM_BITS) return /^[A-Z\d]{20,}$/.test(word) && /\d/.test(word);
  return /\d/.test(word) || changes / word.length > RANDOM_CHANGES;
}

const isCapital = (sign: string): boolean => sign >= 'A' && sign <= 'Z';
