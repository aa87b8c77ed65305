/** Residency: a chain of attestations for each environment, of the region that its team's work went to at that moment. */
import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import { implement } from '@svc/proto/http/implement.ts';
import type { Handlers } from '@svc/proto/http/implement.ts';
import { ResidencyService } from '@svc/proto/gen/svc/residency/v1/residency_pb.ts';
import { recordAct } from '../../platform/ledger/index.ts';
import { findEnvironment } from '../../apps/environments/index.ts';
import type { Environment } from '../../apps/environments/index.ts';
import type { Clock } from '../../platform/clock.ts';
import type { Ctx } from '../../platform/context.ts';
import type { Cursors } from '../../platform/cursor.ts';
import { newId } from '../../platform/ids.ts';
import { notFound } from '../../platform/not-found.ts';
import { closePage, openPage } from '../../platform/paging.ts';
import { operatorNumber } from '../../engine/regions/index.ts';
import { nextLink } from './chain.ts';
import type { Attestation } from './chain.ts';
import { insertAttestation, listAttestations, lockEnvironment, regionOfTeam } from './store.ts';

export interface ResidencyDeps {
  readonly clock: Clock;
  readonly cursors: Cursors;
}

export function createResidency({ clock, cursors }: ResidencyDeps): Handlers<Ctx> {
  return implement(ResidencyService, {
    listForEnvironment: async ({ environmentId, limit, cursor }, ctx: Ctx) => {
      const environment = await environmentOf(ctx, environmentId);
      const page = openPage(ctx.call.rpc, cursors, environmentId, { limit, cursor });
      const before = page.after === undefined ? undefined : Number(page.after[0]);
      const rows = await listAttestations(ctx.db, environment, { take: page.take, before });
      const { items, nextCursor } = closePage(ctx.call.rpc, cursors, environmentId, page, rows, (row) => [
        row.sequence,
      ]);
      return { attestations: items.map(present), ...(nextCursor === undefined ? {} : { nextCursor }) };
    },
    attestEnvironment: async ({ environmentId }, ctx: Ctx) => {
      const environment = await environmentOf(ctx, environmentId);
      return present(await attest(ctx, environment, clock.now()));
    },
  });
}

async function environmentOf(ctx: Ctx, id: string): Promise<Environment> {
  const environment = await findEnvironment(ctx.db, ctx.teams, id);
  if (environment === undefined) throw notFound('environment');
  ctx.teams.require(environment.teamId);
  return environment;
}

async function attest(ctx: Ctx, environment: Environment, attestedAt: Date): Promise<Attestation> {
  const { id: environmentId, teamId } = environment;
  return await ctx.db.transact(async (db) => {
    if (!(await lockEnvironment(db, environment))) throw notFound('environment'); // deleted at this very moment
    const region = await regionOfTeam(db, teamId);
    if (region === undefined) throw notFound('environment');
    const [last] = await listAttestations(db, environment, { take: 1 });
    const id = newId('att', attestedAt.getTime());
    const fact = { id, teamId, environmentId, ...region, attestedBy: ctx.caller.userId, attestedAt };
    const attestation = nextLink(fact, last);
    await insertAttestation(db, attestation);
    const { sequence, digest } = attestation;
    const details = { sequence, ...region, digest };
    await recordAct(db, ctx, { chain: teamId, action: 'residency.attested', target: environmentId, details });
    return attestation;
  });
}

function present({ operator, attestedAt, previousDigest, ...rest }: Attestation) {
  return {
    ...rest,
    operator: operatorNumber(operator),
    attestedAt: timestampFromDate(attestedAt),
    ...(previousDigest === null ? {} : { previousDigest }),
  };
}
