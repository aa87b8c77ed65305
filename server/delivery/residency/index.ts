/**
 * Residency is kept in chains of attestations that say in which region an environment's work was run, and
 * where an artifact was made, is stored and runs.
 */
import { eq } from 'drizzle-orm';
import { implement, type Handlers } from '@svc/proto/http/implement.ts';
import {
  ArtifactResidencyAttestationSchema,
  ResidencyAttestationSchema,
  ResidencyService,
} from '@svc/proto/gen/svc/residency/v1/residency_pb.ts';
import { environmentRows, environmentsFeature, type Environment } from '../../apps/environments/index.ts';
import { regionOfTeam, teamsFeature } from '../../access/teams/index.ts';
import type { Ctx } from '../../kit/context.ts';
import type { FeatureGate } from '../../kit/feature-gate.ts';
import { newId } from '../../base/ids.ts';
import { artifactRows, artifactsFeature } from '../artifacts/index.ts';
import { change, rowsOf, shown, type RowOf, type Who } from '../../kit/resource/index.ts';
import { attestationsFeature } from '../attestations/index.ts';
import { promotionsFeature } from '../promotions/index.ts';
import { signingKeysFeature } from '../signingkeys/index.ts';
import { switchesFeature } from '../../switches/index.ts';
import { declareFeature } from '../../kit/feature.ts';
import { attestArtifact, artifactLinks, bySequence, newestOfArtifact, signJob } from './artifacts.ts';
import { digestOf, nextLink } from './chain.ts';
import { artifactResidencyAttestations, residencyAttestations } from './schema.ts';

const rows = rowsOf(residencyAttestations);
type Link = RowOf<typeof residencyAttestations>;
const byPlace = { by: residencyAttestations.sequence, descending: true };

export function createResidency(gate: FeatureGate): Handlers<Ctx> {
  /** While the feature is off, nothing is made. */
  const isInert = ({ call }: Ctx): boolean => {
    if (gate.state('host.compliance.residency_chain') === 'open') return false;
    call.status = 200;
    return true;
  };
  return implement(ResidencyService, {
    listForEnvironment: async (request, ctx: Ctx) => {
      const { id } = await environmentRows.find(ctx, request.environmentId);
      const query = { ...byPlace, where: eq(residencyAttestations.environmentId, id) };
      const { items, ...page } = await rows.page(ctx, { ...request, of: id }, query);
      return { ...page, attestations: items.map((row) => shown(ResidencyAttestationSchema, row)) };
    },
    attestEnvironment: async ({ environmentId }, ctx: Ctx) => {
      const environment = await environmentRows.find(ctx, environmentId);
      const link = isInert(ctx) ? await newestOf(ctx, environment.id) : await attest(ctx, environment);
      return link === undefined ? {} : shown(ResidencyAttestationSchema, link);
    },
    listForArtifact: async (request, ctx: Ctx) => {
      const { id } = await artifactRows.find(ctx, request.artifactId);
      const query = { ...bySequence, where: eq(artifactResidencyAttestations.artifactId, id) };
      const { items, ...page } = await artifactLinks.page(ctx, { ...request, of: id }, query);
      return { ...page, attestations: items.map((row) => shown(ArtifactResidencyAttestationSchema, row)) };
    },
    attestArtifact: async ({ artifactId }, ctx: Ctx) => {
      const artifact = await artifactRows.find(ctx, artifactId);
      const link = isInert(ctx)
        ? await newestOfArtifact(ctx, artifact.id)
        : await attestArtifact(ctx, artifact);
      return link === undefined ? {} : shown(ArtifactResidencyAttestationSchema, link);
    },
  });
}

async function newestOf(who: Who, environmentId: string) {
  const where = eq(residencyAttestations.environmentId, environmentId);
  const [link] = await rows.list(who, { ...byPlace, where, max: 1 });
  return link;
}

async function attest(ctx: Ctx, environment: Environment) {
  const { id: environmentId, teamId } = environment;
  const details = ({ sequence, regionId, operator, digest }: Link) => {
    return { sequence, regionId, operator, digest };
  };
  const act = { action: 'residency.attested', on: environment, details };
  return await change(ctx, act, async (tx) => {
    await environmentRows.lock(tx, environmentId); // Attestations of one environment take turns.
    const { id: regionId, operator } = await regionOfTeam(tx.db, teamId);
    const last = await newestOf(tx, environmentId);
    const attestedAt = ctx.clock.now();
    const id = newId('att', attestedAt.getTime());
    const fact = { id, teamId, environmentId, regionId, operator, attestedBy: ctx.caller.userId, attestedAt };
    return await rows.insert(tx, nextLink(fact, last, digestOf));
  });
}

export const residencyFeature = declareFeature({
  name: 'residency',
  on: {
    switches: switchesFeature,
    teams: teamsFeature,
    environments: environmentsFeature,
    signingKeys: signingKeysFeature,
    attestations: attestationsFeature,
    artifacts: artifactsFeature,
    promotions: promotionsFeature,
  },
  start: ({ db }, { switches: { switches }, signingKeys: { signer }, attestations: { typeBase } }) => ({
    services: [createResidency(switches.gate)],
    jobs: [signJob({ db, signer, typeBase })],
  }),
});
