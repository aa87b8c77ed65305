/** Lists the reasons of a team's failures, with what is known of other teams. */
// No TeamScope: fragments of statements that take a TeamScope.
import { and, eq, gte, sql } from 'drizzle-orm';
import { timestampDate } from '@bufbuild/protobuf/wkt';
import {
  FailureSignatureSchema,
  type ListFailureSignaturesRequest,
  type ListFailureSignaturesResponse,
} from '@svc/proto/gen/svc/teams/v1/teams_pb.ts';
import type { FailureSignatures } from '../../access/teams/index.ts';
import { environmentRows } from '../../apps/environments/index.ts';
import { newId } from '../../base/ids.ts';
import type { Secrets } from '../../base/secrets.ts';
import type { Ctx } from '../../kit/context.ts';
import { inTeams, rowsOf, shown } from '../../kit/resource/index.ts';
import { failureOccurrences, failureSignatures } from './schema.ts';
import { othersOf } from './shared.ts';

const rows = rowsOf(failureSignatures);

export function listSignatures({ secrets }: { readonly secrets: Secrets }): FailureSignatures {
  return async (ctx, request) => {
    const { teamId, environmentId } = request;
    if (environmentId !== undefined) await environmentRows.find(ctx, environmentId);
    const query = { where: filterOf(request), by: failureSignatures.newest, descending: true };
    const { items, ...next } = await rows.page(ctx, { ...request, of: nameOf(request) }, query);
    const [others, samples] = await Promise.all([
      othersOf(
        { db: ctx.db, secrets },
        teamId,
        items.map(({ signature }) => signature),
      ),
      samplesOf(
        ctx,
        items.map(({ newest }) => newest),
      ),
    ]);
    return {
      ...next,
      signatures: items.map((row) =>
        shown(FailureSignatureSchema, row, {
          sample: samples.get(row.newest),
          others: others.get(row.signature),
        }),
      ),
    } as ListFailureSignaturesResponse;
  };
}

/** A cursor is for the same question only. */
function nameOf({ teamId, environmentId, since, signature, sourceId }: ListFailureSignaturesRequest): string {
  return JSON.stringify([teamId, environmentId, since && timestampDate(since), signature, sourceId]);
}

function filterOf({ teamId, environmentId, since, signature, sourceId }: ListFailureSignaturesRequest) {
  const of = failureSignatures;
  const has = (condition: ReturnType<typeof sql>) =>
    sql`exists (select from ${failureOccurrences} o where o.team_id = ${of.teamId} and o.signature_id = ${of.id} and ${condition})`;
  return and(
    eq(of.teamId, teamId),
    // Ids sort by time.
    since && gte(of.newest, newId('fso', timestampDate(since).getTime() - 1)),
    signature === undefined ? undefined : eq(of.signature, signature),
    environmentId === undefined ? undefined : has(sql`o.environment_id = ${environmentId}`),
    sourceId === undefined ? undefined : has(sql`o.source_id = ${sourceId}`),
  );
}

/** Finds the last failure of each. One that was purged has none. */
async function samplesOf(ctx: Ctx, ids: readonly string[]) {
  const found = await ctx.db.orm
    .select()
    .from(failureOccurrences)
    .where(
      and(
        inTeams(failureOccurrences, ctx.teams),
        sql`${failureOccurrences.id} = any(${sql.param([...ids])}::text[])`,
      ),
    );
  return new Map(found.map((row) => [row.id, row]));
}
