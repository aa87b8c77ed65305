/** Timeline: builds and runs of external CI of one environment, side by side, computed as they are asked for. */
import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import { enumNames } from '@svc/proto/http/enum-names.ts';
import { implement } from '@svc/proto/http/implement.ts';
import type { Handlers } from '@svc/proto/http/implement.ts';
import { BuildStateSchema } from '@svc/proto/gen/svc/builds/v1/builds_pb.ts';
import type { BuildState } from '@svc/proto/gen/svc/builds/v1/builds_pb.ts';
import { CiProviderSchema, CiStatusSchema } from '@svc/proto/gen/svc/ci/v1/ci_pb.ts';
import type { CiProvider, CiStatus } from '@svc/proto/gen/svc/ci/v1/ci_pb.ts';
import { EntryKind, TimelineService } from '@svc/proto/gen/svc/timeline/v1/timeline_pb.ts';
import { environmentOf } from '../environments/index.ts';
import type { Ctx } from '../platform/context.ts';
import { formatCursor, parseCursor } from './cursor.ts';
import { groupByCommit } from './group.ts';
import { readTimeline } from './store.ts';
import type { Entry } from './store.ts';

const LIMIT_DEFAULT = 50;

export function createTimeline(): Handlers<Ctx> {
  return implement(TimelineService, {
    get: async ({ environmentId, cursor, limit = LIMIT_DEFAULT }, ctx: Ctx) => {
      const { id, teamId } = await environmentOf(ctx, environmentId);
      const before = cursor === undefined ? undefined : parseCursor(cursor);
      const rows = await readTimeline(ctx.db, { teamId, environmentId: id, before, take: limit + 1 });
      const page = rows.slice(0, limit);
      const last = page.at(-1);
      return {
        entries: groupByCommit(page).map(present),
        ...(rows.length > limit && last !== undefined ? { nextCursor: formatCursor(last) } : {}),
      };
    },
  });
}

const buildStates = enumNames(BuildStateSchema);
const statuses = enumNames(CiStatusSchema);
const providers = enumNames(CiProviderSchema);

function present(entry: Entry) {
  const { kind, at, queuedAt, startedAt, finishedAt, durationMs, runnerName, provider, ...rest } = entry;
  const { commitSha, branch, reason, trigger, actor, url, ...plain } = rest;
  const texts = Object.fromEntries(
    Object.entries({ commitSha, branch, reason, trigger, actor, url }).filter(([, value]) => value !== null),
  ) as Record<string, string>;
  return {
    ...plain,
    ...texts,
    at: timestampFromDate(at),
    ...(kind === 'build'
      ? { kind: EntryKind.BUILD, buildState: buildStates.byName.get(entry.status) as BuildState }
      : { kind: EntryKind.CI_RUN, ciStatus: statuses.byName.get(entry.status) as CiStatus }),
    ...(provider === null ? {} : { provider: providers.byName.get(provider) as CiProvider }),
    ...(runnerName === null ? {} : { runnerName, chip: `via ${runnerName}` }),
    ...(queuedAt === null ? {} : { queuedAt: timestampFromDate(queuedAt) }),
    ...(startedAt === null ? {} : { startedAt: timestampFromDate(startedAt) }),
    ...(finishedAt === null ? {} : { finishedAt: timestampFromDate(finishedAt) }),
    ...(durationMs === null ? {} : { durationMs: Math.max(0, Math.round(durationMs)) }),
  };
}
