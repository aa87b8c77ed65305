/**
 * The timeline shows builds and runs of external CI of one environment, side by side, computed as they are
 * asked for.
 */
import { implement, type Handlers } from '@svc/proto/http/implement.ts';
import { TimelineService } from '@svc/proto/gen/svc/timeline/v1/timeline_pb.ts';
import { environmentRows, environmentsFeature } from '../../apps/environments/index.ts';
import { buildsFeature } from '../../engine/builds/index.ts';
import { runnersFeature } from '../../engine/runners/index.ts';
import { declareFeature } from '../../kit/feature.ts';
import { switchesFeature } from '../../switches/index.ts';
import type { Ctx } from '../../kit/context.ts';
import type { FeatureGate } from '../../kit/feature-gate.ts';
import { runsFeature } from '../runs/index.ts';
import { formatCursor, groupByCommit, parseCursor } from './cursor.ts';
import { shownEntry } from './shown.ts';
import { readTimeline } from './store.ts';
import { createTimelineWatches, watchTimeline } from './watch.ts';

const LIMIT_DEFAULT = 50;

export interface TimelineDeps {
  readonly gate: FeatureGate;
}

export function createTimeline({ gate }: TimelineDeps): Handlers<Ctx> {
  // Asked at each look: whoever watches sees the runs go and come with the feature.
  const isCiOpen = (): boolean => gate.state('host.ci') === 'open';
  const watches = createTimelineWatches(isCiOpen);
  return implement(TimelineService, {
    get: async ({ environmentId, cursor, limit = LIMIT_DEFAULT }, ctx: Ctx) => {
      const { id } = await environmentRows.find(ctx, environmentId);
      const before = cursor === undefined ? undefined : parseCursor(cursor);
      const rows = await readTimeline(before === undefined ? ctx.db : ctx.db.behind, ctx.teams, {
        environmentId: id,
        before,
        take: limit + 1,
        withRuns: isCiOpen(),
      });
      const page = rows.slice(0, limit);
      const last = page.at(-1);
      return {
        entries: groupByCommit(page).map(shownEntry),
        ...(rows.length > limit && last !== undefined ? { nextCursor: formatCursor(last) } : {}),
      };
    },
    watch: async ({ environmentId, limit = LIMIT_DEFAULT }, ctx: Ctx) => {
      const { id } = await environmentRows.find(ctx, environmentId);
      const watcher = { db: ctx.db, teams: ctx.teams, environmentId: id, limit };
      return watchTimeline(watches, watcher, ctx.call.signal);
    },
  });
}

export const timelineFeature = declareFeature({
  name: 'timeline',
  on: {
    switches: switchesFeature,
    environments: environmentsFeature,
    runners: runnersFeature,
    builds: buildsFeature,
    runs: runsFeature,
  },
  start: (_system, { switches: { switches } }) => ({ services: [createTimeline(switches)] }),
});
