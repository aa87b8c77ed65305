import { create, fromBinary, toBinary } from '@bufbuild/protobuf';
import { AppendLogsRequestSchema, DispatchService } from '@svc/proto/gen/svc/dispatch/v1/dispatch_pb.ts';
import { LogStream } from '@svc/proto/gen/svc/sandboxruns/v1/sandboxruns_pb.ts';
import { describe, expect, it } from 'vitest';
import { encodeRequest } from './encode-request.ts';

describe('the binary form of an append', () => {
  const logs = { runnerId: 'rnr_1', id: 'run_1', epoch: 3, offset: 70_000 };
  const chunk = (length: number, missingBytes?: number) => ({
    stream: LogStream.STDERR,
    data: new Uint8Array(length).fill(7),
    ...(missingBytes === undefined ? {} : { missingBytes }),
  });

  it('means what the generated encoder writes, for any number and length of chunks', () => {
    const end = { bytes: 9, sha256: 'a'.repeat(64) };
    const cases = [
      {},
      { logs },
      { logs: { ...logs, end } },
      ...[0, 1, 127, 128, 16_383, 16_384, 262_144].map((n) => ({
        logs: { ...logs, chunks: [chunk(n)], end },
      })),
      { logs: { ...logs, chunks: [chunk(5, 90), chunk(300), chunk(1, 4_294_967_295)] } },
    ];
    for (const init of cases) {
      const message = create(AppendLogsRequestSchema, { caller: { runnerId: 'rnr_1' }, ...init });
      const bytes = encodeRequest(DispatchService.method.appendLogs, message);
      const want = toBinary(AppendLogsRequestSchema, message);
      // Through the generated encoder once more, so that what is compared is the meaning.
      const read = toBinary(AppendLogsRequestSchema, fromBinary(AppendLogsRequestSchema, bytes));
      expect(Buffer.from(read).equals(want), JSON.stringify(init).slice(0, 200)).toBe(true);
    }
  });
});
