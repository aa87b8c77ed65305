/**
 * This file knows what guards an environment, and who may change it then. A guard is an approval field of its
 * own, or what a feature above says through the port `GuardsOf`: an enforced policy, a budget that holds, a
 * CI connection. Only admins and owners put those in force and out of it, so they alone change what a guard
 * goes by: nobody takes away what guards against them.
 *
 * Of a guard and a change that come at once the second one sees the first: a refusal locks the team before it
 * asks, in the transaction of the change, and whoever puts a guard in force holds the same lock (`lockTeam`).
 * The environment's own fields are read under the environment's lock, which is taken before the team's.
 */
import { requireRole } from '../../kit/authorise.ts';
import type { Ctx } from '../../kit/context.ts';
import { lockTeam, type Who } from '../../kit/resource/index.ts';
import { roleAtLeast } from '../../kit/scopes.ts';
import type { Environment } from './rows.ts';

export interface Guard {
  readonly kind: 'approval' | 'policy' | 'budget' | 'connection';
  /** Id of the policy, the budget or the connection. */
  readonly id?: string;
  /** It is for people: `the policy "release-only"`. */
  readonly name: string;
}

/** The port: guards that a feature above knows of. Within the teams of the call. */
export type GuardsOf = (
  who: Who,
  environment: Pick<Environment, 'id' | 'teamId' | 'projectId'>,
) => Promise<readonly Guard[]>;

export interface GuardedAct {
  /** As in "… needs admin". */
  readonly act: string;
  /**
   * `content`: what is built and deployed there, which approvals and policies decide and which is nothing to
   * budgets and connections. Default: the environment itself.
   */
  readonly about?: 'environment' | 'content';
}

export interface Guards {
  of(who: Who, environment: Environment): Promise<readonly Guard[]>;
  /**
   * Throws `role_insufficient` for a role below admin if something guards the environment. In the transaction
   * of what is refused; where its own fields change, under its lock.
   */
  refuse(tx: Ctx, environment: Environment, act: GuardedAct): Promise<void>;
}

const OF_CONTENT: ReadonlySet<Guard['kind']> = new Set(['approval', 'policy']);
/** Guards that a refusal names. */
const NAMED_MAX = 5;

export function createGuards(ports: () => readonly GuardsOf[]): Guards {
  const of: Guards['of'] = async (who, environment) => {
    const all = [...approvalsOf(environment)];
    for (const port of ports()) all.push(...(await port(who, environment)));
    return all;
  };
  return {
    of,
    refuse: async (tx, environment, { act, about = 'environment' }) => {
      const { id: environmentId, teamId, name } = environment;
      const role = tx.teams.role(teamId);
      if (role !== undefined && roleAtLeast(role, 'admin')) return;
      await lockTeam(tx, teamId);
      const all = await of(tx, environment);
      const guards = about === 'content' ? all.filter(({ kind }) => OF_CONTENT.has(kind)) : all;
      if (guards.length === 0) return;
      requireRole(role, 'admin', {
        act,
        because: `the environment "${name}" is guarded by ${listed(guards)}; ask an admin or owner of the team`,
        details: { resource: 'environment', environmentId, guards: guards.slice(0, NAMED_MAX) },
      });
    },
  };
}

/** Approval fields that are set. */
function approvalsOf({
  deployApproval,
  requiredApprovals,
  allowSelfApproval,
  promotionsOnly,
}: Environment): readonly Guard[] {
  const set = {
    deployApproval,
    requiredApprovals: requiredApprovals > 1,
    allowSelfApproval: !allowSelfApproval,
    promotionsOnly,
  };
  return Object.entries(set).flatMap(([field, is]) =>
    is ? [{ kind: 'approval' as const, name: `its field ${field}` }] : [],
  );
}

function listed(guards: readonly Guard[]): string {
  const names = guards.slice(0, NAMED_MAX).map(({ name }) => name);
  const more = guards.length - names.length;
  return [...names, ...(more > 0 ? [`${more} more`] : [])].join(', ');
}
