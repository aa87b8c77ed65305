/**
 * Lists of what an artifact is made of. What a runner listed of an image stands first, and uploads stand
 * beside it: policies are told of the packages of all lists that count, so that an upload can add to what is
 * known and never take away.
 */
// No TeamScope: given the row, or the team, that the call was authorised for.
import type { SqlTag } from '../../../base/db/index.ts';
import type { artifactSboms } from '../schema.ts';
import { PACKAGES_MAX } from './store.ts';

type Row = typeof artifactSboms.$inferSelect;

/** As they stand: of runners first, the oldest first. */
export interface CountableList extends Pick<Row, 'source' | 'sha256' | 'unread'> {
  readonly setId: number;
  readonly packages: number;
  /** Length of what a policy is told of them. */
  readonly chars: number;
}

type Size = Pick<CountableList, 'packages' | 'chars'>;

/**
 * The bound of uploads about an image that a runner has listed is twice as much, and at least this. A runner
 * saw the image, so that there is little to add, and whoever uploads must not fill what the gates of others
 * may read.
 */
const BESIDE_RUNNER_MIN: Size = { packages: 1_000, chars: 100_000 };
/** The bound of uploads about anything else. */
const ALONE_MAX: Size = { packages: PACKAGES_MAX, chars: 1_048_576 };

/** Returns how much all lists beside the first one of a runner may hold. */
export function besideMax(first: (Size & Pick<CountableList, 'source'>) | undefined): Size {
  if (first?.source !== 'runner') return ALONE_MAX;
  return {
    packages: Math.max(BESIDE_RUNNER_MIN.packages, 2 * first.packages),
    chars: Math.max(BESIDE_RUNNER_MIN.chars, 2 * first.chars),
  };
}

export interface Counted {
  readonly lists: readonly CountableList[];
  /** Tells people what the other lists leave out, and which lists do not count. */
  readonly leftOut: readonly string[];
}

/**
 * Finds out which lists of one artifact count at gates. The small ones come first, so that none takes the
 * place of many; what else the artifact is released with makes no difference.
 */
export function countedLists(lists: readonly CountableList[]): Counted {
  const [first] = lists;
  const max = besideMax(first);
  const counted = first?.source === 'runner' ? [first] : [];
  const leftOut: string[] = [];
  const used = { packages: 0, chars: 0 };
  const others = lists.slice(counted.length).toSorted((a, b) => a.packages - b.packages || a.setId - b.setId);
  for (const list of others) {
    if (counted.some(({ setId }) => setId === list.setId)) {
      // The same packages count once; what is said to be missing from them counts all the same.
      leftOut.push(...list.unread);
      continue;
    }
    const packages = used.packages + list.packages;
    const chars = used.chars + list.chars;
    if (packages > max.packages || chars > max.chars) {
      leftOut.push(
        `the list ${list.sha256.slice(0, 12)} of ${list.packages} packages: at most ${max.packages} packages and ${max.chars} characters count beside the first list`,
      );
      continue;
    }
    counted.push(list);
    Object.assign(used, { packages, chars });
  }
  return { lists: counted, leftOut };
}

/** Said again of the same document, it takes the newer set. */
export async function keepList(sql: SqlTag, row: Row): Promise<void> {
  const { teamId, artifactId, source, sha256, packageSetId, unread, by, at } = row;
  await sql`
    with kept as (
      insert into artifact_sboms (team_id, artifact_id, source, sha256, package_set_id, unread, by, at)
      values (${teamId}, ${artifactId}, ${source}, ${sha256}, ${packageSetId}::bigint, ${unread}::text[], ${by}, ${at})
      on conflict (artifact_id, source, sha256) do update set package_set_id = excluded.package_set_id, unread = excluded.unread
    )
    update artifacts set package_set_id = ${packageSetId}::bigint, sbom_sha256 = ${sha256}, sbom_unread = ${unread}::text[]
    where id = ${artifactId} and team_id = ${teamId} and package_set_id is null`;
}
