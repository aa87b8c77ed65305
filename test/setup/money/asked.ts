/** Costs as somebody of a team asks for them, at a time that the test says, past the door. */
import { create, type MessageInitShape } from '@bufbuild/protobuf';
import {
  AnomaliesRequestSchema,
  CostsService,
  SummaryRequestSchema,
} from '@svc/proto/gen/svc/costs/v1/costs_pb.ts';
import type { Database } from '../../../server/base/db/index.ts';
import type { Ctx } from '../../../server/kit/context.ts';
import { anomalies } from '../../../server/money/costs/anomalies.ts';
import { summary } from '../../../server/money/costs/summary.ts';
import { createFakeClock } from '../clock.ts';
import { testCtx } from '../work/ctx.ts';
import { pricing } from './months.ts';

export interface Asking {
  readonly db: Database;
  readonly teamId: string;
  readonly now: Date;
  /** Teams that the caller reaches. Default: the one that is asked about. */
  readonly teamIds?: readonly string[];
}

export function costsCtx(rpc: string, { db, teamId, now, teamIds = [teamId] }: Asking): Ctx {
  const ctx = testCtx(`${CostsService.typeName}/${rpc}`, { db, userId: 'user_1', teamIds });
  return { ...ctx, clock: createFakeClock(now) };
}

type Days = Pick<MessageInitShape<typeof SummaryRequestSchema>, 'since' | 'until'>;

export async function askSummary(asking: Asking, days: Days = {}, prices = pricing()) {
  const request = create(SummaryRequestSchema, { teamId: asking.teamId, ...days });
  return await summary(request, costsCtx('Summary', asking), prices);
}

export async function askAnomalies(asking: Asking, thresholdPct?: number) {
  const request = { teamId: asking.teamId, ...(thresholdPct && { thresholdPct }) };
  return await anomalies(create(AnomaliesRequestSchema, request), costsCtx('Anomalies', asking));
}
