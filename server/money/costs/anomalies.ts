/** Days of a team and of its projects that stand out, and what grew on them. */
import {
  AnomaliesResponseSchema,
  type AnomaliesRequest,
  type AnomaliesResponse,
} from '@svc/proto/gen/svc/costs/v1/costs_pb.ts';
import type { Ctx } from '../../kit/context.ts';
import { shown } from '../../kit/resource/index.ts';
import { decimalOf } from '../amounts/index.ts';
import { addDays, countDays, dayOf } from '../metering/index.ts';
import { anomalyOn, DAYS_READ, DAYS_SEEN, HISTORY_DAYS_MIN, type Anomaly, type Series } from './anomaly.ts';
import { contributorsOf, seriesOf, type Contributor, type ScopedSeries } from './anomaly-reads.ts';

const THRESHOLD_PCT = 50;
/** More than these in one answer tell nobody more. */
const ANOMALIES_MAX = 100;

export interface FoundAnomaly extends Anomaly {
  /** It is absent for the whole team. */
  readonly projectId: string | undefined;
  readonly projectName: string | undefined;
  readonly contributors: readonly Contributor[];
}

export interface AnomaliesQuestion {
  readonly teamId: string;
  readonly thresholdPct?: number | undefined;
  /** Complete days, newest first. */
  readonly days: readonly string[];
}

export async function anomalies(request: AnomaliesRequest, ctx: Ctx): Promise<AnomaliesResponse> {
  const today = dayOf(ctx.clock.now().getTime());
  const days = Array.from({ length: DAYS_SEEN }, (_day, n) => addDays(today, -1 - n));
  const { learning, anomalies: found } = await findAnomalies(ctx, { ...request, days });
  return shown(AnomaliesResponseSchema, {
    learning,
    anomalies: found.map(({ samples, actual, expected, contributors, ...anomaly }) => ({
      ...anomaly,
      actual: decimalOf(actual),
      expected: decimalOf(expected),
      samples: samples.length,
      contributors: contributors.map((each) => ({
        ...each,
        actual: decimalOf(each.actual),
        expected: decimalOf(each.expected),
      })),
    })),
  });
}

/** This returns the newest first; within a day the team itself comes first, then what grew most. */
export async function findAnomalies(
  who: Pick<Ctx, 'db' | 'teams'>,
  { teamId, thresholdPct = THRESHOLD_PCT, days }: AnomaliesQuestion,
) {
  const [newest = ''] = days;
  const span = { teamId, since: addDays(newest, 1 - DAYS_READ), until: addDays(newest, 1) };
  const all = await seriesOf(who, span);
  const team = all.find(({ projectId }) => projectId === undefined);
  const found = days.flatMap((day) => standing(all, day, thresholdPct)).slice(0, ANOMALIES_MAX);
  const contributors = await contributorsOf(who, { teamId, anomalies: found });
  return {
    learning: team === undefined || countDays(team.firstDay, span.until) < HISTORY_DAYS_MIN,
    anomalies: found.map((anomaly, n) => ({ ...anomaly, contributors: contributors[n] ?? [] })),
  };
}

type Standing = Omit<FoundAnomaly, 'contributors'>;

function standing(all: readonly ScopedSeries[], day: string, thresholdPct: number): Standing[] {
  const found = all.flatMap(({ projectId, projectName, ...series }): Standing[] => {
    const anomaly = anomalyOn(series satisfies Series, day, thresholdPct);
    return anomaly === undefined ? [] : [{ ...anomaly, projectId, projectName }];
  });
  const growth = ({ actual, expected }: Standing): bigint => actual - expected;
  return found.toSorted((a, b) => {
    if (a.projectId === undefined || b.projectId === undefined) return a.projectId === undefined ? -1 : 1;
    return growth(a) > growth(b) ? -1 : 1;
  });
}
