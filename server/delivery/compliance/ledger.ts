/**
 * The part of the team's ledger. Entries are taken by their places and not by their times: servers' clocks differ, so that an entry of the period may stand between two that are not. The chain is
 * verified from its beginning to the end of the part.
 */
import { gatherEvidence, streamEntries, verifyChain } from '../audit/index.ts';
import type { CheckpointFile, CheckpointSigner, Report } from '../audit/index.ts';
import type { Database } from '../../platform/db/index.ts';
import { PackageTooLarge } from './archive.ts';
import { keyset } from './reading.ts';
import type { Reading } from './reading.ts';

/** Builds that deployed, and acts on them and on policies, that are held while the rest is read: some 300 bytes each. */
const ACTS_MAX = 100_000;
const PIECE = 1_000;

export interface LedgerDeps {
  readonly file: CheckpointFile;
  readonly checkpoints: CheckpointSigner;
}

export interface LedgerAct {
  readonly seq: number;
  readonly at: string;
  readonly action: string;
  readonly actor: string;
  /** Account or credential. */
  readonly actorId: string;
}

export interface PolicyAct extends LedgerAct {
  /** Or what was done in spite of a policy: a build, a promotion, a release. */
  readonly policyId: string;
}

export interface LedgerPart {
  readonly entries: number;
  readonly finding: Report['finding'];
  /** By build that deployed: who submitted, approved and rolled back. */
  readonly ofBuilds: ReadonlyMap<string, readonly LedgerAct[]>;
  /** Of policies that were disabled and enabled, and of acts that went on past a policy. */
  readonly ofPolicies: readonly PolicyAct[];
}

const BUILD_ACTIONS = new Set(['build.submitted', 'build.deploy_approved', 'build.rolled_back']);
const POLICY_ACTIONS = new Set(['policy.disabled', 'policy.enabled', 'policy.overridden']);

type Place = { readonly first: number; readonly last: number; readonly hash: string };

export async function addLedger(deps: LedgerDeps, reading: Reading): Promise<LedgerPart> {
  const { archive, until, teamId: chain } = reading;
  const place = await placeOf(reading);
  const report = await verified(deps, reading, place);
  archive.add('ledger/verification.json', {
    chain,
    first: place?.first ?? null,
    last: place?.last ?? null,
    finding: report.finding,
    ...(report.seq === undefined ? {} : { at: report.seq }),
    entriesRead: report.entries,
    hash: report.hash,
  });
  const deployed = await deployedBuilds(reading);
  const ofBuilds = new Map<string, LedgerAct[]>();
  const ofPolicies: PolicyAct[] = [];
  let entries = 0;
  let acts = 0;
  const lines = async function* (): AsyncGenerator<string> {
    if (place === undefined) return;
    for await (const row of partOf(reading, place)) {
      entries += 1;
      yield `${JSON.stringify(row)}\n`;
      const { seq, at, action, actor, target, details } = row;
      const isOfPolicy = POLICY_ACTIONS.has(action);
      const { buildId } = details;
      const isOfBuild = BUILD_ACTIONS.has(action) && typeof buildId === 'string' && deployed.has(buildId);
      if (!isOfPolicy && !isOfBuild) continue;
      if ((acts += 1) > ACTS_MAX) throw new PackageTooLarge(`${ACTS_MAX} acts on builds and policies`);
      const act = { seq, at: new Date(at).toISOString(), action, actor: actor.display, actorId: actor.id };
      if (isOfPolicy) ofPolicies.push({ ...act, policyId: target });
      if (!isOfBuild) continue;
      const same = ofBuilds.get(buildId);
      if (same === undefined) ofBuilds.set(buildId, [act]);
      else same.push(act);
    }
  };
  await archive.addGzip('ledger/entries.ndjson.gz', lines());
  if (place !== undefined) {
    const { last: seq, hash } = place;
    archive.add('ledger/checkpoint.json', deps.checkpoints.sign({ chain, seq, hash, at: until.getTime() }));
  }
  return { entries, finding: report.finding, ofBuilds, ofPolicies };
}

async function deployedBuilds(reading: Reading): Promise<ReadonlySet<string>> {
  const found = new Set<string>();
  for await (const rows of keyset(reading, PIECE, async (...next) => await buildsBehind(reading, ...next))) {
    for (const { buildId } of rows) found.add(buildId);
    if (found.size > ACTS_MAX) throw new PackageTooLarge(`${ACTS_MAX} deployments`);
  }
  return found;
}

async function buildsBehind({ db, teams, start, until }: Reading, after: string, take: number) {
  return await db.sql<Array<{ id: string; buildId: string }>>`
    select id, build_id as "buildId" from deployments
    where team_id = any(${[...teams.teamIds]}::text[]) and deployed_at >= ${start} and deployed_at < ${until} and id > ${after}
    order by id limit ${take}::int`;
}

/** Undefined: no entry has a time in the period. */
async function placeOf({ db, teams, teamId, start, until }: Reading): Promise<Place | undefined> {
  const [row] = await db.sql<Place[]>`
    with part as (
      select min(seq) as first, max(seq) as last from audit_entries
      where chain = any(${[...teams.teamIds]}::text[]) and chain = ${teamId}
        and at >= ${start.getTime()}::bigint and at < ${until.getTime()}::bigint
    )
    select p.first, p.last, e.hash from part p join audit_entries e on e.chain = ${teamId} and e.seq = p.last`;
  return row;
}

async function* partOf({ db, teamId, signal }: Reading, { first, last }: Pick<Place, 'first' | 'last'>) {
  for await (const row of streamEntries(db.sql, teamId, { after: first - 1, signal })) {
    if (row.seq > last) return;
    yield row;
  }
}

async function verified(
  { file, checkpoints: signer }: LedgerDeps,
  reading: Reading,
  place: Place | undefined,
): Promise<Report> {
  const { teamId, signal } = reading;
  const known = (await gatherEvidence({ file, signer }, teamId, signal)).get(teamId);
  const { last = 0, hash = '' } = place ?? {};
  const anchors = new Map([...(known?.anchors ?? [])].filter(([seq]) => seq <= last));
  return await verifyChain(
    teamId,
    {
      head: async () => await Promise.resolve(last === 0 ? undefined : { seq: last, hash }),
      rows: () => partOf(reading, { first: -2_000_000_000, last }),
    },
    { anchors, checkpoints: 0, invalid: undefined },
  );
}

/** The handle that is passed reads one state of the database from its first statement to its last. */
export async function inSnapshot<T>(db: Database, work: (db: Database) => Promise<T>): Promise<T> {
  return await db.transact(async (tx) => {
    await tx.sql`set transaction isolation level repeatable read, read only`;
    return await work(tx);
  });
}
