/**
 * This says how much work an agent may submit, and what becomes of it when the agent is switched off. Who
 * submits and who switches off take turns at the agent's row, so that nothing is submitted behind the end.
 */
// No TeamScope: given the row, or the team, that the call was authorised for.
import { apiError } from '@svc/proto/http/errors.ts';
import type { WorkQueue } from '@svc/proto/queue/queue.ts';
import { refuseDisabled, type AgentWork } from '../../access/agents/index.ts';
import type { Database } from '../../base/db/index.ts';
import type { Caller } from '../../kit/context.ts';
import { cancelEach } from './team-work.ts';
import type { Wake } from './wake.ts';

/** The agent that submits an item, and its key. */
export interface SubmittingAgent {
  readonly id: string;
  readonly keyId: string;
  readonly approvalId?: string | undefined;
}

/** Returns undefined where no agent calls. */
export const agentOf = ({ kind, userId, credentialId, approval }: Caller): SubmittingAgent | undefined =>
  kind === 'agent' ? { id: userId, keyId: credentialId, approvalId: approval?.id } : undefined;

interface Limits {
  readonly name: string;
  readonly enabled: boolean;
  readonly atOnce: number;
  readonly perDay: number;
}

/**
 * It is called in the transaction of the submission, which holds the agent's row from here. Throws
 * `agent_disabled` and `limit_reached`.
 */
export async function admitAgent(
  { sql }: Database,
  { teamId, id }: { readonly teamId: string; readonly id: string },
): Promise<void> {
  const [agent] = await sql<Limits[]>`
    select name, enabled, runs_at_once as "atOnce", runs_per_day as "perDay" from agents
    where id = ${id} and team_id = ${teamId} for no key update`;
  refuseDisabled(agent ?? { name: id, enabled: false });
  if (agent === undefined) return;
  const [counted] = await sql<Array<{ open: number; lately: number }>>`
    select (select count(*)::int from work_items w where w.agent_id = ${id} and w.team_id = ${teamId} and w.finished_at is null) as open,
      (select count(*)::int from (
        select from work_items w where w.team_id = ${teamId} and w.agent_id = ${id} and w.created_at > now() - interval '24 hours'
        limit ${agent.perDay}::int) latest) as lately`;
  const { open = 0, lately = 0 } = counted ?? {};
  if (open >= agent.atOnce)
    throw tooMuch(
      `the agent ${agent.name} has ${open} runs and builds open, at most ${agent.atOnce} are allowed at once; let one end`,
      { limit: agent.atOnce, current: open },
    );
  if (lately >= agent.perDay)
    throw tooMuch(
      `the agent ${agent.name} has submitted ${lately} runs and builds within 24 hours, at most ${agent.perDay} are allowed`,
      { limit: agent.perDay, current: lately },
    );
}

function tooMuch(message: string, counted: { readonly limit: number; readonly current: number }): Error {
  return apiError('limit_reached', message, { details: { resource: 'run of an agent', ...counted } });
}

export interface AgentWorkDeps {
  readonly queue: WorkQueue;
  readonly wake: Wake;
  onError(error: unknown): void;
}

export function createAgentWork(deps: AgentWorkDeps): AgentWork {
  return {
    stop: async (db, { teamId, id }) => {
      const open = await db.sql<Array<{ id: string }>>`
        select id from work_items where agent_id = ${id} and team_id = ${teamId} and finished_at is null order by id`;
      await cancelEach(deps, db, { teamId, ids: open.map((item) => item.id) });
      db.afterCommit(() => open.forEach((item) => deps.wake.notify(item.id)));
      return open.length;
    },
  };
}
