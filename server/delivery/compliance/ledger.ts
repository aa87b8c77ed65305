/**
 * Adds the part of the team's ledger. Entries are taken by their places and not by their times: servers'
 * clocks differ, so that an entry of the period may stand between two that are not. The chain is verified
 * from its beginning to the end of the part.
 */
import {
  ChainCheck,
  gatherEvidence,
  streamEntries,
  type CheckpointFile,
  type CheckpointSigner,
  type Evidence,
  type Report,
} from '../audit/index.ts';
import type { Database } from '../../base/db/index.ts';
import type { AuditRow } from '../../kit/ledger/entry.ts';
import { PackageTooLarge } from './archive.ts';
import { keyset, type Piece, type Reading } from './reading.ts';

/**
 * Builds that deployed, and acts on them and on policies, that are held while the rest is read: some 300
 * bytes each.
 */
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

/** A deployment that the ledger was told of: by its build, or by its promotion if it was elsewhere. */
export interface ToldDeployment {
  /** Build; it is null, as its number and digest, where the deployment was elsewhere. */
  readonly buildId: string | null;
  readonly promotionId: string | null;
  readonly environmentId: string;
  readonly number: number | null;
  readonly digest: string | null;
  readonly deployedAt: string;
  readonly seq: number;
}

export interface Ends {
  readonly first: number;
  readonly last: number;
}

export interface LedgerPart {
  readonly entries: number;
  readonly finding: Report['finding'];
  /** By build that deployed: who submitted, approved and rolled back. */
  readonly ofBuilds: ReadonlyMap<string, readonly LedgerAct[]>;
  /**
   * It holds those in the period, by build, or by promotion where no build deployed, in the order of the
   * ledger.
   */
  readonly deployments: ReadonlyMap<string, ToldDeployment>;
  /**
   * The least and greatest numbers of builds that were submitted, rolled back or deployed, by environment.
   */
  readonly numbers: ReadonlyMap<string, Ends>;
  /** It tells of policies that were disabled and enabled, and of acts that went on past a policy. */
  readonly ofPolicies: readonly PolicyAct[];
}

const BUILD_ACTIONS = new Set(['build.submitted', 'build.deploy_approved', 'build.rolled_back']);
const DEPLOYED = 'build.deployed';
const PROMOTION_DEPLOYED = 'promotion.deployed';
const NUMBER_ACTIONS = new Set(['build.submitted', 'build.rolled_back', DEPLOYED]);
const POLICY_ACTIONS = new Set(['policy.disabled', 'policy.enabled', 'policy.overridden']);

type Place = Ends & { readonly hash: string };

/** Each entry is read once, and verified on its way into the archive. */
export async function addLedger(deps: LedgerDeps, reading: Reading): Promise<LedgerPart> {
  const { archive, until, teamId: chain } = reading;
  const place = await placeOf(reading);
  const head = place && { seq: place.last, hash: place.hash };
  const check = new ChainCheck(chain, await evidenceOf(deps, reading, head?.seq ?? 0), head);
  const acts = createActs(reading, await deployedBuilds(reading));
  let entries = 0;
  const lines = async function* (): AsyncGenerator<string> {
    for await (const rows of entriesTo(reading, head?.seq ?? 0)) {
      check.take(rows);
      const part = place === undefined ? [] : rows.filter(({ seq }) => seq >= place.first);
      entries += part.length;
      for (const row of part) acts.see(row);
      yield part.map((row) => `${JSON.stringify(row)}\n`).join('');
    }
  };
  await archive.addGzip('ledger/entries.ndjson.gz', lines());
  const report = check.report(head);
  archive.add('ledger/verification.json', {
    chain,
    first: place?.first ?? null,
    last: place?.last ?? null,
    finding: report.finding,
    ...(report.seq === undefined ? {} : { at: report.seq }),
    entriesRead: report.entries,
    hash: report.hash,
  });
  if (head !== undefined)
    archive.add('ledger/checkpoint.json', deps.checkpoints.sign({ chain, ...head, at: until.getTime() }));
  return { entries, finding: report.finding, ...acts.found };
}

function createActs({ start, until }: Reading, deployed: ReadonlySet<string>) {
  const ofBuilds = new Map<string, LedgerAct[]>();
  const deployments = new Map<string, ToldDeployment>();
  const numbers = new Map<string, Ends>();
  const ofPolicies: PolicyAct[] = [];
  let acts = 0;
  const tell = (id: string, deployment: ToldDeployment): void => {
    const at = new Date(deployment.deployedAt);
    if (!(at >= start && at < until)) return;
    if ((acts += 1) > ACTS_MAX) throw new PackageTooLarge(`${ACTS_MAX} acts on builds and policies`);
    deployments.set(id, deployment);
  };
  /** A promotion that a build deploys is told of by its build. */
  const seePromotion = ({ seq, at, action, target: promotionId, details }: AuditRow): void => {
    const { environmentId, buildId } = details;
    if (action !== PROMOTION_DEPLOYED || buildId !== undefined || typeof environmentId !== 'string') return;
    const deployedAt = new Date(at).toISOString();
    const noBuild = { buildId: null, number: null, digest: null };
    tell(promotionId, { ...noBuild, promotionId, environmentId, deployedAt, seq });
  };
  const seeBuild = ({ seq, action, target, details }: AuditRow): void => {
    const { buildId, number, digest, deployedAt } = details;
    if (!NUMBER_ACTIONS.has(action) || typeof buildId !== 'string' || typeof number !== 'number') return;
    const { first, last } = numbers.get(target) ?? { first: number, last: number };
    numbers.set(target, { first: Math.min(first, number), last: Math.max(last, number) });
    if (action !== DEPLOYED || typeof digest !== 'string' || typeof deployedAt !== 'string') return;
    const promotionId = null; // The build names none: the population does.
    tell(buildId, { buildId, promotionId, environmentId: target, number, digest, deployedAt, seq });
  };
  return {
    found: { ofBuilds, ofPolicies, deployments, numbers },
    see: (row: AuditRow): void => {
      seeBuild(row);
      seePromotion(row);
      const { seq, at, action, actor, target, details } = row;
      const { buildId } = details;
      const isOfPolicy = POLICY_ACTIONS.has(action);
      const isOfBuild = BUILD_ACTIONS.has(action) && typeof buildId === 'string' && deployed.has(buildId);
      if (!isOfPolicy && !isOfBuild) return;
      if ((acts += 1) > ACTS_MAX) throw new PackageTooLarge(`${ACTS_MAX} acts on builds and policies`);
      const act = { seq, at: new Date(at).toISOString(), action, actor: actor.display, actorId: actor.id };
      if (isOfPolicy) ofPolicies.push({ ...act, policyId: target });
      if (isOfBuild) ofBuilds.set(buildId, [...(ofBuilds.get(buildId) ?? []), act]);
    },
  };
}

async function deployedBuilds(reading: Reading): Promise<ReadonlySet<string>> {
  const found = new Set<string>();
  for await (const rows of keyset(reading, PIECE, buildsBehind)) {
    for (const { buildId } of rows) found.add(buildId);
    if (found.size > ACTS_MAX) throw new PackageTooLarge(`${ACTS_MAX} deployments`);
  }
  return found;
}

async function buildsBehind({ db, teams, start, until }: Reading, { after, take }: Piece) {
  return await db.sql<Array<{ id: string; buildId: string }>>`
    select id, build_id as "buildId" from deployments
    where team_id = any(${teams.teamIds}::text[]) and deployed_at >= ${start} and deployed_at < ${until} and id > ${after}
    order by id limit ${take}::int`;
}

/** Returns undefined where no entry has a time in the period. */
async function placeOf({ db, teams, teamId, start, until }: Reading): Promise<Place | undefined> {
  const [row] = await db.sql<Place[]>`
    with part as (
      select min(seq) as first, max(seq) as last from audit_entries
      where chain = any(${teams.teamIds}::text[]) and chain = ${teamId}
        and at >= ${start.getTime()}::bigint and at < ${until.getTime()}::bigint
    )
    select p.first, p.last, e.hash from part p join audit_entries e on e.chain = ${teamId} and e.seq = p.last`;
  return row;
}

/** Reads from the beginning of the chain, in pieces. */
async function* entriesTo({ db, teamId, signal }: Reading, last: number) {
  for await (const rows of streamEntries(db.sql, teamId, { after: -2_000_000_000, signal })) {
    const isOver = (rows.at(-1)?.seq ?? 0) > last;
    yield isOver ? rows.filter(({ seq }) => seq <= last) : rows;
    if (isOver) return;
  }
}

async function evidenceOf(
  { file, checkpoints: signer }: LedgerDeps,
  { teamId, signal }: Reading,
  last: number,
): Promise<Evidence> {
  const known = (await gatherEvidence({ file, signer }, teamId, signal)).get(teamId);
  const anchors = new Map([...(known?.anchors ?? [])].filter(([seq]) => seq <= last));
  return { anchors, checkpoints: 0, invalid: undefined };
}

/** The handle that is passed reads one state of the database from its first statement to its last. */
export async function inSnapshot<T>(db: Database, work: (db: Database) => Promise<T>): Promise<T> {
  return await db.transact(async (tx) => {
    await tx.sql`set transaction isolation level repeatable read, read only`;
    return await work(tx);
  });
}
