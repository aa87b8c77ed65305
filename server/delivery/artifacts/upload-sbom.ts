/** Documents that people bring about what an artifact is made of, and their removal. */
// No TeamScope: given the row, or the team, that the call was authorised for.
import { hash } from 'node:crypto';
import { apiError } from '@svc/proto/http/errors.ts';
import { problem } from '@svc/proto/http/json-text.ts';
import type { Ctx } from '../../kit/context.ts';
import { notFound } from '../../kit/not-found.ts';
import { change } from '../../kit/resource/index.ts';
import { besideMax, keepList } from './sbom/lists.ts';
import type { SbomReader } from './sbom/sbom-reader.ts';
import { sizeOf, storePackageSet } from './sbom/store.ts';
import { unreadOf } from './store-sbom.ts';
import type { Artifact } from './read.ts';

/** Uploaded documents of one artifact, and how many of these one account may bring. */
const UPLOADS_MAX = 10;
const UPLOADS_OF_ONE_MAX = 3;

type ListedArtifact = Pick<Artifact, 'id' | 'teamId' | 'digest'>;

export async function uploadSbom(
  reader: SbomReader,
  ctx: Ctx,
  { artifact, document }: { readonly artifact: ListedArtifact; readonly document: Uint8Array },
): Promise<void> {
  const { id, teamId, digest } = artifact;
  const sha256 = hash('sha256', document, 'hex');
  const [same] = await ctx.db
    .sql`select from artifact_sboms where artifact_id = ${id} and sha256 = ${sha256}`;
  if (same !== undefined) return;
  const read = await reader.read(document, ctx.call.signal);
  if ('problem' in read) throw problem('document', 'sbom', `cannot be read: ${read.problem}`);
  const size = sizeOf(read.packages);
  await refuseMore(ctx, id, size);
  const { setId } = await storePackageSet(ctx.db.sql, teamId, read.packages);
  const details = () => ({ digest, sha256, packages: read.packages.length });
  await change(ctx, { action: 'artifact.sbom_uploaded', on: artifact, details }, async (tx) => {
    const { sql } = tx.db;
    // One at a time, so that the limits hold.
    await sql`select from artifacts where id = ${id} for update`;
    await refuseMore(tx, id, size);
    const at = ctx.clock.now();
    await sql`
      insert into sboms (team_id, sha256, document, created_at) values (${teamId}, ${sha256}, ${Buffer.from(document)}, ${at})
      on conflict do nothing`;
    const row = { source: 'upload', sha256, packageSetId: setId, unread: unreadOf(read) } as const;
    await keepList(sql, { teamId, artifactId: id, ...row, by: ctx.caller.userId, at });
    return id;
  });
}

async function refuseMore(ctx: Ctx, id: string, set: ReturnType<typeof sizeOf>): Promise<void> {
  const lists = await ctx.db.sql<
    Array<{ source: 'runner' | 'upload'; by: string | null; packages: number; chars: number }>
  >`
    select l.source, l.by, p.packages, coalesce(p.chars, 0) as chars from artifact_sboms l join package_sets p on p.id = l.package_set_id
    where l.artifact_id = ${id} order by l.source <> 'runner', l.at, l.sha256`;
  const uploads = lists.filter(({ source }) => source === 'upload');
  const own = uploads.filter(({ by }) => by === ctx.caller.userId).length;
  const max = besideMax(lists[0]);
  const packages = uploads.reduce((sum, each) => sum + each.packages, set.packages);
  const chars = uploads.reduce((sum, each) => sum + each.chars, set.chars);
  const refused = (what: string, current: number, limit: number): Error =>
    apiError(
      'limit_reached',
      `${what} of artifact ${id} would be ${current}, at most ${limit} are kept; an admin can remove one`,
      { details: { resource: 'list of packages', limit, current } },
    );
  if (uploads.length >= UPLOADS_MAX) throw refused('uploaded documents', uploads.length + 1, UPLOADS_MAX);
  if (own >= UPLOADS_OF_ONE_MAX) throw refused('documents uploaded by you', own + 1, UPLOADS_OF_ONE_MAX);
  if (packages > max.packages) throw refused('packages in uploaded documents', packages, max.packages);
  if (chars > max.chars) throw refused('characters of packages in uploaded documents', chars, max.chars);
}

export async function removeSbom(
  ctx: Ctx,
  { artifact, sha256 }: { readonly artifact: ListedArtifact; readonly sha256: string },
) {
  const { id, teamId, digest } = artifact;
  const details = () => ({ digest, sha256 });
  await change(ctx, { action: 'artifact.sbom_removed', on: artifact, details }, async ({ db: { sql } }) => {
    const { count } = await sql`
      delete from artifact_sboms where team_id = ${teamId} and artifact_id = ${id} and source = 'upload' and sha256 = ${sha256}`;
    if (count === 0) throw notFound('uploaded list of packages');
    // Servers that are being replaced need this; see schema.ts.
    await sql`update artifacts set package_set_id = null, sbom_sha256 = null, sbom_unread = '{}' where id = ${id} and sbom_sha256 = ${sha256}`;
    return id;
  });
}
