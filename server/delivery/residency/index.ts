/** Residency: chains of attestations that say in which region an environment's work was run, and where an artifact was made, is stored and runs. */
import type { Feature, System } from '../../platform/feature.ts';
import { eq } from 'drizzle-orm';
import { implement } from '@svc/proto/http/implement.ts';
import type { Handlers } from '@svc/proto/http/implement.ts';
import {
  ArtifactResidencyAttestationSchema,
  ResidencyAttestationSchema,
  ResidencyService,
} from '@svc/proto/gen/svc/residency/v1/residency_pb.ts';
import { environmentRows } from '../../apps/environments/index.ts';
import type { Environment } from '../../apps/environments/index.ts';
import { regionOfTeam } from '../../engine/regions/index.ts';
import type { Ctx } from '../../platform/context.ts';
import { newId } from '../../platform/ids.ts';
import { artifactRows } from '../artifacts/index.ts';
import type { Signer } from '../signingkeys/index.ts';
import { change, rowsOf, shown } from '../../platform/resource/index.ts';
import { attestArtifact, artifactLinks, bySequence, signJob } from './artifacts.ts';
import { digestOf, nextLink } from './chain.ts';
import { artifactResidencyAttestations, residencyAttestations } from './schema.ts';

const rows = rowsOf(residencyAttestations);
const byPlace = { by: residencyAttestations.sequence, descending: true };

export function createResidency(): Handlers<Ctx> {
  return implement(ResidencyService, {
    listForEnvironment: async (request, ctx: Ctx) => {
      const { id } = await environmentRows.find(ctx, request.environmentId);
      const query = { ...byPlace, where: eq(residencyAttestations.environmentId, id) };
      const { items, ...page } = await rows.page(ctx, { ...request, of: id }, query);
      return { ...page, attestations: items.map((row) => shown(ResidencyAttestationSchema, row)) };
    },
    attestEnvironment: async ({ environmentId }, ctx: Ctx) =>
      shown(ResidencyAttestationSchema, await attest(ctx, await environmentRows.find(ctx, environmentId))),
    listForArtifact: async (request, ctx: Ctx) => {
      const { id } = await artifactRows.find(ctx, request.artifactId);
      const query = { ...bySequence, where: eq(artifactResidencyAttestations.artifactId, id) };
      const { items, ...page } = await artifactLinks.page(ctx, { ...request, of: id }, query);
      return { ...page, attestations: items.map((row) => shown(ArtifactResidencyAttestationSchema, row)) };
    },
    attestArtifact: async ({ artifactId }, ctx: Ctx) =>
      shown(
        ArtifactResidencyAttestationSchema,
        await attestArtifact(ctx, await artifactRows.find(ctx, artifactId)),
      ),
  });
}

async function attest(ctx: Ctx, environment: Environment) {
  const { id: environmentId, teamId } = environment;
  const act = {
    action: 'residency.attested',
    on: environment,
    details: ({ sequence, regionId, operator, digest }: typeof residencyAttestations.$inferSelect) => ({
      sequence,
      regionId,
      operator,
      digest,
    }),
  };
  return await change(ctx, act, async (tx) => {
    await environmentRows.lock(tx, environmentId); // Attestations of one environment take turns.
    const { id: regionId, operator } = await regionOfTeam(tx.db, teamId);
    const [last] = await rows.list(tx, {
      ...byPlace,
      where: eq(residencyAttestations.environmentId, environmentId),
      max: 1,
    });
    const attestedAt = ctx.clock.now();
    const id = newId('att', attestedAt.getTime());
    const fact = { id, teamId, environmentId, regionId, operator, attestedBy: ctx.caller.userId, attestedAt };
    return await rows.insert(tx, nextLink(fact, last, digestOf));
  });
}

export function residencyFeature({ config, db }: System, { signer }: { readonly signer: Signer }): Feature {
  return {
    services: [createResidency()],
    jobs: [signJob({ db, signer, typeBase: config.attestationTypeBase })],
  };
}
