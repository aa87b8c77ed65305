/**
 * Reads what policies are told of artifacts, as they are at this moment. The number of statements does not
 * grow with that of the artifacts.
 */
import { notFound } from '../../kit/not-found.ts';
import type { Ctx } from '../../kit/context.ts';
import {
  attestationFacts,
  keysFor,
  type AttestationFacts,
  type EvaluationFacts,
  type TrustRoot,
} from '../attestations/index.ts';
import { countedLists, type CountableList } from './sbom/lists.ts';
import { rankOf } from './source-rank.ts';

/** A policy takes no more. */
const UNREAD_MAX = 100;
/** A package in a set whose length is not known counts this much. */
const CHARS_OF_OLD = 100;

export interface ArtifactFacts {
  readonly id: string;
  readonly kind: string;
  readonly name: string;
  readonly digest: string;
  /**
   * The source is that of the first build that published it from a branch, or else of the first one that did,
   * or else of the first CI run that reported it, or else of who declared it first. Empty: not known.
   */
  readonly origin: string;
  readonly repository: string;
  readonly branch: string;
  readonly commit: string;
  readonly runner: string;
  readonly attestations: readonly AttestationFacts[];
  readonly evaluations: readonly EvaluationFacts[];
  readonly sbom: {
    readonly present: boolean;
    /** A runner read the artifact itself: it is not the word of somebody who uploaded a document alone. */
    readonly byRunner: boolean;
    /** Count of packages in the first list. */
    readonly packages: number;
    readonly unread: readonly string[];
  };
  /** The lists that count, see `packagesOfSets`; where there is none, nothing is known of its packages. */
  readonly packageSetIds: readonly number[];
}

export type ArtifactRow = Omit<ArtifactFacts, 'attestations' | 'evaluations'>;

/** The facts come in the order of the ids. Throws `not_found` if the team lacks one. */
export async function artifactFacts(
  who: Pick<Ctx, 'db' | 'teams' | 'clock'> & { readonly root?: TrustRoot | undefined },
  teamId: string,
  artifactIds: readonly string[],
): Promise<readonly ArtifactFacts[]> {
  if (artifactIds.length === 0) return [];
  const rows = new Map((await readArtifacts(who, teamId, artifactIds)).map((row) => [row.id, row]));
  const keys = await keysFor(who, { now: who.clock.now(), root: who.root });
  const digests = [...rows.values()].map(({ digest }) => digest);
  const stated = await attestationFacts({ ...who, keys }, digests);
  return [...new Set(artifactIds)].map((id) => {
    const row = rows.get(id);
    if (row === undefined) throw notFound('artifact');
    const { attestations = [], evaluations = [] } = stated.get(row.digest) ?? {};
    return { ...row, attestations, evaluations };
  });
}

/** Reads the artifacts in any order. */
export async function readArtifacts(
  { db: { sql }, teams }: Pick<Ctx, 'db' | 'teams'>,
  teamId: string,
  artifactIds: readonly string[],
): Promise<readonly ArtifactRow[]> {
  const rows = await sql<Array<Omit<ArtifactRow, 'sbom' | 'packageSetIds'> & { lists: CountableList[] }>>`
    select a.id, a.kind, a.name, a.digest, coalesce(s.origin, '') as origin, coalesce(s.repository, '') as repository,
      coalesce(s.branch, '') as branch, coalesce(s.commit, '') as commit, coalesce(s.runner_id, '') as runner,
      (
        select coalesce(jsonb_agg(jsonb_build_object('source', l.source, 'sha256', l.sha256, 'unread', l.unread, 'setId', p.id, 'packages', p.packages,
          'chars', coalesce(p.chars, p.packages * ${CHARS_OF_OLD}::int)) order by l.source <> 'runner', l.at, l.sha256), '[]')
        from artifact_sboms l join package_sets p on p.team_id = l.team_id and p.id = l.package_set_id
        where l.team_id = a.team_id and l.artifact_id = a.id
      ) as lists
    from artifacts a
    left join lateral (
      select * from artifact_sources x where x.team_id = a.team_id and x.artifact_id = a.id
      order by ${rankOf(sql)}, x.branch is null, x.at, x.ref limit 1
    ) s on true
    where a.team_id = any(${teams.teamIds}::text[]) and a.team_id = ${teamId} and a.id = any(${[...artifactIds]}::text[])`;
  return rows.map(({ lists, ...row }) => ({ ...row, ...madeOf(lists) }));
}

function madeOf(all: readonly CountableList[]): Pick<ArtifactRow, 'sbom' | 'packageSetIds'> {
  const { lists, leftOut } = countedLists(all);
  const [first] = lists;
  const unread = [...new Set([...lists.flatMap((list) => list.unread), ...leftOut])];
  return {
    sbom: {
      // A document that names no package is no list of packages.
      present: lists.some(({ packages }) => packages > 0),
      byRunner: first?.source === 'runner',
      packages: first?.packages ?? 0,
      // The first list is read whole: nobody who uploads must bring it beyond the bound.
      unread: unread.length > UNREAD_MAX ? [...unread.slice(0, UNREAD_MAX - 1), 'more than these'] : unread,
    },
    packageSetIds: [...new Set(lists.map(({ setId }) => setId))],
  };
}

/** Returns undefined where the team has no such artifact. */
export async function artifactOfDigest(
  { db: { sql }, teams }: Pick<Ctx, 'db' | 'teams'>,
  teamId: string,
  digest: string,
): Promise<string | undefined> {
  const [row] = await sql<Array<{ id: string }>>`
    select id from artifacts where team_id = any(${teams.teamIds}::text[]) and team_id = ${teamId} and digest = ${digest}`;
  return row?.id;
}
