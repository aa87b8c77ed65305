import { boolean, index, integer, text, uniqueIndex } from 'drizzle-orm/pg-core';
import { AgentKind, AgentKindSchema } from '@svc/proto/gen/svc/agents/v1/agents_pb.ts';
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
