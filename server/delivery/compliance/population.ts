/**
 * Every deployment of the period with what is known of how it came about, and what an auditor asks about first. Nothing is read from builds or environments, because these may be gone: deployments,
 * artifacts, promotions, gates and the ledger outlive them.
 */
import { attestationFacts, PROVENANCE_TYPE } from '../attestations/index.ts';
import type { Keys } from '../attestations/index.ts';
import type { LedgerAct, LedgerPart, PolicyAct } from './ledger.ts';
import { groupBy, keyset } from './reading.ts';
import type { Reading } from './reading.ts';

const PIECE = 200;

type Doubt = 'direct' | 'override' | 'unverified_provenance' | 'no_package_list' | 'self_approved';

export type Exception =
  | {
      readonly kind: Doubt;
      readonly deploymentId: string;
      readonly environmentId: string;
      readonly number: number;
    }
  | {
      readonly kind: 'number_gap';
      readonly environmentId: string;
      readonly from: number;
      readonly to: number;
    }
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
  readonly number: number;
  readonly buildId: string;
  readonly digest: string;
  readonly promotionId: string | null;
  readonly runnerId: string;
  readonly regionId: string;
  readonly how: 'promotion' | 'approved' | 'direct' | 'rollback';
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

interface Promotion {
  readonly id: string;
  readonly releaseId: string;
  readonly version: string;
  readonly requestedBy: string;
  readonly overrideReason: string | null;
}

export interface Approval {
  readonly promotionId: string;
  readonly userId: string;
  readonly at: Date;
}

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

/** Answers how many there were, and the exceptions, which are also a file. */
export async function addPopulation(
  reading: Reading,
  ledger: LedgerPart,
  keys: Keys,
): Promise<{ readonly deployments: number; readonly exceptions: number }> {
  const exceptions: Exception[] = [];
  const numbers = new Map<string, number[]>();
  const items = async function* () {
    for await (const rows of keyset(
      reading,
      PIECE,
      async (after, take) => await deploymentsBehind(reading, after, take),
    )) {
      const all = await described(reading, rows, { ledger, keys });
      for (const item of all) {
        const { id: deploymentId, environmentId, number } = item;
        const known = numbers.get(environmentId) ?? [];
        numbers.set(environmentId, known);
        known.push(number);
        exceptions.push(...item.exceptions.map((kind) => ({ kind, deploymentId, environmentId, number })));
        yield item;
      }
    }
  };
  const deployments = await reading.archive.addList('changes/population.json', items());
  if (ledger.finding !== 'intact') exceptions.unshift({ kind: 'ledger', finding: ledger.finding });
  exceptions.push(...gapsOf(numbers), ...ofPolicies(ledger.ofPolicies));
  const listed = async function* () {
    yield* exceptions;
  };
  return {
    deployments,
    exceptions: await reading.archive.addList('changes/exceptions.json', listed()),
  };
}

async function deploymentsBehind(
  { db, teams, start, until }: Reading,
  after: string,
  take: number,
): Promise<readonly Row[]> {
  return await db.sql<Row[]>`
    select id, project_id as "projectId", environment_id as "environmentId", environment_name as "environmentName", number, build_id as "buildId",
      digest, promotion_id as "promotionId", runner_id as "runnerId", region_id as "regionId", how, deployed_at as "deployedAt"
    from deployments where team_id = any(${[...teams.teamIds]}::text[]) and deployed_at >= ${start} and deployed_at < ${until} and id > ${after}
    order by id limit ${take}::int`;
}

async function described(
  reading: Reading,
  rows: readonly Row[],
  { ledger, keys }: { readonly ledger: LedgerPart; readonly keys: Keys },
) {
  const { db, teams } = reading;
  const digests = [...new Set(rows.map(({ digest }) => digest))];
  const promotionIds = rows.flatMap(({ promotionId }) => promotionId ?? []);
  const subjects = [...promotionIds, ...rows.map(({ buildId }) => buildId)];
  const promotions = new Map((await promotionsOf(reading, promotionIds)).map((row) => [row.id, row]));
  const approvals = groupBy(await approvalsOf(reading, promotionIds), ({ promotionId }) => promotionId);
  const gates = groupBy(await gatesOf(reading, subjects), ({ subject }) => subject);
  const artifacts = groupBy(await artifactsOf(reading, digests), ({ digest }) => digest);
  const stated = await attestationFacts({ db, teams, keys }, digests);
  return rows.map(({ promotionId, digest, ...row }) => {
    const promotion = promotions.get(promotionId ?? '');
    const artifact = artifacts.get(digest)?.[0];
    const known = {
      how: row.how,
      promotion: promotion && {
        ...promotion,
        approvals: (approvals.get(promotion.id) ?? []).map(({ userId, at }) => ({ userId, at })),
      },
      artifact,
      provenance: (stated.get(digest)?.attestations ?? []).some(
        ({ predicateType, verified }) => predicateType === PROVENANCE_TYPE && verified,
      )
        ? 'valid'
        : 'unverified',
      decisions: [...(gates.get(promotionId ?? '') ?? []), ...(gates.get(row.buildId) ?? [])],
      ledger: ledger.ofBuilds.get(row.buildId) ?? [],
    };
    return {
      exceptions: doubtsOf(known),
      ...row,
      digest,
      ...known,
      promotion: known.promotion ?? null,
      artifact: artifact ?? null,
    };
  });
}

export interface Known {
  readonly how: Row['how'];
  readonly promotion:
    | (Promotion & { readonly approvals: ReadonlyArray<{ readonly userId: string }> })
    | undefined;
  readonly artifact: Artifact | undefined;
  readonly provenance: string;
  readonly decisions: readonly Gate[];
  readonly ledger: ReadonlyArray<Pick<PolicyAct, 'action' | 'actorId'>>;
}

export function doubtsOf({
  how,
  promotion,
  artifact,
  provenance,
  decisions,
  ledger,
}: Known): readonly Doubt[] {
  const isOverridden =
    (promotion?.overrideReason ?? null) !== null || decisions.some(({ outcome }) => outcome === 'overridden');
  const bySelf = promotion?.approvals.some(({ userId }) => userId === promotion.requestedBy) ?? false;
  return [
    ...(how === 'direct' ? (['direct'] as const) : []),
    ...(isOverridden ? (['override'] as const) : []),
    ...(provenance === 'valid' ? [] : (['unverified_provenance'] as const)),
    ...(artifact?.hasPackages === true ? [] : (['no_package_list'] as const)),
    ...(bySelf || isApprovedBySubmitter(how === 'approved' ? decisions : [], ledger)
      ? (['self_approved'] as const)
      : []),
  ];
}

/** By account where the gates are still kept, and by credential in the ledger. */
function isApprovedBySubmitter(decisions: readonly Gate[], ledger: Known['ledger']): boolean {
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
    from promotions where team_id = any(${[...teams.teamIds]}::text[]) and id = any(${[...ids]}::text[])`;
}

export async function approvalsOf(
  { db, teams }: Reading,
  ids: readonly string[],
): Promise<readonly Approval[]> {
  return await db.sql<Approval[]>`
    select promotion_id as "promotionId", user_id as "userId", at from promotion_approvals
    where team_id = any(${[...teams.teamIds]}::text[]) and promotion_id = any(${[...ids]}::text[]) order by at, user_id`;
}

async function gatesOf({ db, teams }: Reading, subjects: readonly string[]): Promise<readonly Gate[]> {
  return await db.sql<Gate[]>`
    select g.id, g.subject, g.action, g.outcome, g.actor_id as "actorId", g.created_at as at, g.override_reason as "overrideReason",
      coalesce((
        select jsonb_agg(jsonb_build_object('policyId', d.policy_id, 'revision', d.revision, 'outcome', d.outcome) order by d.policy_id)
        from policy_decisions d where d.gate_id = g.id
      ), '[]') as decisions
    from policy_gates g where g.team_id = any(${[...teams.teamIds]}::text[]) and g.subject = any(${[...subjects]}::text[]) order by g.id`;
}

async function artifactsOf({ db, teams }: Reading, digests: readonly string[]): Promise<readonly Artifact[]> {
  return await db.sql<Artifact[]>`
    select a.id, a.digest, a.name, a.kind, a.package_set_id is not null as "hasPackages", s.repository, s.branch, s.commit, s.ref as "builtBy"
    from artifacts a
    left join lateral (
      select * from artifact_sources x where x.team_id = a.team_id and x.artifact_id = a.id order by x.origin <> 'build', x.at, x.ref limit 1
    ) s on true
    where a.team_id = any(${[...teams.teamIds]}::text[]) and a.digest = any(${[...digests]}::text[])`;
}

/** Numbers between the first and the last deployment of an environment that none has: builds that failed, did not deploy, or are not told of. */
export function gapsOf(numbers: ReadonlyMap<string, readonly number[]>): readonly Exception[] {
  return [...numbers].flatMap(([environmentId, known]) => {
    const ordered = known.toSorted((a, b) => a - b);
    return ordered.flatMap((number, at): Exception[] => {
      const before = ordered[at - 1];
      if (before === undefined || number - before <= 1) return [];
      return [{ kind: 'number_gap', environmentId, from: before + 1, to: number - 1 }];
    });
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
