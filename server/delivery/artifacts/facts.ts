/** What policies are told of artifacts, as they are at this moment. The number of statements does not grow with that of the artifacts. */
import { notFound } from '../../platform/not-found.ts';
import type { Ctx } from '../../platform/context.ts';
import { attestationFacts, keysFor } from '../attestations/index.ts';
import type { AttestationFacts, EvaluationFacts, TrustRoot } from '../attestations/index.ts';

export interface ArtifactFacts {
  readonly id: string;
  readonly kind: string;
  readonly name: string;
  readonly digest: string;
  /** Of the first build that published it, or else of where it was seen first. Empty: not known. */
  readonly origin: string;
  readonly repository: string;
  readonly branch: string;
  readonly commit: string;
  readonly runner: string;
  readonly attestations: readonly AttestationFacts[];
  readonly evaluations: readonly EvaluationFacts[];
  readonly sbom: {
    readonly present: boolean;
    readonly packages: number;
    readonly unread: readonly string[];
  };
  /** See `packagesOfSets`; null: nothing is known of its packages. */
  readonly packageSetId: number | null;
}

export type ArtifactRow = Omit<ArtifactFacts, 'attestations' | 'evaluations' | 'sbom'> & {
  readonly packages: number;
  readonly unread: readonly string[];
};

/** In the order of the ids. Throws `not_found` if the team lacks one. */
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
    const { packages, unread, ...artifact } = row;
    const { attestations = [], evaluations = [] } = stated.get(artifact.digest) ?? {};
    const sbom = { present: artifact.packageSetId !== null, packages, unread };
    return { ...artifact, attestations, evaluations, sbom };
  });
}

/** In any order. */
export async function readArtifacts(
  { db: { sql }, teams }: Pick<Ctx, 'db' | 'teams'>,
  teamId: string,
  artifactIds: readonly string[],
): Promise<readonly ArtifactRow[]> {
  return await sql<ArtifactRow[]>`
    select a.id, a.kind, a.name, a.digest, coalesce(s.origin, '') as origin, coalesce(s.repository, '') as repository,
      coalesce(s.branch, '') as branch, coalesce(s.commit, '') as commit, coalesce(s.runner_id, '') as runner,
      a.package_set_id as "packageSetId", coalesce(p.packages, 0) as packages, coalesce(a.sbom_unread, '{}') as unread
    from artifacts a
    left join package_sets p on p.team_id = a.team_id and p.id = a.package_set_id
    left join lateral (
      select * from artifact_sources x where x.team_id = a.team_id and x.artifact_id = a.id
      order by x.origin <> 'build', x.at, x.ref limit 1
    ) s on true
    where a.team_id = any(${[...teams.teamIds]}::text[]) and a.team_id = ${teamId} and a.id = any(${[...artifactIds]}::text[])`;
}

/** Undefined: the team has no such artifact. */
export async function artifactOfDigest(
  { db: { sql }, teams }: Pick<Ctx, 'db' | 'teams'>,
  teamId: string,
  digest: string,
): Promise<string | undefined> {
  const [row] = await sql<Array<{ id: string }>>`
    select id from artifacts where team_id = any(${[...teams.teamIds]}::text[]) and team_id = ${teamId} and digest = ${digest}`;
  return row?.id;
}
