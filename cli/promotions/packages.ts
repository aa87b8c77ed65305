/** Packages of two images, and what is different. */
import { Artifacts, SvcApiError } from '@svc/sdk';
import type { Artifact, ArtifactPackage } from '@svc/sdk';
import type { Asking } from './images.ts';

const PAGE = 1_000;
/** Of an image. Part of a list is not compared: what it lacks would look removed. */
const PACKAGES_MAX = 50_000;
const LINES_MAX = 20;

/** Versions by type and name: an image may have several of one package. */
type Versions = ReadonlyMap<string, ReadonlySet<string>>;

/** Lines for people: a count, the first differences, and how many more there are. */
export async function comparePackages(
  asking: Asking,
  before: Artifact,
  after: Artifact,
): Promise<readonly string[]> {
  if (before.digest === after.digest) return ['packages: the same image'];
  // One after the other, for the first may say that there is nothing to compare with.
  const old = await versionsOf(asking, before);
  if (typeof old === 'string') return [`packages are not compared: ${old}`];
  const now = await versionsOf(asking, after);
  if (typeof now === 'string') return [`packages are not compared: ${now}`];
  return differences(old, now);
}

/** Or why there are none. */
async function versionsOf(
  { client, signal }: Asking,
  { teamId, id, name }: Artifact,
): Promise<Versions | string> {
  const artifacts = new Artifacts(client);
  const versions = new Map<string, Set<string>>();
  let cursor: string | undefined;
  try {
    for (let pages = 0; pages < PACKAGES_MAX / PAGE; pages += 1) {
      const page = await artifacts.packagesPage(
        teamId,
        id,
        { limit: PAGE, ...(cursor !== undefined && { cursor }) },
        { signal },
      );
      for (const each of page.packages.slice(0, PAGE)) add(versions, each);
      cursor = page.nextCursor;
      if (cursor === undefined) return versions;
    }
  } catch (error) {
    if (error instanceof SvcApiError && error.status === 404)
      return `nothing is known of those of ${name}, artifact ${id}`;
    throw error;
  }
  return `${name}, artifact ${id}, has more than ${PACKAGES_MAX}`;
}

function add(versions: Map<string, Set<string>>, { type, name, version }: ArtifactPackage): void {
  const key = `${name} (${type})`;
  const known = versions.get(key);
  if (known === undefined) versions.set(key, new Set([version]));
  else known.add(version);
}

function differences(old: Versions, now: Versions): readonly string[] {
  const added = [...now].flatMap(([key, versions]) => (old.has(key) ? [] : [`+ ${key} ${listed(versions)}`]));
  const removed = [...old].flatMap(([key, versions]) =>
    now.has(key) ? [] : [`- ${key} ${listed(versions)}`],
  );
  const changed = [...now].flatMap(([key, versions]) => {
    const before = old.get(key);
    if (before === undefined || isSame(before, versions)) return [];
    return [`~ ${key} ${listed(before)} → ${listed(versions)}`];
  });
  const all = [...added, ...removed, ...changed];
  const more = all.length - LINES_MAX;
  return [
    `packages: ${added.length} added, ${removed.length} removed, ${changed.length} changed`,
    ...all.slice(0, LINES_MAX),
    ...(more > 0 ? [`and ${more} more`] : []),
  ];
}

const isSame = (one: ReadonlySet<string>, other: ReadonlySet<string>): boolean =>
  one.size === other.size && [...one].every((version) => other.has(version));

/** The first ones: a lock file may have dozens of one package. */
function listed(versions: ReadonlySet<string>): string {
  const shown = [...versions]
    .slice(0, 3)
    .map((version) => (version === '' ? 'of no known version' : version));
  return `${shown.join(', ')}${versions.size > shown.length ? ', …' : ''}`;
}
