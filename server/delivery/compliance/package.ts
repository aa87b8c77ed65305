/**
 * Makes the files of a package, and what of them is signed. Everything that differs between two packages of
 * equal data is the id, the time of assembly and the signature.
 */
import { keysFor, signStatement, type TrustRoot } from '../attestations/index.ts';
import { pemOf, readKeys, type Signer, type SigningKey } from '../signingkeys/index.ts';
import { catalogued } from '../artifacts/index.ts';
import { passportsDue } from '../impact/index.ts';
import { isTelling, promotionEffects } from '../promotions/index.ts';
import { isBehind } from '../../kit/events/index.ts';
import { systemScope } from '../../kit/authorise.ts';
import type { Database } from '../../base/db/index.ts';
import { JobNotYet } from '../../kit/jobs/index.ts';
import { createArchive, sha256Of, type Archive } from './archive.ts';
import { CONTROLS } from './controls.ts';
import { README, VERIFY_SH } from './documents.ts';
import { addArtifacts, addMembers, addPolicies, addPromotions, addReleases } from './evidence.ts';
import { addLedger, inSnapshot, type LedgerDeps } from './ledger.ts';
import { addPopulation } from './population.ts';
import type { Reading } from './reading.ts';
import type { CompliancePackage } from './store.ts';

/** Events are published within a second of what happened. */
const BEHIND_MS = 1_000;
const MANIFEST = 'MANIFEST.json';
const SIGNATURE = 'manifest.sigstore.json';
/** The manifest, which names all other files, and its signature. */
export const SIGNED: readonly string[] = [MANIFEST, SIGNATURE];

export interface PackageDeps extends LedgerDeps {
  readonly db: Database;
  readonly signer: Signer;
  readonly root: TrustRoot | undefined;
  /** Beginning of the types of our own statements. */
  readonly typeBase: string;
}

export interface MadePackage {
  readonly archive: Archive;
  readonly manifestSha256: string;
  readonly counts: Readonly<Record<string, number>>;
}

export interface Making {
  readonly row: CompliancePackage;
  readonly assembledAt: Date;
  readonly signal: AbortSignal;
}

/**
 * Throws `PackageTooLarge`, and `JobNotYet` while events of the period are not published. The signer is asked
 * when the snapshot is closed: it may be far away.
 */
export async function makePackage(deps: PackageDeps, making: Making): Promise<MadePackage> {
  const archive = createArchive();
  const counts = await inSnapshot(deps.db, async (db) => await addEvidence(deps, db, { ...making, archive }));
  for (const [path, controls] of Object.entries(CONTROLS)) archive.add(path, controls);
  archive.add('README.txt', README);
  archive.add('verify.sh', VERIFY_SH);
  const sums = archive.files().map(({ path, sha256 }) => `${sha256}  ${path}\n`);
  archive.add('SHA256SUMS', sums.join(''));
  const { id: packageId, teamId, periodStart, periodEnd } = making.row;
  const times = Object.fromEntries(
    Object.entries({ periodStart, periodEnd, assembledAt: making.assembledAt }).map(([name, at]) => [
      name,
      at.toISOString(),
    ]),
  );
  const manifest = Buffer.from(manifestOf(deps.typeBase, making, { archive, counts }));
  const manifestSha256 = sha256Of(manifest);
  const statement = {
    subjects: [{ name: MANIFEST, digest: `sha256:${manifestSha256}` }],
    predicateType: `${deps.typeBase}/compliance-package/v1`,
    predicate: { packageId, teamId, ...times },
  };
  archive.add(MANIFEST, manifest);
  archive.add(SIGNATURE, await signStatement(deps.signer, 'platform', statement));
  return { archive, manifestSha256, counts };
}

async function addEvidence(
  deps: PackageDeps,
  db: Database,
  { row, assembledAt, signal, archive }: Making & { readonly archive: Archive },
): Promise<Readonly<Record<string, number>>> {
  const { teamId, periodStart: start, coversUntil: until } = row;
  // Deployments are written when their events are published, and the ledger is told of them a moment later.
  const effects = [...promotionEffects, catalogued, passportsDue];
  if ((await isBehind(db.sql, { teamId, until, effects })) || (await isTelling(db.sql, teamId)))
    throw new JobNotYet(BEHIND_MS);
  const teams = systemScope(teamId);
  const reading: Reading = { db, teamId, teams, start, until, archive, signal };
  const ledger = await addLedger(deps, reading);
  const keys = await keysFor({ db, teams }, { now: assembledAt, root: deps.root });
  const changes = await addPopulation(reading, ledger, keys);
  const releases = await addReleases(reading);
  const promotions = await addPromotions(reading);
  const stated = await addArtifacts(reading);
  const policyRevisions = await addPolicies(reading);
  const members = await addMembers(reading);
  addKeys(archive, await readKeys(db, assembledAt), until);
  return {
    exceptions: changes.exceptions,
    deployments: changes.deployments,
    deploymentsInLedger: changes.expected,
    ledgerEntries: ledger.entries,
    releases,
    promotions,
    ...stated,
    policyRevisions,
    members,
  };
}

/** A key has a line of its own, which verify.sh goes by. */
function addKeys(archive: Archive, keys: readonly SigningKey[], until: Date): void {
  const lines = keys.map(({ id, purpose, hint, publicKey }) =>
    JSON.stringify({ id, purpose, hint, publicKey: pemOf({ publicKey }) }),
  );
  archive.add('signing-keys.json', `{"keys":[\n${lines.join(',\n')}\n]}\n`);
  const rotations = keys
    .filter(({ createdAt }) => createdAt < until)
    .map(({ id, purpose, hint, createdAt, activeFrom, ...key }) => {
      const { revokedAt, compromisedSince, revokeReason } = key;
      return { id, purpose, hint, createdAt, activeFrom, revokedAt, compromisedSince, revokeReason };
    });
  archive.add('keys/rotations.json', rotations);
}

/** A file has a line of its own, which verify.sh goes by. */
function manifestOf(
  typeBase: string,
  { row, assembledAt }: Making,
  { archive, counts }: Pick<MadePackage, 'archive' | 'counts'>,
): string {
  const { id, teamId, periodStart, periodEnd, partial, coversUntil } = row;
  const format = `${typeBase}/compliance-package/v1`;
  const period = { periodStart, periodEnd, partial, coversUntil };
  const head = JSON.stringify({ format, id, teamId, assembledAt, ...period, counts });
  const files = archive.files().map((file) => JSON.stringify(file));
  return `${head.slice(0, -1)},"files":[\n${files.join(',\n')}\n]}\n`;
}
