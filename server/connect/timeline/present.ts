/** An entry of the timeline as callers see it. */
import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import { enumNames } from '@svc/proto/http/enum-names.ts';
import { BuildStateSchema } from '@svc/proto/gen/svc/builds/v1/builds_pb.ts';
import type { BuildState } from '@svc/proto/gen/svc/builds/v1/builds_pb.ts';
import { CiProviderSchema, CiStatusSchema } from '@svc/proto/gen/svc/ci/v1/ci_pb.ts';
import type { CiProvider, CiStatus } from '@svc/proto/gen/svc/ci/v1/ci_pb.ts';
import { EntryKind } from '@svc/proto/gen/svc/timeline/v1/timeline_pb.ts';
import type { Entry } from './store.ts';

const buildStates = enumNames(BuildStateSchema);
const statuses = enumNames(CiStatusSchema);
const providers = enumNames(CiProviderSchema);

export function present(entry: Entry) {
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
