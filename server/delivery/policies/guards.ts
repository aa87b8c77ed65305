/**
 * Policies that guard environments: in force and enforced, by their scope alone. What a `when` will say of an
 * environment that is changed is not known before.
 */
import { and, asc, eq, isNull, or, sql } from 'drizzle-orm';
import type { GuardsOf } from '../../apps/environments/index.ts';
import { inTeams } from '../../kit/resource/index.ts';
import { ACTIONS } from './engine/document.ts';
import { inForce, policies, policyRevisions } from './schema.ts';

/** A release is made in no environment. */
const IN_ENVIRONMENTS = ACTIONS.filter((action) => action !== 'release.create');

export const policyGuards: GuardsOf = async ({ db, teams }, { id, teamId, projectId }) => {
  const found = await db.orm
    .select({ id: policies.id, name: policies.name })
    .from(policies)
    .innerJoin(policyRevisions, inForce)
    .where(
      and(
        inTeams(policies, teams),
        eq(policies.teamId, teamId),
        policies.enabled,
        or(isNull(policies.projectId), eq(policies.projectId, projectId)),
        or(isNull(policies.environmentId), eq(policies.environmentId, id)),
        sql`${policyRevisions.document} ->> 'mode' = 'enforce'`,
        sql`jsonb_exists_any(${policyRevisions.document} -> 'on', ${sql.param([...IN_ENVIRONMENTS])}::text[])`,
      ),
    )
    .orderBy(asc(policies.name));
  return found.map((policy) => ({ kind: 'policy', id: policy.id, name: `the policy "${policy.name}"` }));
};
