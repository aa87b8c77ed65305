/** The output of a run as its callers see it. */
import type { MessageInitShape } from '@bufbuild/protobuf';
import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import type { LogEventSchema } from '@svc/proto/gen/svc/sandboxruns/v1/sandboxruns_pb.ts';
import { followOutput, LOG_STREAMS, tailPosition } from '../work/index.ts';
import type { FollowDeps, FollowOptions, OutputPosition } from '../work/index.ts';

export type LogEvent = MessageInitShape<typeof LogEventSchema>;

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
    yield {
      position: `${output.epoch}-${output.offset}`,
      stream: LOG_STREAMS[output.stream],
      text: output.text,
      epoch: output.epoch,
      at: timestampFromDate(output.at),
      ...(output.missing === undefined ? {} : { missingBytes: output.missing }),
    };
  }
}

function positionOf(text: string): OutputPosition {
  const [epoch = 0, offset = 0] = text.split('-').map(Number);
  return { epoch, offset };
}
