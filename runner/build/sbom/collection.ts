/**
 * Gathers findings within bounds and names them in full once the distribution is known, which may come last
 * in the stream.
 */
import { setImmediate } from 'node:timers/promises';
import { formatPurl, fullName, parsePurl, PURL_LENGTH_MAX, type Purl } from '@svc/proto/packages/purl.ts';
import { isReadable, madeReadable, type Finding, type Findings } from './finding.ts';
import type { OperatingSystem } from './system-packages.ts';

const PACKAGES_MAX = 50_000;
const UNREAD_MAX = 100;
/** After so many findings, some milliseconds of work, others have their turn. */
const TURN = 1_000;
const LICENSES_MAX = 20;
/** Vendors of packages in an image that does not name its distribution. */
const VENDORS: ReadonlyMap<string, string> = new Map([
  ['deb', 'debian'],
  ['apk', 'alpine'],
]);

export interface FoundPackage {
  readonly purl: string;
  /** As its ecosystem writes it, such as `@scope/name`. */
  readonly name: string;
  /** Empty where a buildpack's document names none. */
  readonly version: string;
  readonly licenses: readonly string[];
  /** Name of the source package, of deb and apk. */
  readonly source?: string;
}

export interface Catalogue {
  /** Sorted by purl. What two places of the image say otherwise of one purl is there as each says it. */
  readonly packages: readonly FoundPackage[];
  readonly operatingSystem?: OperatingSystem;
  /** What is in the image and was not read, for people. Empty when all that this runner knows was read. */
  readonly unread: readonly string[];
  /** Number of entries without a usable name, of doubles, and of those past a bound. */
  readonly dropped: number;
}

export class Collection {
  readonly #signal: AbortSignal;
  readonly #found = new Map<string, Finding>();
  readonly #unread = new Set<string>();
  #system: { system: OperatingSystem; path: string } | undefined;
  #dropped = 0;

  constructor(signal: AbortSignal) {
    this.#signal = signal;
  }

  /** Answers how many of them have a name. */
  async addAll(findings: Findings): Promise<number> {
    let count = 0;
    let named = 0;
    for (const finding of findings) {
      this.#add(finding);
      if (finding !== undefined) named += 1;
      count += 1;
      if (count % TURN !== 0) continue;
      await setImmediate();
      this.#signal.throwIfAborted();
    }
    return named;
  }

  #add(finding: Finding | undefined): void {
    if (this.#found.size >= PACKAGES_MAX) this.miss(`packages past ${PACKAGES_MAX}`);
    const text = this.#found.size < PACKAGES_MAX && isShort(finding?.purl) ? formatPurl(finding.purl) : '';
    const purl = parsePurl(text);
    if (finding === undefined || purl === undefined) {
      this.#dropped += 1;
      return;
    }
    const tidy = tidied(finding, purl);
    const key = claimOf(text, tidy);
    if (this.#found.has(key)) this.#dropped += 1;
    else this.#found.set(key, tidy);
  }

  drop(): void {
    this.#dropped += 1;
  }

  miss(what: string): void {
    if (this.#unread.size < UNREAD_MAX) this.#unread.add(madeReadable(what));
    else this.#unread.add('more than these');
  }

  /** The file of `etc` counts before that of `usr/lib`. */
  noteSystem(system: OperatingSystem | undefined, path: string): void {
    if (system !== undefined && (this.#system === undefined || path.startsWith('etc/')))
      this.#system = { system, path };
  }

  close(): Catalogue {
    const system = this.#system?.system;
    const packages = new Map<string, FoundPackage>();
    for (const finding of this.#found.values()) {
      const purl = withDistribution(finding.purl, system);
      const text = formatPurl(purl);
      const key = claimOf(text, finding);
      if (packages.has(key) || text.length > PURL_LENGTH_MAX) this.#dropped += 1;
      else packages.set(key, foundPackage(finding, purl, text));
      if (VENDORS.has(purl.type) && purl.qualifiers?.['distro'] === undefined)
        this.miss('the distribution: the image has no etc/os-release with an id');
    }
    return {
      packages: [...packages].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, found]) => found),
      ...(system === undefined ? {} : { operatingSystem: system }),
      unread: [...this.#unread],
      dropped: this.#dropped,
    };
  }
}

/** In the order of purls, as a purl has nothing that comes before a line feed. */
const claimOf = (purl: string, { licenses, source = '' }: Finding): string =>
  [purl, source, ...licenses].join('\n');

/** Printing takes much more memory than the parts themselves. */
function isShort(purl: Purl | undefined): purl is Purl {
  if (purl === undefined) return false;
  const { namespace = '', name, version = '', qualifiers = {} } = purl;
  return [namespace, name, version, ...Object.values(qualifiers)].every(
    ({ length }) => length <= PURL_LENGTH_MAX,
  );
}

function tidied({ licenses, source }: Finding, purl: Purl): Finding {
  return {
    purl,
    licenses: [...new Set(licenses.filter(isReadable))].slice(0, LICENSES_MAX),
    ...(source === undefined || !isReadable(source) ? {} : { source }),
  };
}

/** Scanners skip a system's packages that do not name their distribution. */
function withDistribution(purl: Purl, system: OperatingSystem | undefined): Purl {
  const vendor = VENDORS.get(purl.type);
  if (vendor === undefined) return purl;
  const { id, version } = system ?? { id: vendor, version: '' };
  const distro = version === '' ? id : `${id}-${version}`;
  return {
    ...purl,
    namespace: purl.namespace ?? id,
    qualifiers: { ...(system === undefined ? {} : { distro }), ...purl.qualifiers },
  };
}

function foundPackage({ licenses, source }: Finding, purl: Purl, text: string): FoundPackage {
  return {
    purl: text,
    name: fullName(purl),
    version: purl.version ?? '',
    licenses,
    ...(source === undefined ? {} : { source }),
  };
}
