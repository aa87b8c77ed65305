/** The output of a run as its callers see it. */
import type { MessageInitShape } from '@bufbuild/protobuf';
import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import type { LogEventSchema } from '@svc/proto/gen/svc/sandboxruns/v1/sandboxruns_pb.ts';
import { followOutput, LOG_STREAMS } from '../work/index.ts';
import type { FollowDeps, FollowOptions } from '../work/index.ts';

export type LogEvent = MessageInitShape<typeof LogEventSchema>;

export interface FollowRun extends Omit<FollowOptions, 'workId' | 'after'> {
  readonly runId: string;
  /** `<epoch>-<offset>` */
  readonly after: string | undefined;
}

export async function* followLogs(
  deps: FollowDeps,
  { runId, after, ...options }: FollowRun,
): AsyncGenerator<LogEvent> {
  const [epoch = 0, offset = 0] = (after ?? '0-0').split('-').map(Number);
  for await (const output of followOutput(deps, { ...options, workId: runId, after: { epoch, offset } })) {
    yield {
      position: `${output.epoch}-${output.offset}`,
      stream: LOG_STREAMS[output.stream],
      text: output.text,
      epoch: output.epoch,
      at: timestampFromDate(output.at),
    };
  }
}
