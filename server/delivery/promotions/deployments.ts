/** Reads deployments, which say what ran where and what runs there now. */
import { and, eq, inArray, sql } from 'drizzle-orm';
import { inTeams, rowsOf } from '../../kit/resource/index.ts';
import type { RowOf, Who } from '../../kit/resource/index.ts';
import { deploymentHeads, deployments } from './schema.ts';

export type Deployment = RowOf<typeof deployments>;

const rows = rowsOf(deployments);

export interface CurrentQuery {
  readonly teamId: string;
  readonly digests: readonly string[];
  readonly max: number;
}

/** Deployments of these artifacts that are the current one of their environment, newest first. */
export async function currentDeployments(
  who: Who,
  { teamId, digests, max }: CurrentQuery,
): Promise<readonly Deployment[]> {
  const heads = who.db.orm
    .select({ id: deploymentHeads.buildId })
    .from(deploymentHeads)
    .where(
      and(
        inTeams(deploymentHeads, who.teams),
        eq(deploymentHeads.teamId, teamId),
        sql`${deploymentHeads.digest} = any(${sql.param([...digests])}::text[])`,
      ),
    );
  return await rows.list(who, { where: inArray(deployments.buildId, heads), max });
}

/** The deployments are of one artifact, newest first. */
export async function deploymentsOf(
  who: Who,
  { teamId, digest, max }: { readonly teamId: string; readonly digest: string; readonly max: number },
): Promise<readonly Deployment[]> {
  return await rows.list(who, {
    where: and(eq(deployments.teamId, teamId), eq(deployments.digest, digest)),
    max,
  });
}
