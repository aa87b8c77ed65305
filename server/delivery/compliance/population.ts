/**
 * Every deployment of the period with what is known of how it came about, and what an auditor asks about
 * first. Nothing is read from builds or environments, because these may be gone: deployments, artifacts,
 * promotions, gates and the ledger outlive them.
 */
import { rankOf } from '../artifacts/index.ts';
import {
  allDeployments,
  deployedElsewhere,
  type Promotion as PromotionRow,
  type promotionApprovals,
} from '../promotions/index.ts';
import {
  attestationFacts,
  PROVENANCE_TYPE,
  type AttestationFacts,
  type Keys,
} from '../attestations/index.ts';
import type { Ends, LedgerAct, LedgerPart, PolicyAct, ToldDeployment } from './ledger.ts';
import { groupBy, keyset, type Piece, type Reading } from './reading.ts';

const PIECE = 200;

type Doubt = 'direct' | 'override' | 'unverified_provenance' | 'no_package_list' | 'self_approved';

export type Exception =
  | {
      readonly kind: Doubt;
      readonly deploymentId: string;
      readonly environmentId: string;
      /** Number of the build; it is null where no build deployed it. */
      readonly number: number | null;
    }
  | {
      readonly kind: 'number_gap';
      readonly environmentId: string;
      readonly from: number;
      readonly to: number;
    }
  | (ToldDeployment & { readonly kind: 'deployment_missing' })
  | { readonly kind: 'ledger'; readonly finding: string }
  | (LedgerAct & { readonly kind: 'policy_overridden'; readonly subject: string })
  | (PolicyAct & {
      readonly kind: 'policy_disabled';
      readonly enabledAgain: PolicyAct | null;
    });

interface Row {
  readonly id: string;
  readonly projectId: string;
  readonly environmentId: string;
  readonly environmentName: string;
  /**
   * Number of the build; it is null, as all that a build tells, where somebody said that it was deployed
   * elsewhere.
   */
  readonly number: number | null;
  readonly buildId: string | null;
  /** These are the digests of what was deployed. */
  readonly digests: readonly string[];
  readonly promotionId: string | null;
  readonly runnerId: string | null;
  readonly regionId: string | null;
  readonly how: 'promotion' | 'approved' | 'direct' | 'rollback' | 'elsewhere';
  readonly deployedAt: Date;
}

interface Gate {
  readonly id: string;
  readonly subject: string;
  readonly action: string;
  readonly outcome: string;
  readonly actorId: string;
  readonly at: Date;
  readonly overrideReason: string | null;
  readonly decisions: ReadonlyArray<{
    readonly policyId: string;
    readonly revision: number;
    readonly outcome: string;
  }>;
}

type Promotion = Pick<PromotionRow, 'id' | 'releaseId' | 'version' | 'requestedBy' | 'overrideReason'>;

/** `voidAt` is null where the approval counted. */
type Approval = Pick<
  typeof promotionApprovals.$inferSelect,
  'promotionId' | 'userId' | 'at' | 'fingerprint' | 'voidAt' | 'voidReason'
>;

interface Artifact {
  readonly id: string;
  readonly digest: string;
  readonly name: string;
  readonly kind: string;
  readonly hasPackages: boolean;
  readonly repository: string | null;
  readonly branch: string | null;
  readonly commit: string | null;
  readonly builtBy: string | null;
}

/** Answers how many there were, how many the ledger was told of, and the exceptions; all are files. */
export async function addPopulation(
  reading: Reading,
  ledger: LedgerPart,
  keys: Keys,
): Promise<{ readonly deployments: number; readonly expected: number; readonly exceptions: number }> {
  const exceptions: Exception[] = [];
  const numbers = new Map<string, number[]>();
  const missing = new Map(ledger.deployments);
  const items = async function* () {
    for await (const rows of keyset(reading, PIECE, deploymentsBehind)) {
      const all = await described(reading, rows, { ledger, keys });
      for (const item of all) {
        const { id: deploymentId, environmentId, number } = item;
        const known = numbers.get(environmentId) ?? [];
        numbers.set(environmentId, known);
        if (number !== null) known.push(number);
        missing.delete(item.buildId ?? item.promotionId ?? '');
        exceptions.push(...item.exceptions.map((kind) => ({ kind, deploymentId, environmentId, number })));
        yield item;
      }
    }
  };
  const deployments = await reading.archive.addList('changes/population.json', items());
  const expected = await reading.archive.addList('changes/expected.json', each(ledger.deployments.values()));
  const all: readonly Exception[] = [
    ...(ledger.finding === 'intact' ? [] : [{ kind: 'ledger' as const, finding: ledger.finding }]),
    ...[...missing.values()].map((told) => ({ kind: 'deployment_missing' as const, ...told })),
    ...exceptions,
    ...gapsOf(numbers, ledger.numbers),
    ...ofPolicies(ledger.ofPolicies),
  ];
  return {
    deployments,
    expected,
    exceptions: await reading.archive.addList('changes/exceptions.json', each(all)),
  };
}

async function* each<T>(items: Iterable<T>): AsyncGenerator<T> {
  yield* items;
}

async function deploymentsBehind(
  { db: { sql }, teams, start, until }: Reading,
  { after, take }: Piece,
): Promise<readonly Row[]> {
  const ours = sql`x.team_id = any(${teams.teamIds}::text[])`;
  const all = allDeployments(sql, {
    deployments: sql`${ours} and x.deployed_at >= ${start} and x.deployed_at < ${until}`,
    promotions: sql`${ours} and x.ended_at >= ${start} and x.ended_at < ${until}`,
  });
  return await sql<Row[]>`
    select d.id, d.project_id as "projectId", d.environment_id as "environmentId", d.environment_name as "environmentName", d.number, d.build_id as "buildId",
      d.promotion_id as "promotionId", d.runner_id as "runnerId", d.region_id as "regionId", d.how, d.deployed_at as "deployedAt",
      case when d.digest is not null then array[d.digest] else array(${deployedElsewhere(sql)}) end as digests
    from (${all}) d where d.id > ${after} order by d.id limit ${take}::int`;
}

async function described(
  reading: Reading,
  rows: readonly Row[],
  { ledger, keys }: { readonly ledger: LedgerPart; readonly keys: Keys },
) {
  const { db, teams } = reading;
  const digests = [...new Set(rows.flatMap((row) => row.digests))];
  const promotionIds = rows.flatMap(({ promotionId }) => promotionId ?? []);
  const subjects = [...promotionIds, ...rows.flatMap(({ buildId }) => buildId ?? [])];
  const promotions = new Map((await promotionsOf(reading, promotionIds)).map((row) => [row.id, row]));
  const approvals = groupBy(await approvalsOf(reading, promotionIds), ({ promotionId }) => promotionId);
  const gates = groupBy(await gatesOf(reading, subjects), ({ subject }) => subject);
  const artifacts = new Map((await artifactsOf(reading, digests)).map((each) => [each.digest, each]));
  const stated = await attestationFacts({ db, teams, keys }, digests);
  const isProvenance = ({ predicateType, verified }: AttestationFacts): boolean =>
    predicateType === PROVENANCE_TYPE && verified;
  return rows.map(({ digests: deployed, ...row }) => {
    const { promotionId } = row;
    const promotion = promotions.get(promotionId ?? '');
    const buildId = row.buildId ?? '';
    const known = {
      how: row.how,
      promotion: promotion && {
        ...promotion,
        approvals: (approvals.get(promotion.id) ?? [])
          .filter(({ voidAt }) => voidAt === null)
          .map(({ userId, at }) => ({ userId, at })),
      },
      artifacts: deployed.map((digest) => ({
        digest,
        artifact: artifacts.get(digest) ?? null,
        provenance: (stated.get(digest)?.attestations ?? []).some(isProvenance) ? 'valid' : 'unverified',
      })),
      decisions: [...(gates.get(promotionId ?? '') ?? []), ...(gates.get(buildId) ?? [])],
      ledger: ledger.ofBuilds.get(buildId) ?? [],
    };
    const only = known.artifacts.length === 1 ? known.artifacts[0] : undefined;
    return {
      exceptions: doubtsOf(known),
      ...row,
      digest: only?.digest ?? null,
      ...known,
      promotion: known.promotion ?? null,
      artifact: only?.artifact ?? null,
      provenance: only?.provenance ?? null,
    };
  });
}

export interface KnownDeployment {
  readonly how: Row['how'];
  readonly promotion:
    | (Promotion & { readonly approvals: ReadonlyArray<{ readonly userId: string }> })
    | undefined;
  /** All that was deployed. */
  readonly artifacts: ReadonlyArray<{ readonly artifact: Artifact | null; readonly provenance: string }>;
  readonly decisions: readonly Gate[];
  readonly ledger: ReadonlyArray<Pick<PolicyAct, 'action' | 'actorId'>>;
}

export function doubtsOf({
  how,
  promotion,
  artifacts,
  decisions,
  ledger,
}: KnownDeployment): readonly Doubt[] {
  const isOverridden =
    (promotion?.overrideReason ?? null) !== null || decisions.some(({ outcome }) => outcome === 'overridden');
  const isKnown = artifacts.length > 0; // A release may name none.
  const bySelf = promotion?.approvals.some(({ userId }) => userId === promotion.requestedBy) ?? false;
  const isBySubmitter = isApprovedBySubmitter(how === 'approved' ? decisions : [], ledger);
  const doubts: Readonly<Record<Doubt, boolean>> = {
    direct: how === 'direct',
    override: isOverridden,
    unverified_provenance: !isKnown || artifacts.some(({ provenance }) => provenance !== 'valid'),
    no_package_list: !isKnown || artifacts.some(({ artifact }) => artifact?.hasPackages !== true),
    self_approved: bySelf || isBySubmitter,
  };
  return (Object.keys(doubts) as Doubt[]).filter((doubt) => doubts[doubt]);
}

/** By account where the gates are still kept, and by credential in the ledger. */
function isApprovedBySubmitter(decisions: readonly Gate[], ledger: KnownDeployment['ledger']): boolean {
  const passed = (action: string): readonly string[] =>
    decisions.filter((gate) => gate.action === action).map(({ actorId }) => actorId);
  const acted = (...actions: readonly string[]): readonly string[] =>
    ledger.filter(({ action }) => actions.includes(action)).map(({ actorId }) => actorId);
  const approvers = [...passed('deploy'), ...acted('build.deploy_approved')];
  const submitters = new Set([...passed('build.create'), ...acted('build.submitted', 'build.rolled_back')]);
  return approvers.some((id) => submitters.has(id));
}

async function promotionsOf({ db, teams }: Reading, ids: readonly string[]): Promise<readonly Promotion[]> {
  return await db.sql<Promotion[]>`
    select id, release_id as "releaseId", version, requested_by as "requestedBy", override_reason as "overrideReason"
    from promotions where team_id = any(${teams.teamIds}::text[]) and id = any(${[...ids]}::text[])`;
}

export async function approvalsOf({ db, teams }: Reading, ids: readonly string[]) {
  return await db.sql<Approval[]>`
    select promotion_id as "promotionId", user_id as "userId", at, fingerprint, void_at as "voidAt", void_reason as "voidReason" from promotion_approvals
    where team_id = any(${teams.teamIds}::text[]) and promotion_id = any(${[...ids]}::text[]) order by at, id`;
}

async function gatesOf({ db, teams }: Reading, subjects: readonly string[]): Promise<readonly Gate[]> {
  return await db.sql<Gate[]>`
    select g.id, g.subject, g.action, g.outcome, g.actor_id as "actorId", g.created_at as at, g.override_reason as "overrideReason",
      coalesce((
        select jsonb_agg(jsonb_build_object('policyId', d.policy_id, 'revision', d.revision, 'outcome', d.outcome) order by d.policy_id)
        from policy_decisions d where d.gate_id = g.id
      ), '[]') as decisions
    from policy_gates g where g.team_id = any(${teams.teamIds}::text[]) and g.subject = any(${[...subjects]}::text[]) order by g.id`;
}

async function artifactsOf({ db, teams }: Reading, digests: readonly string[]): Promise<readonly Artifact[]> {
  return await db.sql<Artifact[]>`
    select a.id, a.digest, a.name, a.kind, exists (select from artifact_sboms l join package_sets p on p.id = l.package_set_id where l.artifact_id = a.id and p.packages > 0) as "hasPackages", s.repository, s.branch, s.commit, s.ref as "builtBy"
    from artifacts a
    left join lateral (
      select * from artifact_sources x where x.team_id = a.team_id and x.artifact_id = a.id order by ${rankOf(db.sql)}, x.at, x.ref limit 1
    ) s on true
    where a.team_id = any(${teams.teamIds}::text[]) and a.digest = any(${[...digests]}::text[])`;
}

/**
 * Numbers of an environment that no deployment has, between the first and the last that the population or the
 * ledger names: builds that failed, did not deploy, or are not told of.
 */
export function gapsOf(
  deployed: ReadonlyMap<string, readonly number[]>,
  told: ReadonlyMap<string, Ends>,
): readonly Exception[] {
  return [...new Set([...deployed.keys(), ...told.keys()])].flatMap((environmentId) => {
    const known = (deployed.get(environmentId) ?? []).toSorted((a, b) => a - b);
    const { first = Infinity, last = -Infinity } = told.get(environmentId) ?? {};
    const gaps: Exception[] = [];
    let before = Math.min(first, known[0] ?? Infinity) - 1;
    for (const number of [...known, Math.max(last, known.at(-1) ?? -Infinity) + 1]) {
      if (number - before > 1)
        gaps.push({ kind: 'number_gap', environmentId, from: before + 1, to: number - 1 });
      before = number;
    }
    return gaps;
  });
}

export function ofPolicies(acts: readonly PolicyAct[]): readonly Exception[] {
  const open = new Map<string, { enabledAgain: PolicyAct | null }>();
  const found: Exception[] = [];
  for (const act of acts) {
    const { policyId, ...rest } = act;
    if (act.action === 'policy.overridden') {
      found.push({ kind: 'policy_overridden', subject: policyId, ...rest });
    } else if (act.action === 'policy.disabled') {
      const exception = { kind: 'policy_disabled' as const, ...act, enabledAgain: null as PolicyAct | null };
      open.set(policyId, exception);
      found.push(exception);
    } else {
      const disabled = open.get(policyId);
      if (disabled !== undefined) disabled.enabledAgain = act;
      open.delete(policyId);
    }
  }
  return found;
}
