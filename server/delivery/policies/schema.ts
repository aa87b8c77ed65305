/**
 * Policies, and what passed gates. Nothing refers to a build, an environment or a project: what was decided
 * outlives them. Rows of everything but `policies` are made and never changed.
 */
import { sql } from 'drizzle-orm';
import {
  boolean,
  check,
  foreignKey,
  index,
  integer,
  jsonb,
  pgTable,
  primaryKey,
  text,
  uniqueIndex,
} from 'drizzle-orm/pg-core';
import {
  GateOutcome,
  GateOutcomeSchema,
  PolicyOutcome,
  PolicyOutcomeSchema,
} from '@svc/proto/gen/svc/policies/v1/policies_pb.ts';
import { bytes, id, instant } from '../../base/db/columns.ts';
import { enumColumn, teamTable } from '../../kit/resource/team-table.ts';
import { teams } from '../../kit/resource/schema.ts';
import type { PolicyAction, PolicyDocument } from './engine/document.ts';
import type { FailedRule } from './engine/verdict.ts';
import type { RecordedInput } from './recorded-input.ts';

export const policies = teamTable(
  { name: 'policies', kind: 'policy', prefix: 'pol' },
  {
    name: text('name').notNull(),
    projectId: id('project_id'),
    environmentId: id('environment_id'),
    enabled: boolean('enabled').notNull().default(false),
    /** The one in force, see `policy_revisions`. */
    revision: integer('revision').notNull().default(1),
    /** Times that it was enabled: switched off and on again, it is not what it was. */
    enabledCount: integer('enabled_count').notNull().default(0),
  },
  (t) => [
    uniqueIndex('policies_name').on(t.teamId, t.name),
    // A gate asks for these.
    index('policies_enabled')
      .on(t.teamId)
      .where(sql`${t.enabled}`),
  ],
);

export const policyRevisions = pgTable(
  'policy_revisions',
  {
    teamId: id('team_id').notNull(),
    policyId: id('policy_id').notNull(),
    revision: integer('revision').notNull(),
    document: jsonb('document').$type<PolicyDocument>().notNull(),
    documentBytes: integer('document_bytes').notNull(),
    /** SHA-256 of the document in canonical JSON. */
    sha256: bytes('sha256').notNull(),
    by: id('by').notNull(),
    at: instant('at').notNull(),
  },
  (t) => [
    primaryKey({ columns: [t.policyId, t.revision] }),
    foreignKey({
      columns: [t.teamId, t.policyId],
      foreignColumns: [policies.teamId, policies.id],
      name: 'policy_revisions_policy_fk',
    }).onDelete('cascade'),
  ],
);

/** Joins a policy with the document that it has now. */
export const inForce = sql`${policyRevisions.policyId} = ${policies.id} and ${policyRevisions.revision} = ${policies.revision}`;

/** Each passage, whether there are policies or not. */
export const policyGates = teamTable(
  { name: 'policy_gates', kind: 'gate', prefix: 'pgt' },
  {
    action: text('action').$type<PolicyAction>().notNull(),
    subject: text('subject').notNull(),
    projectId: id('project_id'),
    environmentId: id('environment_id'),
    /** SHA-256 of a row of `policy_inputs`. */
    inputSha256: bytes('input_sha256').notNull(),
    outcome: enumColumn('outcome', GateOutcome, GateOutcomeSchema).notNull(),
    actorKind: text('actor_kind').notNull(),
    /** Account, or credential of a CI job; empty for the service itself. */
    actorId: id('actor_id').notNull(),
    overrideReason: text('override_reason'),
  },
  (t) => [
    // The newest gates of an action, for simulations: ids are made in the order of time.
    index('policy_gates_action').on(t.teamId, t.action, t.id),
    // What one build or promotion has passed.
    index('policy_gates_subject').on(t.teamId, t.subject, t.id),
    check('policy_gates_overridden', sql`(${t.outcome} = 'overridden') = (${t.overrideReason} is not null)`),
  ],
);

/** Gates saw these inputs; see recorded-input.ts. */
export const policyInputs = pgTable(
  'policy_inputs',
  {
    teamId: id('team_id')
      .notNull()
      .references(() => teams.id, { onDelete: 'cascade' }),
    /** SHA-256 of the input in canonical JSON. */
    sha256: bytes('sha256').notNull(),
    input: jsonb('input').$type<RecordedInput>().notNull(),
  },
  (t) => [primaryKey({ columns: [t.teamId, t.sha256] })],
);

export const policyDecisions = teamTable(
  { name: 'policy_decisions', kind: 'decision', prefix: 'pdc', within: { gateId: policyGates } },
  {
    gateId: id('gate_id').notNull(),
    policyId: id('policy_id').notNull(),
    revision: integer('revision').notNull(),
    outcome: enumColumn('outcome', PolicyOutcome, PolicyOutcomeSchema).notNull(),
    failed: jsonb('failed').$type<readonly FailedRule[]>().notNull(),
    /** Why there is no answer. */
    reason: text('reason'),
    ms: integer('ms').notNull(),
  },
  (t) => [
    uniqueIndex('policy_decisions_gate').on(t.gateId, t.policyId),
    index('policy_decisions_policy').on(t.teamId, t.policyId, t.id),
  ],
);
