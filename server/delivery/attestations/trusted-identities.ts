/** Identities whose keyless signatures a team believes. */
import { implement, type Handlers } from '@svc/proto/http/implement.ts';
import {
  TrustedIdentitiesService,
  TrustedIdentitySchema,
} from '@svc/proto/gen/svc/trustedidentities/v1/trustedidentities_pb.ts';
import type { Ctx } from '../../kit/context.ts';
import { change, rowsOf, shown, unlessTaken, type RowOf } from '../../kit/resource/index.ts';
import { recountDue, recountNewest } from './recount.ts';
import { trustedIdentities } from './schema.ts';
import type { TrustRoot } from './trust-root.ts';

const IDENTITIES_MAX = 20;

type Row = RowOf<typeof trustedIdentities>;
const rows = rowsOf(trustedIdentities);
const byName = { by: trustedIdentities.name };

const show = (row: Row) => shown(TrustedIdentitySchema, row);

const details = ({ name, issuer, identity }: Row) => ({ name, issuer, identity });

export function createTrustedIdentities(root: TrustRoot | undefined): Handlers<Ctx> {
  return implement(TrustedIdentitiesService, {
    list: async (_request, ctx: Ctx) => ({ identities: (await rows.list(ctx, byName)).map(show) }),
    add: async ({ teamId, name, issuer, identity, predicateTypes }, ctx: Ctx) => {
      const added = change(ctx, { action: 'trusted_identity.added', details }, async (tx) => {
        await rows.atMost(tx, { teamId, max: IDENTITIES_MAX });
        await recountDue(tx.db, teamId);
        return await rows.insert(tx, { teamId, name, issuer, identity, predicateTypes });
      });
      const taken = { index: 'trusted_identities_name', resource: rows.kind, field: 'name', value: name };
      const trusted = await unlessTaken(added, taken);
      await recountNewest(ctx, teamId, root);
      return show(trusted);
    },
    remove: async ({ identityId }, ctx: Ctx) => {
      await rows.find(ctx, identityId);
      await change(ctx, { action: 'trusted_identity.removed', details }, async (tx) =>
        rows.remove(tx, identityId),
      );
      return {};
    },
  });
}
