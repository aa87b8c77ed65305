/**
 * An approval is given to its subject: the release and the image of it, the target, and the revisions of the
 * policies that apply. Approvals count for as long as all of it stays as it was; parts that could be changed
 * and changed back have a part beside them that counts the changes.
 */
import { hash } from 'node:crypto';
import canonicalize from 'canonicalize';
import type { Environment } from '../../apps/environments/index.ts';
import { variableVersions } from '../../apps/variables/index.ts';
import { regionOfTeam } from '../../access/teams/index.ts';
import type { Who } from '../../kit/resource/index.ts';
import { revisionsInForce } from '../policies/index.ts';
import { choose, type Candidate } from './image.ts';
import type { SubjectParts } from './schema.ts';
import type { Promotion } from './store.ts';

export interface Subject {
  readonly parts: SubjectParts;
  /** `sha256:<hex>` of the parts in canonical JSON. */
  readonly fingerprint: string;
}

/** Counts changes of the environment; named only where nothing else shows them. */
const REVISION = 'environment.revision';
/** Changes that a reason names. */
const NAMED_MAX = 5;

const sha256 = (value: unknown): string => hash('sha256', canonicalize(value) ?? '', 'hex');

/**
 * The subjects are those of pending promotions to the environment, by their ids, as the transaction sees
 * them.
 */
export async function subjectsOf(
  who: Who,
  environment: Environment,
  promotions: readonly Promotion[],
): Promise<ReadonlyMap<string, Subject>> {
  if (promotions.length === 0) return new Map();
  const ids = promotions.map(({ releaseId }) => releaseId);
  const [target, releases] = await Promise.all([targetOf(who, environment), releasesOf(who, ids)]);
  return new Map(
    promotions.map((promotion) => {
      const parts = { ...target, ...releaseParts(promotion, releases.get(promotion.releaseId)) };
      return [promotion.id, { parts, fingerprint: `sha256:${sha256(parts)}` }];
    }),
  );
}

export async function subjectOf(who: Who, environment: Environment, promotion: Promotion): Promise<Subject> {
  const subject = (await subjectsOf(who, environment, [promotion])).get(promotion.id);
  if (subject === undefined) throw new Error(`promotion ${promotion.id} has no subject`);
  return subject;
}

async function targetOf(who: Who, environment: Environment): Promise<SubjectParts> {
  const { id: environmentId, teamId, projectId, name, repository, branch, deploy, runner } = environment;
  const [region, variables, policies] = await Promise.all([
    regionOfTeam(who.db, teamId),
    variableVersions(who, environmentId),
    revisionsInForce(who.db.sql, { teamId, projectId, environmentId }, ['promotion.approve', 'deploy']),
  ]);
  const labels = Object.entries(runner?.labels ?? {}).map(([key, value]) => `${key}=${value}`);
  return {
    'environment.name': name,
    'environment.repository': repository ?? 'none',
    'environment.branch': branch,
    'environment.requiredApprovals': String(environment.requiredApprovals),
    'environment.allowSelfApproval': String(environment.allowSelfApproval),
    'environment.deployApproval': String(environment.deployApproval),
    'environment.promotionsOnly': String(environment.promotionsOnly),
    [REVISION]: String(environment.targetRevision),
    'deploy.kind': deploy?.kind ?? 'none',
    ...(deploy !== null && {
      'deploy.app': deploy.app,
      'deploy.containerPort': String(deploy.containerPort),
      'deploy.hostPort': deploy.hostPort === 0 ? 'any' : String(deploy.hostPort),
    }),
    'runner.group': runner?.group ?? 'any',
    'runner.labels': labels.length === 0 ? 'any' : labels.toSorted().join(', '),
    region: `${region.name} (${region.operator})`,
    variables: variables.length === 0 ? 'none' : variablesText(variables),
    ...Object.fromEntries(
      policies.map(({ policyId, name: policyName, revision, enabledCount }) => [
        `policy ${policyName}`,
        `revision ${revision} of ${policyId}${enabledCount > 1 ? `, enabled ${enabledCount} times` : ''}`,
      ]),
    ),
  };
}

/** Names and values of variables stand in no ledger. */
function variablesText(variables: Awaited<ReturnType<typeof variableVersions>>): string {
  const newest = Math.max(...variables.map(({ updatedAt }) => updatedAt.getTime()));
  const all = variables.map(({ id, name, updatedAt }) => [id, name, updatedAt.toISOString()]);
  return `${variables.length}, the last set at ${new Date(newest).toISOString()}, ${sha256(all).slice(0, 12)}`;
}

interface ReleaseFacts {
  readonly id: string;
  readonly version: string;
  /** Names its content: see releases/digest.ts. */
  readonly digest: string;
  readonly images: readonly Candidate[];
}

async function releasesOf(
  { db: { sql }, teams }: Who,
  ids: readonly string[],
): Promise<ReadonlyMap<string, ReleaseFacts>> {
  const rows = await sql<ReleaseFacts[]>`
    select r.id, r.version, r.digest, coalesce(jsonb_agg(jsonb_build_object('id', a.id, 'kind', a.kind, 'name', a.name, 'uri', a.uri, 'digest', a.digest)
      order by a.digest) filter (where a.id is not null), '[]') as images
    from releases r
    left join release_artifacts ra on ra.release_id = r.id and ra.team_id = r.team_id
    left join artifacts a on a.id = ra.artifact_id and a.kind = 'image'
    where r.id = any(${[...new Set(ids)]}::text[]) and r.team_id = any(${teams.teamIds}::text[])
    group by r.id`;
  return new Map(rows.map((row) => [row.id, row]));
}

function releaseParts(promotion: Promotion, release: ReleaseFacts | undefined): SubjectParts {
  if (release === undefined) throw new Error(`release ${promotion.releaseId} is gone`);
  const chosen = choose(promotion, release.images);
  const image = 'held' in chosen ? `none (${chosen.held})` : `${chosen.image}@${chosen.artifact.digest}`;
  return { release: `${release.version}, ${release.digest}`, image };
}

/** `deploy.app: web → web2` */
export function changesBetween(before: SubjectParts, after: SubjectParts): string {
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])].toSorted();
  const changed = names.filter((name) => before[name] !== after[name]);
  const seen = changed.filter((name) => name !== REVISION);
  if (seen.length === 0) return 'the environment was changed, and changed back';
  const text = seen
    .slice(0, NAMED_MAX)
    .map((name) => `${name}: ${before[name] ?? 'none'} → ${after[name] ?? 'none'}`)
    .join('; ');
  return seen.length > NAMED_MAX ? `${text}; and ${seen.length - NAMED_MAX} more` : text;
}
