/**
 * What is needed to deploy an artifact: the image's name in its registry without a tag, which may have moved
 * since, and what it was built of.
 */
import { and, desc, eq } from 'drizzle-orm';
import { parseImage, problemOfImage } from '@svc/proto/images/reference.ts';
import type { Database } from '../../base/db/index.ts';
import type { RowOf } from '../../kit/resource/index.ts';
import { artifactSources, type artifacts } from './schema.ts';

/**
 * Returns undefined where the artifact is no image, or its address names no registry, so that every engine
 * would look for it elsewhere.
 */
export function imageOf({
  kind,
  name,
  uri,
}: Pick<RowOf<typeof artifacts>, 'kind' | 'name' | 'uri'>): string | undefined {
  const text = uri ?? name;
  if (kind !== 'image' || problemOfImage(text) !== undefined) return undefined;
  const { host, path } = parseImage(text);
  return host === undefined ? undefined : `${host}/${path}`;
}

/** Reads branch and commit of the artifact's newest build. */
export async function builtFrom(
  { orm }: Database,
  { teamId, id }: Pick<RowOf<typeof artifacts>, 'teamId' | 'id'>,
): Promise<{ readonly branch: string | null; readonly commit: string | null } | undefined> {
  const [row] = await orm
    .select({ branch: artifactSources.branch, commit: artifactSources.commit })
    .from(artifactSources)
    .where(
      and(
        eq(artifactSources.teamId, teamId),
        eq(artifactSources.artifactId, id),
        eq(artifactSources.origin, 'build'),
      ),
    )
    .orderBy(desc(artifactSources.at))
    .limit(1);
  return row;
}
