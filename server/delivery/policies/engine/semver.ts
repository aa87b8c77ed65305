/**
 * Versions in the order of Semantic Versioning 2.0. Taken as well: a `v` before it, fewer or more than three
 * numbers, and endings without a hyphen (`1.0rc1`, `5.3.0.Final`, `1.1.1k`), which are compared by their
 * letters and numbers. Versions of packages of distributions have an order of their own, which this is not.
 */

const CHARS_MAX = 200;
const VERSION = /^[v=]?\s*(\d{1,18}(?:\.\d{1,18})*)(.*)$/s;
const ENDING = /^[-._]?([\dA-Za-z]+(?:[-._][\dA-Za-z]+)*)$/;
/** These name the release itself. */
const RELEASE = /^(?:final|release|ga|jre\d*|android)$/i;
/** Behind the release: `1.0.post1`, and the letters of OpenSSL. */
const AFTER = /^(?:post|sp)[-._]?\d*$|^[a-z]$/i;

/**
 * A list, so that the same versions are equal: the numbers, whether it is before (-1) or behind (1) their
 * release, and the parts of its ending.
 */
export type Version = readonly [readonly bigint[], bigint, ReadonlyArray<bigint | string>];

/** Throws for what is no version. */
export function versionOf(text: string): Version {
  const [, numbers = '', end = ''] = VERSION.exec(text.slice(0, CHARS_MAX + 1).trim()) ?? [];
  const [ending = '', ...builds] = end.split('+');
  const [, parts] = ending === '' ? ['', ''] : (ENDING.exec(ending) ?? []);
  if (
    text.length > CHARS_MAX ||
    numbers === '' ||
    /^\d/.test(end) ||
    parts === undefined ||
    builds.length > 1
  )
    throw new Error(
      `"${text.slice(0, 100)}" is no version: semver() takes versions like 2.17.1 or 1.0.0-rc.1`,
    );
  const all = numbers.split('.').map(BigInt);
  while (all.length > 1 && all.at(-1) === 0n) all.pop();
  if (parts === '' || RELEASE.test(parts)) return [all, 0n, []];
  // Only behind a hyphen is it of Semantic Versioning, where "beta11" is one word.
  const words = ending.startsWith('-') ? parts.split('.') : (parts.match(/\d+|[A-Za-z]+/g) ?? []);
  const phase = !ending.startsWith('-') && AFTER.test(parts) ? 1n : -1n;
  return [all, phase, words.map((word) => (/^\d{1,18}$/.test(word) ? BigInt(word) : word))];
}

/** It is below 0 where the one version comes before the other. */
export function compareVersions(
  [numbers, phase, ending]: Version,
  [others, otherPhase, otherEnding]: Version,
): number {
  for (let at = 0; at < Math.max(numbers.length, others.length); at += 1) {
    const order = compare(numbers[at] ?? 0n, others[at] ?? 0n);
    if (order !== 0) return order;
  }
  if (phase !== otherPhase) return compare(phase, otherPhase);
  for (const [at, one] of ending.entries()) {
    const other = otherEnding[at];
    if (other === undefined) return 1;
    // Numbers come before words.
    if (typeof one !== typeof other) return typeof one === 'bigint' ? -1 : 1;
    const order = compare(one, other);
    if (order !== 0) return order;
  }
  return ending.length - otherEnding.length;
}

const compare = <T extends bigint | string>(one: T, other: T): number =>
  one < other ? -1 : one > other ? 1 : 0;
