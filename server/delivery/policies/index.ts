/**
 * Policies are rules that acts of a team must keep; here are the gates where they are judged, and what was
 * decided there.
 */
import { createHash } from 'node:crypto';
import type { JsonObject } from '@bufbuild/protobuf';
import canonicalize from 'canonicalize';
import { and, eq, sql } from 'drizzle-orm';
import { apiError } from '@svc/proto/http/errors.ts';
import { implement, type Handlers } from '@svc/proto/http/implement.ts';
import {
  PoliciesService,
  PolicyDecisionSchema,
  PolicySchema,
  SimulationSchema,
  type CreateRequest,
  type UpdateDocumentRequest,
} from '@svc/proto/gen/svc/policies/v1/policies_pb.ts';
import {
  environmentGuards,
  environmentRows,
  environmentsFeature,
  findPlaces,
} from '../../apps/environments/index.ts';
import { projectRows, projectsFeature } from '../../apps/projects/index.ts';
import type { Ctx } from '../../kit/context.ts';
import { declareFeature, fill } from '../../kit/feature.ts';
import { described, findsByName } from '../../kit/search.ts';
import { notFound } from '../../kit/not-found.ts';
import {
  change,
  lockTeam,
  rowsOf,
  shown,
  unlessTaken,
  type RowOf,
  type Who,
} from '../../kit/resource/index.ts';
import { teamsFeature } from '../../access/teams/index.ts';
import { artifactsFeature } from '../artifacts/index.ts';
import { attestationsFeature } from '../attestations/index.ts';
import { buildGate, buildsFeature } from '../../engine/builds/index.ts';
import { createBuildGate } from './build-gate.ts';
import { readDocument, type PolicyDocument } from './engine/document.ts';
import { createReplay, type Replay } from './engine/replay.ts';
import { policyGuards } from './guards.ts';
import { purgeGates } from './gate-log.ts';
import { createGates } from './gates.ts';
import { inForce, policies, policyDecisions, policyGates, policyRevisions } from './schema.ts';
import { simulate } from './simulation.ts';
import { createTurns } from './turns.ts';

export { passageOfBuild, placeOf } from './build-gate.ts';
export { revisionsInForce } from './gate-log.ts';
export type { Gates, Passage, Word } from './passage.ts';

const POLICIES_MAX = 200;
/** Each gate hands all that apply to the judging thread. */
const ENABLED_BYTES_MAX = 524_288;
const SIMULATED_GATES = 100;
/** Simulations of one account, the one that runs among them: no account keeps others from simulating. */
const SIMULATIONS_MAX = 3;
const SIMULATION_WAIT_MS = 15_000;

type Policy = RowOf<typeof policies>;
type Revision = typeof policyRevisions.$inferSelect;

const rows = rowsOf(policies);
const gateRows = rowsOf(policyGates);
const decisionRows = rowsOf(policyDecisions);

export function createPolicies(replay: Replay): Handlers<Ctx> {
  const simulating = createTurns({ atOnceMax: SIMULATIONS_MAX, waitMs: SIMULATION_WAIT_MS });
  return implement(PoliciesService, {
    list: async (_request, ctx: Ctx) => {
      const found = await rows.list(ctx, { by: policies.name });
      const placeOf = await findPlaces(ctx, found);
      return {
        policies: found.map((row) => shown(PolicySchema, { ...row, scopeDeleted: placeOf(row).isDeleted })),
      };
    },
    get: async ({ policyId }, ctx: Ctx) => await present(ctx, await rows.find(ctx, policyId)),
    create: async (request, ctx: Ctx) => await create(ctx, request),
    check: async ({ document }) => ({ document: documentOf(document) as unknown as JsonObject }),
    updateDocument: async (request, ctx: Ctx) => await updateDocument(ctx, request),
    enable: async ({ policyId }, ctx: Ctx) => await present(ctx, await enable(ctx, policyId, true)),
    disable: async ({ policyId }, ctx: Ctx) => await present(ctx, await enable(ctx, policyId, false)),
    simulate: async ({ policyId, limit = SIMULATED_GATES, document: draft }, ctx: Ctx) => {
      const { projectId, environmentId, ...policy } = await rows.find(ctx, policyId);
      const { document } =
        draft === undefined ? await revisionOf(ctx, policy) : { document: documentOf(draft) };
      const asked = { policyId, projectId, environmentId, limit, document };
      const work = async () => await simulate(ctx, replay, asked);
      return shown(SimulationSchema, await simulating(ctx.caller.userId, work));
    },
    decisions: async (request, ctx: Ctx) => {
      const { id } = await rows.find(ctx, request.policyId);
      const where = eq(policyDecisions.policyId, id);
      const { items, ...page } = await decisionRows.page(ctx, { ...request, of: id }, { where });
      const ids = items.map(({ gateId }) => gateId);
      const passed = await gateRows.list(ctx, {
        where: sql`${policyGates.id} = any(${sql.param(ids)}::text[])`,
      });
      const gates = new Map(passed.map((gate) => [gate.id, gate]));
      const decisions = items.flatMap((row) => {
        const gate = gates.get(row.gateId);
        if (gate === undefined) return []; // Purged meanwhile.
        const { action, subject, actorId, outcome: gateOutcome, overrideReason } = gate;
        return [
          shown(PolicyDecisionSchema, { ...row, action, subject, actorId, gateOutcome, overrideReason }),
        ];
      });
      return { ...page, decisions };
    },
  });
}

async function revisionOf({ db }: Who, { id, revision }: Pick<Policy, 'id' | 'revision'>): Promise<Revision> {
  const where = and(eq(policyRevisions.policyId, id), eq(policyRevisions.revision, revision));
  const [row] = await db.orm.select().from(policyRevisions).where(where);
  if (row === undefined) throw new Error(`revision ${revision} of ${id} is missing`);
  return row;
}

async function present(who: Who, row: Policy) {
  const { document } = await revisionOf(who, row);
  const placeOf = await findPlaces(who, [row]);
  return shown(
    PolicySchema,
    { ...row, scopeDeleted: placeOf(row).isDeleted },
    { document: document as unknown as JsonObject },
  );
}

function documentOf(json: unknown): PolicyDocument {
  const read = readDocument(json);
  if ('document' in read) return read.document;
  const { problems } = read;
  const [first] = problems;
  throw apiError(
    'policy_document_invalid',
    `the document has ${problems.length === 1 ? 'a problem' : `${problems.length} problems, the first`} at "${first?.where}": ${first?.message}`,
    { details: { problems } },
  );
}

type NewRevision = Pick<Revision, 'document' | 'documentBytes' | 'sha256'>;

function newRevision(json: unknown): NewRevision {
  const document = documentOf(json);
  const text = canonicalize(document);
  if (text === undefined) throw new Error('a document has no JSON form');
  const sha256 = createHash('sha256').update(text).digest();
  return { document, documentBytes: Buffer.byteLength(text), sha256 };
}

async function addRevision(ctx: Ctx, { id, teamId, revision }: Policy, made: NewRevision): Promise<void> {
  const at = ctx.clock.now();
  const row = { ...made, policyId: id, teamId, revision, by: ctx.caller.userId, at };
  await ctx.db.orm.insert(policyRevisions).values(row);
}

/** The document itself is kept for good, by its revision. */
const detailsOf = ({ revision }: Pick<Policy, 'revision'>, { sha256, document }: NewRevision) => ({
  revision,
  sha256: Buffer.from(sha256).toString('hex'),
  mode: document.mode,
});

async function create(ctx: Ctx, request: CreateRequest) {
  const { teamId, name } = request;
  const scope = await scopeOf(ctx, request);
  const made = newRevision(request.document);
  const details = (row: Policy) => ({ name, ...detailsOf(row, made), ...scope });
  const created = change(ctx, { action: 'policy.created', details }, async (tx) => {
    await rows.atMost(tx, { teamId, max: POLICIES_MAX });
    const row = await rows.insert(tx, { teamId, name, ...scope });
    await addRevision(tx, row, made);
    return row;
  });
  const taken = { index: 'policies_name', resource: rows.kind, field: 'name', value: name };
  return await present(ctx, await unlessTaken(created, taken));
}

async function scopeOf(ctx: Ctx, { projectId, environmentId }: CreateRequest) {
  if (projectId !== undefined) await projectRows.find(ctx, projectId);
  if (environmentId !== undefined) {
    const environment = await environmentRows.find(ctx, environmentId);
    if (projectId !== undefined && environment.projectId !== projectId) throw notFound('environment');
  }
  return { projectId: projectId ?? null, environmentId: environmentId ?? null };
}

async function updateDocument(ctx: Ctx, { policyId, document }: UpdateDocumentRequest) {
  await rows.find(ctx, policyId);
  const made = newRevision(document);
  await ctx.db.transact(async (db) => {
    const tx = { ...ctx, db };
    const before = await lockPolicy(tx, policyId);
    const replaced = await revisionOf(tx, before);
    if (Buffer.from(replaced.sha256).equals(made.sha256)) return;
    const details = (row: Policy) => ({
      name: row.name,
      ...detailsOf(row, made),
      before: detailsOf(before, replaced),
    });
    await change(tx, { action: 'policy.document_updated', details }, async () => {
      const after = await rows.update(tx, policyId, { set: { revision: before.revision + 1 } });
      if (after === undefined) throw notFound(rows.kind);
      await addRevision(tx, after, made);
      await refuseTooMuch(tx, after);
      return after;
    });
  });
  return await present(ctx, await rows.find(ctx, policyId));
}

async function enable(ctx: Ctx, policyId: string, enabled: boolean): Promise<Policy> {
  await rows.find(ctx, policyId);
  const details = ({ name, revision }: Policy) => ({ name, revision });
  const action = enabled ? 'policy.enabled' : 'policy.disabled';
  await change<Policy | undefined>(ctx, { action, details }, async (tx) => {
    const before = await lockPolicy(tx, policyId);
    if (enabled) await refuseDeletedScope(tx, before);
    const count = enabled ? { enabledCount: sql`${policies.enabledCount} + 1` } : {};
    const set = { set: { enabled, ...count }, where: eq(policies.enabled, !enabled) };
    const after = await rows.update(tx, policyId, set);
    if (after !== undefined) await refuseTooMuch(tx, after);
    return after;
  });
  return await rows.find(ctx, policyId);
}

/** It would be shown as in force, and guard nothing. */
async function refuseDeletedScope(tx: Ctx, policy: Policy): Promise<void> {
  const placeOf = await findPlaces(tx, [policy]);
  if (!placeOf(policy).isDeleted) return;
  const { name, projectId, environmentId } = policy;
  throw apiError(
    'state_conflict',
    `the policy "${name}" is bound to ${environmentId ?? projectId}, which was deleted, so that it would guard nothing; create one that is bound to what is there`,
    { details: { resource: rows.kind, projectId, environmentId } },
  );
}

/**
 * Changes to the policies of a team take turns, with each other because they have a limit in common, and with
 * those of the environments that they guard.
 */
async function lockPolicy(tx: Ctx, policyId: string): Promise<Policy> {
  const { teamId } = await rows.find(tx, policyId);
  await lockTeam(tx, teamId);
  return await rows.lock(tx, policyId);
}

async function refuseTooMuch({ db }: Ctx, { teamId, enabled }: Policy): Promise<void> {
  if (!enabled) return;
  const [row] = await db.orm
    .select({ bytes: sql<number>`sum(${policyRevisions.documentBytes})::int` })
    .from(policies)
    .innerJoin(policyRevisions, inForce)
    .where(and(eq(policies.teamId, teamId), policies.enabled));
  const current = row?.bytes ?? 0;
  if (current <= ENABLED_BYTES_MAX) return;
  throw apiError(
    'limit_reached',
    `the documents of the enabled policies of the team would have ${current} bytes, at most ${ENABLED_BYTES_MAX} are judged`,
    { details: { resource: rows.kind, limit: ENABLED_BYTES_MAX, current } },
  );
}

export const policiesFeature = declareFeature({
  name: 'policies',
  on: {
    teams: teamsFeature,
    projects: projectsFeature,
    environments: environmentsFeature,
    builds: buildsFeature,
    attestations: attestationsFeature,
    artifacts: artifactsFeature,
  },
  events: {
    'policy.denied': { when: 'A policy has refused an act.', scope: 'policy:read', delivered: true },
  },
  reads: ['policies', 'policy_decisions', 'policy_gates', 'policy_revisions'],
  start: ({ db }, { attestations: { root } }) => {
    const { close, ...gates } = createGates({ db, root });
    return {
      gates,
      services: [createPolicies(createReplay())],
      purges: [async (nowMs) => await purgeGates(db.sql, nowMs)],
      fills: [
        findsByName(described(policies, 'policy:read', policies.name)),
        fill(buildGate, createBuildGate(gates)),
        fill(environmentGuards, policyGuards),
      ],
      stop: async () => close(),
    };
  },
});
