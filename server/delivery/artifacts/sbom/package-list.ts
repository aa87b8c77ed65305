/**
 * Documents of all formats come to packages with canonical purls, in the order of these. What is stated of
 * one purl otherwise a second time is kept as well, so that what comes first hides nothing. What has no
 * usable name is dropped and counted.
 */
import { formatPurl, fullName, nameKey, parsePurl, type Purl } from '@svc/proto/packages/purl.ts';

export interface SbomPackage {
  readonly type: string;
  /** As its ecosystem writes it: `@scope/name`, `group:artifact`, a module's path, the bare name. */
  readonly name: string;
  /** The version is empty where it is not known. */
  readonly version: string;
  /** Canonical. */
  readonly purl: string;
  readonly nameKey: string;
  /** Source package from which a package of deb or apk was built, in lower case. */
  readonly sourceKey: string | null;
  /** Identifiers and expressions of SPDX, or any other text. */
  readonly licenses: readonly string[];
}

/** A component as a document states it: nothing of it is checked. */
export interface Candidate {
  readonly purls: readonly unknown[];
  readonly name: unknown;
  readonly version: unknown;
  readonly source: unknown;
  readonly licenses: readonly unknown[];
}

export interface PackageList {
  readonly packages: readonly SbomPackage[];
  readonly dropped: number;
  readonly doubles: number;
  readonly incomplete: readonly string[];
}

/** Licences that are kept of a package. */
export const LICENSES_MAX = 20;
const TEXT_CHARS_MAX = 200;
/** Expressions may be long, and what is cut off would be hidden. */
const LICENSE_TEXT_CHARS_MAX = 1_000;
const INCOMPLETE_MAX = 20;
/**
 * Characters of licences that are kept of a document. SPDX 3.0 names a licence once and refers to it from any
 * number of packages, so a small document can hold a lot of text.
 */
const LICENSE_CHARS_MAX = 8 * 1024 * 1024;
/** The database takes no U+0000 and no half of a surrogate pair, and people are shown none of these. */
const UNUSABLE = /[\p{Cc}\p{Cs}]/u;
const UNUSABLE_OR_SPACE = /[\p{Cc}\p{Cs}\s]+/gu;
/** SPDX writes these where it knows of no licence. */
const NO_LICENSE: ReadonlySet<string> = new Set(['', 'NOASSERTION', 'NONE']);

export function listPackages(
  candidates: Iterable<Candidate>,
  incomplete: Iterable<unknown> = [],
): PackageList {
  const found = new Map<string, SbomPackage>();
  const reasons = new Set<string>();
  let dropped = 0;
  let doubles = 0;
  let licenseChars = 0;
  for (const candidate of candidates) {
    const named = purlOf(candidate);
    const canonical = named === undefined ? '' : formatPurl(named);
    // What is canonical may be longer than what was stated, and too long.
    const purl = parsePurl(canonical);
    if (purl === undefined) {
      dropped += 1;
      continue;
    }
    const stated = { ...toPackage(purl, candidate), purl: canonical };
    for (const reason of cutLicenses(candidate)) reasons.add(reason);
    const isTooMuch = licenseChars + charsOf(stated) > LICENSE_CHARS_MAX;
    if (isTooMuch) reasons.add(`licences past ${LICENSE_CHARS_MAX} characters were left out`);
    const kept = isTooMuch ? { ...stated, licenses: [] } : stated;
    const claim = claimOf(kept);
    if (found.has(claim)) doubles += 1;
    else {
      licenseChars += charsOf(kept);
      found.set(claim, kept);
    }
  }
  for (const reason of incomplete) {
    if (reasons.size >= INCOMPLETE_MAX) break;
    const text = shortText(reason);
    if (text !== '') reasons.add(text);
  }
  const packages = inOrder([...found.values()]);
  return { packages, dropped, doubles, incomplete: [...reasons] };
}

/**
 * All that is stated of a package: what else stands in it follows from its purl. No part of it has a line
 * feed.
 */
export const claimOf = ({ purl, sourceKey, licenses }: SbomPackage): string =>
  [purl, sourceKey ?? '', licenses.join('\n')].join('\n');

const charsOf = ({ licenses }: SbomPackage): number => licenses.reduce((sum, { length }) => sum + length, 0);

/** Sorts by purl, and what is stated of the same one by that. */
export function inOrder(packages: readonly SbomPackage[]): readonly SbomPackage[] {
  return packages.toSorted((a, b) =>
    a.purl === b.purl ? (claimOf(a) < claimOf(b) ? -1 : 1) : a.purl < b.purl ? -1 : 1,
  );
}

/** It is the first valid purl; without one, the name makes a generic one, with the version that is stated. */
function purlOf({ purls, name, version }: Candidate): Purl | undefined {
  const texts = [name, version, ...purls].filter((text) => typeof text === 'string');
  if (texts.some((text) => UNUSABLE.test(text))) return undefined;
  const number = typeof version === 'string' ? version.trim() : '';
  for (const text of purls) {
    const purl = typeof text === 'string' ? parsePurl(text) : undefined;
    if (purl !== undefined) return number === '' ? purl : { version: number, ...purl };
  }
  const bare = typeof name === 'string' ? name.trim() : '';
  if (bare === '') return undefined;
  return { type: 'generic', name: bare, ...(number !== '' && { version: number }) };
}

function toPackage(purl: Purl, { source, licenses }: Candidate): Omit<SbomPackage, 'purl'> {
  const { type, version = '' } = purl;
  return {
    type,
    name: fullName(purl),
    version,
    nameKey: nameKey(purl),
    sourceKey: sourceKey(purl, source),
    licenses: distinctLicenses(licenses),
  };
}

function sourceKey({ type, qualifiers }: Purl, stated: unknown): string | null {
  if (type !== 'deb' && type !== 'apk') return null;
  const source = shortText(qualifiers?.['upstream'] ?? qualifiers?.['source'] ?? stated);
  // A purl has `openssl@3.0.11`, and the status file of dpkg `openssl (3.0.11)`.
  const [name = ''] = source.split(/[@ (]/, 1);
  return name === '' ? null : name.toLowerCase();
}

function distinctLicenses(licenses: readonly unknown[]): readonly string[] {
  const found = new Set<string>();
  for (const license of licenses) {
    if (found.size >= LICENSES_MAX) break;
    const text = shortText(license, LICENSE_TEXT_CHARS_MAX);
    if (!NO_LICENSE.has(text)) found.add(text);
  }
  return [...found];
}

function* cutLicenses({ licenses }: Candidate): Generator<string> {
  if (licenses.length > LICENSES_MAX) yield `licences of a package past ${LICENSES_MAX} were left out`;
  if (licenses.some((each) => typeof each === 'string' && each.length > LICENSE_TEXT_CHARS_MAX))
    yield `a licence was cut behind ${LICENSE_TEXT_CHARS_MAX} characters`;
}

function shortText(value: unknown, charsMax = TEXT_CHARS_MAX): string {
  if (typeof value !== 'string') return '';
  return value.slice(0, charsMax).replace(UNUSABLE_OR_SPACE, ' ').trim();
}
