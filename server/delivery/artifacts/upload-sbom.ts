/** Documents that people bring about what an artifact is made of. */
import { createHash } from 'node:crypto';
import { apiError } from '@svc/proto/http/errors.ts';
import { problem } from '@svc/proto/http/json-text.ts';
import type { Ctx } from '../../platform/context.ts';
import { change } from '../../platform/resource/index.ts';
import type { SbomReader } from './sbom/sbom-reader.ts';
import { storePackageSet } from './sbom/store.ts';
import { unreadOf } from './store-sbom.ts';

interface Which {
  readonly id: string;
  readonly teamId: string;
  readonly digest: string;
  readonly sbomSha256: string | null;
}

export async function uploadSbom(
  reader: SbomReader,
  ctx: Ctx,
  { artifact, document }: { readonly artifact: Which; readonly document: Uint8Array },
): Promise<void> {
  const { id, teamId, digest } = artifact;
  const sha256 = createHash('sha256').update(document).digest('hex');
  if (artifact.sbomSha256 === sha256) return;
  if (artifact.sbomSha256 !== null) throw otherIsThere(id);
  const read = await reader.read(document, ctx.call.signal);
  if ('problem' in read) throw problem('document', 'sbom', `cannot be read: ${read.problem}`);
  const { setId } = await storePackageSet(ctx.db.sql, teamId, read.packages);
  const details = () => ({ digest, sha256, packages: read.packages.length });
  await change(ctx, { action: 'artifact.sbom_uploaded', on: artifact, details }, async ({ db: { sql } }) => {
    await sql`
      insert into sboms (team_id, sha256, document, created_at) values (${teamId}, ${sha256}, ${Buffer.from(document)}, ${ctx.clock.now()})
      on conflict do nothing`;
    const { count } = await sql`
      update artifacts set package_set_id = ${setId}::bigint, sbom_sha256 = ${sha256}, sbom_unread = ${unreadOf(read)}::text[], sbom_problem = null
      where id = ${id} and team_id = ${teamId} and (sbom_sha256 is null or sbom_sha256 = ${sha256})`;
    if (count === 0) throw otherIsThere(id);
    return count;
  });
}

function otherIsThere(id: string): Error {
  return apiError(
    'state_conflict',
    `what artifact ${id} is made of is known from another document, which stands`,
    {
      details: { resource: 'artifact' },
    },
  );
}
