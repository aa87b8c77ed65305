/** The output of a run as its callers see it. */
import { LogEventSchema } from '@svc/proto/gen/svc/sandboxruns/v1/sandboxruns_pb.ts';
import type { LogEvent } from '@svc/proto/gen/svc/sandboxruns/v1/sandboxruns_pb.ts';
import { shown } from '../../kit/resource/index.ts';
import { followOutput, tailPosition } from '../work/index.ts';
import type { FollowDeps, FollowOptions, OutputPosition } from '../work/index.ts';

export interface FollowRun extends Omit<FollowOptions, 'workId' | 'after'> {
  readonly runId: string;
  /** `<epoch>-<offset>` */
  readonly after: string | undefined;
  /** Instead of from the start; a position that the caller has already goes before it. */
  readonly tailBytes?: number | undefined;
}

export async function* followLogs(
  deps: FollowDeps,
  { runId, after, tailBytes, ...options }: FollowRun,
): AsyncGenerator<LogEvent> {
  const position =
    after === undefined && tailBytes !== undefined
      ? await tailPosition(deps.sql, runId, tailBytes)
      : positionOf(after ?? '0-0');
  for await (const output of followOutput(deps, { ...options, workId: runId, after: position })) {
    yield shown(LogEventSchema, output, {
      position: `${output.epoch}-${output.offset}`,
      missingBytes: output.missing,
    });
  }
}

function positionOf(text: string): OutputPosition {
  const [epoch = 0, offset = 0] = text.split('-').map(Number);
  return { epoch, offset };
}
