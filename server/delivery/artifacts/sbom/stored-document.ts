/** Documents as they came: what a signed statement names by SHA-256, and what whoever doubts a list reads. */
// No TeamScope: given the row, or the team, that the call was authorised for.
import type { SqlTag } from '../../../base/db/index.ts';
import { notFound } from '../../../kit/not-found.ts';
import type { Who } from '../../../kit/resource/index.ts';

/** One piece is in memory at a time. */
const PIECE_BYTES = 262_144;

interface DocumentRef {
  readonly artifactId: string;
  /** Digest of the document; without it, the document of the first list is meant. */
  readonly sha256?: string | undefined;
}

interface Kept {
  readonly teamId: string;
  readonly sha256: string;
  readonly isGzip: boolean;
}

/** The document of a list of the artifact, to be streamed. Throws `not_found`. */
export async function openDocument(
  { db: { sql }, teams }: Who,
  { artifactId, sha256 }: DocumentRef,
): Promise<{
  readonly contentType: string;
  readonly sha256: string;
  readonly pieces: AsyncIterable<Uint8Array>;
}> {
  const [kept] = await sql<Kept[]>`
    select s.team_id as "teamId", s.sha256, substring(s.document for 2) = decode('1f8b', 'hex') as "isGzip"
    from artifact_sboms l join sboms s on s.team_id = l.team_id and s.sha256 = l.sha256
    where l.team_id = any(${teams.teamIds}::text[]) and l.artifact_id = ${artifactId} and l.sha256 = coalesce(${sha256 ?? null}, l.sha256)
    order by l.source <> 'runner', l.at, l.sha256 limit 1`;
  if (kept === undefined) throw notFound('document of the packages');
  const contentType = kept.isGzip ? 'application/gzip' : 'application/json';
  return { contentType, sha256: kept.sha256, pieces: piecesOf(sql, kept) };
}

async function* piecesOf(sql: SqlTag, { teamId, sha256 }: Kept): AsyncGenerator<Uint8Array> {
  for (let from = 1; ; from += PIECE_BYTES) {
    const [row] = await sql<Array<{ piece: Uint8Array }>>`
      select substring(document from ${from}::int for ${PIECE_BYTES}::int) as piece from sboms where team_id = ${teamId} and sha256 = ${sha256}`;
    if (row === undefined || row.piece.length === 0) return;
    yield row.piece;
  }
}
