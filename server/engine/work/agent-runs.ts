/** Lists what an agent submitted. */
import { implementPart, type Handlers } from '@svc/proto/http/implement.ts';
import { AgentRunSchema, AgentsService, type RunsRequest } from '@svc/proto/gen/svc/agents/v1/agents_pb.ts';
import { agentRows } from '../../access/agents/index.ts';
import type { SqlTag } from '../../base/db/index.ts';
import { requireTeam } from '../../kit/authorise.ts';
import type { Ctx, TeamScope } from '../../kit/context.ts';
import { closePage, openPage } from '../../kit/paging.ts';
import { shown } from '../../kit/resource/index.ts';
import type { WorkItem } from './schema.ts';

interface AgentRunRow extends Pick<
  WorkItem,
  'id' | 'kind' | 'state' | 'reason' | 'createdAt' | 'finishedAt' | 'meteredMs'
> {
  readonly environmentId: string | null;
  readonly keyId: string | null;
  readonly approvalId: string | null;
}

interface Page {
  readonly teamId: string;
  readonly agentId: string;
  readonly take: number;
  readonly after: readonly [createdAt: string, id: string] | undefined;
}

/** An item of a build is shown under the id of its build. */
async function agentRuns(
  sql: SqlTag,
  scope: TeamScope,
  { teamId, agentId, take, after }: Page,
): Promise<readonly AgentRunRow[]> {
  const behind =
    after === undefined ? sql`` : sql`and (w.created_at, w.id) < (${after[0]}::timestamptz, ${after[1]})`;
  return await sql<AgentRunRow[]>`
    select coalesce(w.build_id, w.id) as id, w.kind, w.state, w.reason, w.agent_key_id as "keyId", w.approval_id as "approvalId", w.created_at as "createdAt",
      w.finished_at as "finishedAt", w.metered_ms as "meteredMs", b.environment_id as "environmentId"
    from work_items w left join builds b on b.team_id = w.team_id and b.id = w.build_id
    where w.team_id = ${requireTeam(scope, teamId)} and w.agent_id = ${agentId} ${behind}
    order by w.created_at desc, w.id desc limit ${take}::int`;
}

export function createAgentRuns(): Handlers<Ctx> {
  return implementPart(AgentsService, {
    runs: async (request: RunsRequest, ctx: Ctx) => {
      const { teamId, agentId } = request;
      await agentRows.find(ctx, agentId);
      const page = openPage(ctx, agentId, request);
      const after = page.after && ([String(page.after[0]), String(page.after[1])] as const);
      const rows = await agentRuns(ctx.db.sql, ctx.teams, { teamId, agentId, take: page.take, after });
      const { items, ...next } = closePage(page, rows, (row) => [row.createdAt.toISOString(), row.id]);
      return { ...next, runs: items.map((row) => shown(AgentRunSchema, row)) };
    },
  });
}
