/**
 * Compliance packages: the evidence of a period, assembled by a job, reviewed by an owner, and exported only
 * then.
 */
import { and, eq, ne } from 'drizzle-orm';
import { apiError } from '@svc/proto/http/errors.ts';
import { implement, type Handlers } from '@svc/proto/http/implement.ts';
import {
  CompliancePackageSchema,
  CompliancePart,
  ComplianceService,
  type AssembleRequest,
} from '@svc/proto/gen/svc/compliance/v1/compliance_pb.ts';
import type { Ctx } from '../../kit/context.ts';
import { declareFeature } from '../../kit/feature.ts';
import { change, lockTeam, shown, transition } from '../../kit/resource/index.ts';
import { databaseNow } from '../../base/sql.ts';
import { auditFeature, createCheckpointFile, createCheckpointSigner } from '../audit/index.ts';
import { teamsFeature } from '../../access/teams/index.ts';
import { artifactsFeature } from '../artifacts/index.ts';
import { attestationsFeature } from '../attestations/index.ts';
import { policiesFeature } from '../policies/index.ts';
import { promotionsFeature } from '../promotions/index.ts';
import { releasesFeature } from '../releases/index.ts';
import { signingKeysFeature } from '../signingkeys/index.ts';
import { evidenceFeature } from '../../engine/evidence/index.ts';
import { impactFeature } from '../impact/index.ts';
import { addAssembly, assemblyJob } from './assembly.ts';
import { readPeriod } from './period.ts';
import { compliancePackages } from './schema.ts';
import { packageRows as rows, readManifest, readPieces, type CompliancePackage } from './store.ts';

/** The most packages of a team, failed ones not counted: each has 64 MiB at most. */
const PACKAGES_MAX = 100;

const show = (row: CompliancePackage) =>
  shown(CompliancePackageSchema, { ...row, selfReviewed: row.legalReviewedBy === row.requestedBy });

function createCompliance(): Handlers<Ctx> {
  return implement(ComplianceService, {
    list: async (request, ctx: Ctx) => {
      const { items, ...page } = await rows.page(ctx, { ...request, of: request.teamId }, {});
      return { ...page, packages: items.map(show) };
    },
    assemble: async (request, ctx: Ctx) => show(await assemble(ctx, request)),
    get: async ({ packageId }, ctx: Ctx) => show(await rows.find(ctx, packageId)),
    markLegalReviewed: async ({ packageId: id, note = null }, ctx: Ctx) => {
      const { userId } = ctx.caller;
      const reviewed = await transition(ctx, {
        rows,
        id,
        from: ['assembled'],
        to: 'legal_reviewed',
        set: { legalReviewedBy: userId, legalReviewedAt: ctx.clock.now(), legalReviewNote: note },
        action: 'compliance.legal_reviewed',
        details: ({ sha256, requestedBy }) => ({ sha256, note, selfReviewed: requestedBy === userId }),
      });
      return show(reviewed);
    },
    export: async ({ packageId, part }, ctx: Ctx) => {
      const found = await rows.find(ctx, packageId);
      const { state } = found;
      if (state !== 'legal_reviewed')
        throw apiError(
          'legal_review_required',
          `the package is ${state}, it is exported only when an owner has marked it as reviewed`,
          { details: { state } },
        );
      const isManifest = part === CompliancePart.MANIFEST;
      const data = isManifest ? await readManifest(ctx, found) : await readPieces(ctx, found);
      const of = isManifest && { part: 'manifest' };
      const details = ({ sha256 }: CompliancePackage) => ({ sha256, ...of });
      await change(ctx, { action: 'compliance.exported', details }, async () => await Promise.resolve(found));
      return { contentType: 'application/x-tar', data };
    },
    delete: async ({ packageId }, ctx: Ctx) => {
      await change(ctx, { action: 'compliance.deleted', details: whatWas }, async (tx) => {
        const gone = await rows.remove(tx, packageId, ne(compliancePackages.state, 'assembling'));
        if (gone !== undefined) return gone;
        const { state } = await rows.find(tx, packageId);
        throw apiError('state_conflict', `the package is ${state}, it is deleted only when that has ended`, {
          details: { resource: rows.kind, state },
        });
      });
      return {};
    },
  });
}

/** Who has a file of it finds it in the ledger all the same. */
const whatWas = ({ state, sha256, manifestSha256, periodStart, periodEnd }: CompliancePackage) => ({
  state,
  sha256,
  manifestSha256,
  periodStart: periodStart.toISOString(),
  periodEnd: periodEnd.toISOString(),
});

async function assemble(ctx: Ctx, request: AssembleRequest): Promise<CompliancePackage> {
  const { teamId } = request;
  // That of a server may be wrong, and whether a period has ended must not depend on it.
  const period = readPeriod(request, await databaseNow(ctx.db.sql));
  return await ctx.db.transact(async (db) => {
    const tx = { ...ctx, db };
    await lockTeam(tx, teamId); // Of two of one period that come at once the second one finds the first.
    const where = and(
      eq(compliancePackages.teamId, teamId),
      eq(compliancePackages.state, 'assembling'),
      eq(compliancePackages.periodStart, period.periodStart),
      eq(compliancePackages.periodEnd, period.periodEnd),
    );
    const [underWay] = await rows.list(tx, { where, max: 1 });
    if (underWay !== undefined) return underWay;
    await rows.atMost(tx, {
      teamId,
      max: PACKAGES_MAX,
      where: ne(compliancePackages.state, 'failed'),
      hint: 'delete those that are not needed any more',
    });
    const made = await rows.insert(tx, { teamId, ...period, requestedBy: ctx.caller.userId });
    await addAssembly(db, made);
    return made;
  });
}

export const complianceFeature = declareFeature({
  name: 'compliance',
  on: {
    teams: teamsFeature,
    audit: auditFeature,
    signingKeys: signingKeysFeature,
    attestations: attestationsFeature,
    evidence: evidenceFeature,
    artifacts: artifactsFeature,
    policies: policiesFeature,
    releases: releasesFeature,
    promotions: promotionsFeature,
    impact: impactFeature,
  },
  events: {
    'compliance.package_ready': {
      when: 'A compliance package is assembled and waits for its review.',
      scope: 'compliance:read',
      notifies: true,
    },
  },
  start: ({ config, db, clock, secrets }, { signingKeys: { signer }, attestations: { root, typeBase } }) => {
    const file = createCheckpointFile(config.dataDir);
    const checkpoints = createCheckpointSigner(secrets);
    const job = assemblyJob({ db, clock, signer, root, typeBase, file, checkpoints });
    return { services: [createCompliance()], jobs: [job] };
  },
});
