/**
 * Assembles packages:
 *
 *     assembling ──job──> assembled ──an owner──> legal_reviewed
 *         └──too large, or given up──> failed
 *
 * What must hold: a package is stored with its state, its entry in the ledger and its event, or not at all; a
 * job that is done again finds the state moved and does nothing.
 */
import { and, eq } from 'drizzle-orm';
import { systemScope } from '../../kit/authorise.ts';
import type { Clock } from '../../base/clock.ts';
import type { Database } from '../../base/db/index.ts';
import { addEvent } from '../../kit/events/index.ts';
import { addJob, doubling, type Job, type JobKind } from '../../kit/jobs/index.ts';
import { appendAudit, type AuditActor } from '../../kit/ledger/index.ts';
import { PackageTooLarge } from './archive.ts';
import { makePackage, SIGNED, type MadePackage, type Making, type PackageDeps } from './package.ts';
import { compliancePackages } from './schema.ts';
import { packageRows, storeManifest, storePieces, type CompliancePackage } from './store.ts';

const ASSEMBLY_JOB = 'compliance.assembly';
const SERVICE: AuditActor = { kind: 'system', id: 'compliance', display: 'compliance' };

interface Payload extends Readonly<Record<string, unknown>> {
  readonly packageId: string;
}

export interface AssemblyDeps extends PackageDeps {
  readonly clock: Clock;
}

export async function addAssembly(
  db: Database,
  { id, teamId }: Pick<CompliancePackage, 'id' | 'teamId'>,
): Promise<void> {
  const payload: Payload = { packageId: id };
  await addJob(db, { teamId, kind: ASSEMBLY_JOB, lane: `compliance package ${id}`, payload });
}

export function assemblyJob(deps: AssemblyDeps): JobKind<Payload> {
  return {
    kind: ASSEMBLY_JOB,
    attempts: 10,
    backoff: doubling(2_000, 600_000),
    // Each holds a package in memory.
    concurrency: 1,
    perTeam: 1,
    timeoutMs: 600_000,
    run: async (job, signal) => await assemble(deps, job, signal),
    gaveUp: async ({ teamId, payload }) => await fail(deps.db, { teamId, id: payload.packageId }, 'internal'),
  };
}

const isUnderWay = eq(compliancePackages.state, 'assembling');

async function assemble(
  deps: AssemblyDeps,
  { teamId, payload }: Job<Payload>,
  signal: AbortSignal,
): Promise<void> {
  const who = { db: deps.db, teams: systemScope(teamId) };
  const where = and(eq(compliancePackages.id, payload.packageId), isUnderWay);
  const [row] = await packageRows.list(who, { where, max: 1 });
  if (row === undefined) return; // Done before, or gone with its team.
  const assembledAt = deps.clock.now();
  try {
    const made = await makePackage(deps, { row, assembledAt, signal });
    await store(deps.db, { row, assembledAt, made });
  } catch (error) {
    if (!(error instanceof PackageTooLarge)) throw error;
    await fail(deps.db, row, 'too_large');
  }
}

type Storing = Pick<Making, 'row' | 'assembledAt'> & { readonly made: MadePackage };

async function store(db: Database, { row, assembledAt, made }: Storing): Promise<void> {
  const { id, teamId, requestedBy, periodStart, periodEnd, coversUntil } = row;
  const { archive, manifestSha256, counts } = made;
  await db.transact(async (tx) => {
    const who = { db: tx, teams: systemScope(teamId) };
    if ((await packageRows.lock(who, id)).state !== 'assembling') return;
    const { sizeBytes, sha256 } = await storePieces(tx, row, archive.pieces());
    await storeManifest(tx, row, archive.pieces(SIGNED));
    const set = { state: 'assembled', assembledAt, sizeBytes, sha256, manifestSha256 } as const;
    await packageRows.update(who, id, { set });
    const period = { periodStart, periodEnd, coversUntil };
    const payload = { packageId: id, ...period };
    await addEvent(tx, { teamId, kind: 'compliance.package_ready', key: id, payload, at: assembledAt });
    const times = Object.fromEntries(Object.entries(period).map(([name, at]) => [name, at.toISOString()]));
    const details = { requestedBy, sha256, manifestSha256, counts, ...times };
    const act = { action: 'compliance.assembled', actor: SERVICE, target: id, details, requestId: '' };
    await appendAudit(tx, { ...act, chain: teamId }, assembledAt);
  });
}

async function fail(
  db: Database,
  { id, teamId }: Pick<CompliancePackage, 'id' | 'teamId'>,
  reason: 'too_large' | 'internal',
): Promise<void> {
  const set = { state: 'failed', reason } as const;
  await packageRows.update({ db, teams: systemScope(teamId) }, id, { set, where: isUnderWay });
}
