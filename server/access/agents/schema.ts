import type { JsonObject } from '@bufbuild/protobuf';
import { sql } from 'drizzle-orm';
import { boolean, index, integer, jsonb, text, uniqueIndex } from 'drizzle-orm/pg-core';
import {
  AgentApprovalState,
  AgentApprovalStateSchema,
  AgentKind,
  AgentKindSchema,
} from '@svc/proto/gen/svc/agents/v1/agents_pb.ts';
import { bytes, id, instant } from '../../base/db/columns.ts';
import { enumColumn, teamTable } from '../../kit/resource/team-table.ts';

export const agents = teamTable(
  { name: 'agents', kind: 'agent', prefix: 'agt' },
  {
    name: text('name').notNull(),
    kind: enumColumn('kind', AgentKind, AgentKindSchema).notNull(),
    /** Scopes that its keys hold. */
    permissions: text('permissions').array().notNull(),
    enabled: boolean('enabled').notNull().default(true),
    /** It may name somebody who has left the team since, and no key is issued then. */
    sponsorUserId: id('sponsor_user_id').notNull(),
    runsAtOnce: integer('runs_at_once').notNull().default(5),
    runsPerDay: integer('runs_per_day').notNull().default(200),
    createdBy: id('created_by').notNull(),
  },
  (t) => [
    uniqueIndex('agents_name').on(t.teamId, t.name),
    // It finds those whose sponsor leaves.
    index('agents_sponsor').on(t.sponsorUserId, t.teamId),
  ],
);

export const agentKeys = teamTable(
  { name: 'agent_keys', kind: 'agent key', prefix: 'agk', within: { agentId: agents } },
  {
    agentId: id('agent_id').notNull(),
    /** Public part of the secret; finds the row. */
    kid: text('kid').notNull(),
    /** HMAC-SHA-256 of the secret part under the installation's pepper. */
    digest: bytes('digest').notNull(),
    issuedBy: id('issued_by').notNull(),
    /** The API key that it was issued with, whose end is its end too; null when a session issued it. */
    issuedWith: id('issued_with'),
    expiresAt: instant('expires_at').notNull(),
    revokedAt: instant('revoked_at'),
  },
  (t) => [
    uniqueIndex('agent_keys_kid').on(t.kid),
    index('agent_keys_of_agent').on(t.teamId, t.agentId, t.id),
    // It finds those of somebody who leaves, and those that are deleted in time.
    index('agent_keys_issuer').on(t.issuedBy, t.teamId),
    index('agent_keys_end').on(t.expiresAt),
  ],
);

export const agentApprovals = teamTable(
  { name: 'agent_approvals', kind: 'approval', prefix: 'apr', within: { agentId: agents } },
  {
    agentId: id('agent_id').notNull(),
    action: text('action').notNull(),
    resourceId: text('resource_id').notNull(),
    /** SHA-256 of the one call that it is for. It is null where any call of the action will do. */
    fingerprint: bytes('fingerprint'),
    /** The request as people read it, without its secrets; null where there was none. */
    summary: jsonb('summary').$type<JsonObject>(),
    /** Nobody writes that it has expired: its time says so. */
    state: enumColumn('state', AgentApprovalState, AgentApprovalStateSchema).notNull(),
    /** SHA-256. */
    tokenDigest: bytes('token_digest'),
    decidedBy: id('decided_by'),
    expiresAt: instant('expires_at').notNull(),
    usedAt: instant('used_at'),
    usedRequestId: text('used_request_id'),
  },
  (t) => [
    uniqueIndex('agent_approvals_token')
      .on(t.tokenDigest)
      .where(sql`${t.tokenDigest} is not null`),
    // It finds what is open of an agent, and what of a team waits for people.
    index('agent_approvals_open')
      .on(t.teamId, t.agentId)
      .where(sql`${t.state} in ('requested', 'granted')`),
    index('agent_approvals_end').on(t.expiresAt),
  ],
);
