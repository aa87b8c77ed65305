/**
 * The signed statement about a release. It is made by a job behind the release, because the signer may be far
 * away, and waits for as long as it takes.
 */
import { eq } from 'drizzle-orm';
import { formatPurl } from '@svc/proto/packages/purl.ts';
import { systemScope } from '../../kit/authorise.ts';
import type { Clock } from '../../base/clock.ts';
import type { Database } from '../../base/db/index.ts';
import { addJob, type Job, type JobKind } from '../../kit/jobs/index.ts';
import { passportDue } from '../artifacts/index.ts';
import { attest, EVIDENCE_JOB, type AttestDeps } from '../attestations/index.ts';
import { artifactsOf, releaseRows, type Release } from './store.ts';
import { releases } from './schema.ts';

const STATEMENT_JOB = 'releases.statement';
const RELEASE_TYPE = 'https://in-toto.io/attestation/release/v0.1';

interface Payload extends Readonly<Record<string, unknown>> {
  readonly releaseId: string;
}

export interface StatementDeps extends AttestDeps {
  readonly clock: Clock;
}

export async function addStatement(
  db: Database,
  { teamId, id }: Pick<Release, 'teamId' | 'id'>,
): Promise<void> {
  const payload: Payload = { releaseId: id };
  await addJob(db, { teamId, kind: STATEMENT_JOB, lane: `release ${id}`, payload });
}

export const statementJob = (deps: StatementDeps): JobKind<Payload> => ({
  ...EVIDENCE_JOB,
  kind: STATEMENT_JOB,
  run: async (job) => await state(deps, job),
});

async function state(deps: StatementDeps, { teamId, payload }: Job<Payload>): Promise<void> {
  const who = { db: deps.db, teams: systemScope(teamId) };
  const [release] = await releaseRows.list(who, { where: eq(releases.id, payload.releaseId), max: 1 });
  if (release === undefined) return; // It went with its team.
  const { id, projectName: name, version } = release;
  const of = await artifactsOf(who, id);
  await attest(deps, {
    teamId,
    purpose: 'platform',
    dedupeKey: `release:${id}`,
    at: deps.clock.now(),
    predicateType: RELEASE_TYPE,
    subjects: of.map(({ name: subject, digest }) => ({ name: subject, digest })),
    predicate: { purl: formatPurl({ type: 'generic', name, version }), releaseId: id },
  });
  for (const artifact of of) await passportDue(deps.db, { id: artifact.id, teamId });
}
