/** Keeps the rows of packages, and the bytes of each. */
import { createHash } from 'node:crypto';
import { and, eq } from 'drizzle-orm';
import type { Database } from '../../base/db/index.ts';
import { inTeams, rowsOf, type RowOf, type Who } from '../../kit/resource/index.ts';
import { compliancePackages, compliancePieces } from './schema.ts';

export type CompliancePackage = RowOf<typeof compliancePackages>;

export const packageRows = rowsOf(compliancePackages);

type PackageId = Pick<CompliancePackage, 'id' | 'teamId'>;

const PIECE_BYTES = 1_048_576;
/** Beside those of the package, which are counted from 0. */
const MANIFEST_PLACE = -1;

/** Answers what they are as a whole. */
export async function storePieces(
  { orm }: Database,
  { id: packageId, teamId }: PackageId,
  parts: Iterable<Uint8Array>,
): Promise<{ readonly sizeBytes: number; readonly sha256: string }> {
  const hash = createHash('sha256');
  let place = 0;
  let sizeBytes = 0;
  for (const bytes of inPieces(parts)) {
    await orm.insert(compliancePieces).values({ teamId, packageId, place, bytes });
    hash.update(bytes);
    sizeBytes += bytes.length;
    place += 1;
  }
  return { sizeBytes, sha256: hash.digest('hex') };
}

/** Cuts parts into pieces of one size, but for the last one. */
export function* inPieces(parts: Iterable<Uint8Array>, size = PIECE_BYTES): Generator<Uint8Array> {
  let piece = Buffer.alloc(size);
  let filled = 0;
  for (const part of parts) {
    for (let at = 0; at < part.length;) {
      const taken = Math.min(part.length - at, size - filled);
      piece.set(part.subarray(at, at + taken), filled);
      at += taken;
      filled += taken;
      if (filled < size) continue;
      yield piece;
      piece = Buffer.alloc(size);
      filled = 0;
    }
  }
  if (filled > 0) yield piece.subarray(0, filled);
}

/** They are stored as a tar file of their own, in one piece. */
export async function storeManifest(
  { orm }: Database,
  { id: packageId, teamId }: PackageId,
  parts: Iterable<Uint8Array>,
): Promise<void> {
  const bytes = Buffer.concat([...parts]);
  await orm.insert(compliancePieces).values({ teamId, packageId, place: MANIFEST_PLACE, bytes });
}

export const readManifest = async (who: Who, { id }: Pick<CompliancePackage, 'id'>): Promise<Uint8Array> =>
  await readPiece(who, id, MANIFEST_PLACE);

export async function readPieces(
  who: Who,
  { id, sizeBytes }: Pick<CompliancePackage, 'id' | 'sizeBytes'>,
): Promise<Buffer> {
  const whole = Buffer.alloc(sizeBytes ?? 0);
  let read = 0;
  for (let place = 0; read < whole.length; place += 1) {
    const bytes = await readPiece(who, id, place);
    whole.set(bytes, read);
    read += bytes.length;
  }
  return whole;
}

async function readPiece({ db, teams }: Who, packageId: string, place: number): Promise<Uint8Array> {
  const of = and(eq(compliancePieces.packageId, packageId), eq(compliancePieces.place, place));
  const [row] = await db.orm
    .select({ bytes: compliancePieces.bytes })
    .from(compliancePieces)
    .where(and(inTeams(compliancePieces, teams), of));
  if (row === undefined) throw new Error(`piece ${place} of package ${packageId} is missing`);
  return row.bytes;
}
