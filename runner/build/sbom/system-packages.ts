/** Reads what Debian's and Alpine's package managers have installed, and the name of the distribution. */
import { isReadable, linesOf, paragraphsOf, type Finding, type Findings } from './finding.ts';

export interface OperatingSystem {
  /** Such as `debian`. */
  readonly id: string;
  readonly name: string;
  /** Empty for a distribution without versions. */
  readonly version: string;
}

const DPKG_FIELDS = new Set(['Package', 'Status', 'Version', 'Architecture', 'Source']);
/** Only the name or the configuration of a removed package is left. */
const REMOVED = /\b(?:not-installed|config-files)$/;
const APK_FIELDS = new Set(['P', 'V', 'A', 'L', 'o']);
const ASSIGNMENT = /^(ID|NAME|VERSION_ID)=(?:"((?:[^"\\]|\\.)*)"|'?([^'"]*)'?)$/;
const ID = /^[A-Za-z0-9._-]{1,64}$/;

/** Reads `var/lib/dpkg/status`, and the files of `status.d`, which name no state. */
export function* readDpkg(text: string): Findings {
  for (const fields of paragraphsOf(text, DPKG_FIELDS)) {
    if (REMOVED.test(fields.get('Status') ?? '')) continue;
    const [name, version, arch] = ['Package', 'Version', 'Architecture'].map((field) => fields.get(field));
    // Followed by its version in brackets where that is another one.
    const source = fields.get('Source')?.split(' ', 1)[0] ?? name;
    yield systemPackage('deb', { name, version, arch, source, license: undefined });
  }
}

/** Reads `lib/apk/db/installed`. */
export function* readApk(text: string): Findings {
  for (const fields of paragraphsOf(text, APK_FIELDS)) {
    const [name, version, arch, source, license] = ['P', 'V', 'A', 'o', 'L'].map((key) => fields.get(key));
    yield systemPackage('apk', { name, version, arch, source: source ?? name, license });
  }
}

interface SystemPackage {
  name: string | undefined;
  version: string | undefined;
  arch: string | undefined;
  source: string | undefined;
  license: string | undefined;
}

function systemPackage(type: 'deb' | 'apk', found: SystemPackage): Finding | undefined {
  const { name, version, arch, source, license } = found;
  if (!name || !version) return undefined;
  return {
    purl: { type, name, version, ...(arch ? { qualifiers: { arch } } : {}) },
    licenses: license ? [license] : [],
    ...(source ? { source } : {}),
  };
}

/**
 * Reads `etc/os-release`, which has assignments of the shell. The result is undefined without a usable id.
 */
export function readOsRelease(text: string): OperatingSystem | undefined {
  const values = new Map<string, string>();
  for (const line of linesOf(text)) {
    const [, key, quoted, plain = ''] = ASSIGNMENT.exec(line.trim()) ?? [];
    if (key !== undefined) values.set(key, quoted?.replaceAll(/\\(.)/g, '$1') ?? plain);
  }
  const [id = '', name = '', version = ''] = ['ID', 'NAME', 'VERSION_ID'].map((key) => values.get(key));
  if (!ID.test(id)) return undefined;
  return { id, name: isReadable(name) ? name : id, version: ID.test(version) ? version : '' };
}
