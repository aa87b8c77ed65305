/**
 * Says where artifacts were built, as it was recorded then, where they are stored, and where they run now.
 */
import { eq } from 'drizzle-orm';
import { parseImage, problemOfImage } from '@svc/proto/images/reference.ts';
import type { Ctx } from '../../kit/context.ts';
import { newId } from '../../base/ids.ts';
import { addJob, type JobKind } from '../../kit/jobs/index.ts';
import { change, rowsOf, type RowOf, type Who } from '../../kit/resource/index.ts';
import { systemScope } from '../../kit/authorise.ts';
import { artifactRows, passportDue, type Artifact } from '../artifacts/index.ts';
import { whatRuns } from '../promotions/index.ts';
import { attest, EVIDENCE_JOB, type AttestDeps } from '../attestations/index.ts';
import { artifactDigestOf, nextLink } from './chain.ts';
import { artifactResidencyAttestations } from './schema.ts';

type Link = RowOf<typeof artifactResidencyAttestations>;

const SIGN_JOB = 'residency.sign';

export const artifactLinks = rowsOf(artifactResidencyAttestations);
export const bySequence = { by: artifactResidencyAttestations.sequence, descending: true };

export async function attestArtifact(ctx: Ctx, artifact: Artifact): Promise<Link> {
  const { id: artifactId, teamId, digest: artifactDigest } = artifact;
  const details = ({ sequence, digest, ...link }: Link) => ({ sequence, digest, ...regionsOf(link) });
  return await change(ctx, { action: 'residency.artifact_attested', on: artifact, details }, async (tx) => {
    await artifactRows.lock(tx, artifactId); // Attestations of one artifact take turns.
    const places = await placesOf(tx, artifact);
    const last = await newestOfArtifact(tx, artifactId);
    const attestedAt = ctx.clock.now();
    const id = newId('ara', attestedAt.getTime());
    const fact = { id, teamId, artifactId, artifactDigest, ...places, attestedAt };
    const link = nextLink({ ...fact, attestedBy: ctx.caller.userId }, last, artifactDigestOf);
    const made = await artifactLinks.insert(tx, link);
    await addJob(tx.db, { teamId, kind: SIGN_JOB, lane: `residency ${artifactId}`, payload: { id } });
    return made;
  });
}

const regionsOf = ({ builtIn, storedIn, deployedIn }: Pick<Link, 'builtIn' | 'storedIn' | 'deployedIn'>) => ({
  builtIn,
  storedIn,
  deployedIn,
});

export async function newestOfArtifact(who: Who, artifactId: string): Promise<Link | undefined> {
  const where = eq(artifactResidencyAttestations.artifactId, artifactId);
  const [link] = await artifactLinks.list(who, { ...bySequence, where, max: 1 });
  return link;
}

/** Sorted by their characters, each once. */
const sorted = (texts: readonly string[]): string[] => [...new Set(texts)].toSorted();

async function placesOf({ db: { sql }, teams }: Ctx, { id, teamId, digest, uri, name }: Artifact) {
  const environments = sql`select environment_id from deployment_heads where team_id = ${teamId} and digest = ${digest}`;
  const [row] = await sql<Array<{ builtIn: string[]; deployedIn: string[] }>>`
    select
      array(select distinct region_id || ' ' || operator from artifact_sources
        where team_id = ${teamId} and team_id = any(${teams.teamIds}::text[]) and artifact_id = ${id} and origin = 'build' and region_id is not null) as "builtIn",
      -- Where something else was deployed elsewhere since, it runs no more; in which region that was nobody says.
      array(select distinct n.region_id from (${whatRuns(sql, teamId, environments)}) n where n.digest = ${digest}) as "deployedIn"`;
  const { builtIn = [], deployedIn = [] } = row ?? {};
  return { builtIn: sorted(builtIn), storedIn: sorted(hostsOf(uri ?? name)), deployedIn: sorted(deployedIn) };
}

/** It is the registry of an image's address. */
function hostsOf(address: string): readonly string[] {
  if (problemOfImage(address) !== undefined) return [];
  const { host } = parseImage(address);
  return host === undefined ? [] : [host];
}

/** The service's signature under a link, made by a job: the signer may be far away. */
export function signJob(deps: AttestDeps & { readonly typeBase: string }): JobKind<{ id: string }> {
  return {
    ...EVIDENCE_JOB,
    kind: SIGN_JOB,
    concurrency: 2,
    perTeam: 1,
    run: async ({ teamId, payload: { id } }) => {
      const who = { db: deps.db, teams: systemScope(teamId) };
      const [link] = await artifactLinks.list(who, { where: eq(artifactResidencyAttestations.id, id) });
      if (link === undefined) return; // Its team is gone.
      const { createdAt: _made, artifactDigest, attestedAt, ...said } = link;
      await attest(deps, {
        teamId,
        purpose: 'platform',
        dedupeKey: `residency:${id}`,
        at: attestedAt,
        predicateType: `${deps.typeBase}/residency/v1`,
        subjects: [{ name: link.artifactId, digest: artifactDigest }],
        predicate: { ...said, artifactDigest, attestedAt: attestedAt.toISOString() },
      });
      await passportDue(deps.db, { id: link.artifactId, teamId });
    },
  };
}
