/**
 * What the edge is asked to serve, and what it says of it. Each part is checked here before it gets into a
 * file of nginx: whoever sends sites may be hostile, and no text of nginx ever comes from the wire.
 */
import { isIP } from 'node:net';
import { isHostName } from '@svc/proto/names/host-name.ts';

export interface SiteName {
  /** As `parseHostName` stores it. */
  name: string;
  ssl: boolean;
}

export interface Upstream {
  /** Address of this machine, IPv4 or IPv6. */
  host: string;
  port: number;
}

export interface Site {
  environmentId: string;
  app: string;
  names: readonly SiteName[];
  /** It is absent before the first deploy: the names answer 503 with Retry-After. */
  upstream?: Upstream;
}

export interface DnsStatus {
  state: 'ok' | 'wrong' | 'missing' | 'unknown';
  expected: string[];
  seen: string[];
}

export type CertificateState =
  | 'none'
  | 'waiting_dns'
  | 'issuing'
  | 'active'
  | 'renewing'
  | 'failed'
  | 'expired'
  | 'unsupported';

/** While the old one is served, its dates are here in `failed` and `waiting_dns` too. */
export interface CertificateStatus {
  state: CertificateState;
  /** One sentence that says what to do. */
  problem?: string;
  /** Text of the authority or the system. */
  detail?: string;
  /** Tries that failed in a row. */
  failures?: number;
  /** RFC 3339 time of the next try, or of the renewal. */
  nextAttemptAt?: string;
  notBefore?: string;
  notAfter?: string;
  serial?: string;
  issuer?: string;
}

export interface SiteStatus {
  environmentId: string;
  name: string;
  dns: DnsStatus;
  certificate: CertificateStatus;
  /** Why this site's new form is not served; others are not touched by it. */
  problem?: string;
}

export interface Checked {
  sites: Site[];
  /** Problems of the refused, by environment. */
  refused: Map<string, string>;
}

const ENVIRONMENT = /^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/;
const NAMES_MAX = 200;
const SHOWN_CHARS_MAX = 253;

/**
 * A name belongs to the first site that has it: nginx takes a second one with a mere warning. Sites are made
 * anew of the parts that were checked, whatever else was sent.
 */
export function checkedSites(sites: readonly Site[]): Checked {
  const checked: Checked = { sites: [], refused: new Map() };
  const owners = new Map<string, string>();
  const seen = new Set<string>();
  for (const sent of sites) {
    const id = String(sent.environmentId);
    const site = seen.has(id) ? 'the environment is listed twice' : checkedSite(sent, owners);
    if (typeof site === 'string') {
      checked.refused.set(id, site);
      continue;
    }
    seen.add(id);
    for (const { name } of site.names) owners.set(name, id);
    checked.sites.push(site);
  }
  return checked;
}

/** Returns the site, or why it is refused. */
function checkedSite(sent: Site, owners: ReadonlyMap<string, string>): Site | string {
  const { environmentId, app } = sent;
  if (typeof environmentId !== 'string' || !ENVIRONMENT.test(environmentId))
    return 'the id of the environment is malformed';
  if (!Array.isArray(sent.names)) return 'its names are no list';
  if (sent.names.length > NAMES_MAX)
    return `it has ${sent.names.length} names, at most ${NAMES_MAX} are served`;
  const names: SiteName[] = [];
  for (const entry of sent.names as readonly (Partial<SiteName> | null)[]) {
    const name = entry?.name;
    if (typeof name !== 'string' || !isHostName(name)) return 'one of its names is no name of a host';
    if (names.some((one) => one.name === name)) return `${name} is listed twice`;
    // Whose it is stays unsaid: that site may be of another team.
    if (owners.has(name)) return `${name} is served for another environment of this machine`;
    names.push({ name, ssl: entry?.ssl === true });
  }
  const site = { environmentId, app: String(app), names };
  const upstream = (sent.upstream ?? undefined) as Upstream | undefined;
  if (upstream === undefined) return site;
  const problem = upstreamProblem(upstream);
  return problem ?? { ...site, upstream: { host: upstream.host, port: upstream.port } };
}

/** Says why an app cannot be served there. */
export function upstreamProblem({ host, port }: Upstream): string | undefined {
  if (typeof host !== 'string' || isIP(host) === 0 || host.includes('%')) return 'its app has no IP address';
  return Number.isInteger(port) && port > 0 && port < 65_536 ? undefined : 'the port of its app is none';
}

/** Names as they were sent, for people. */
export function namesSent(site: Site): string[] {
  if (!Array.isArray(site.names)) return [];
  const names = site.names as readonly (Partial<SiteName> | null)[];
  return names.flatMap((entry) =>
    typeof entry?.name === 'string' ? [entry.name.slice(0, SHOWN_CHARS_MAX)] : [],
  );
}
