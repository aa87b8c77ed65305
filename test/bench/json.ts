/**
 * The compiled JSON codec beside protobuf-es and JSON.stringify/parse, on the message that clients read most.
 */
import { create, fromJson, toJson } from '@bufbuild/protobuf';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import { Isolation, Network } from '@svc/proto/gen/svc/runner/v1/runner_pb.ts';
import { Purpose, RunState, SandboxRunSchema } from '@svc/proto/gen/svc/sandboxruns/v1/sandboxruns_pb.ts';
import { decodeText, encoder } from '@svc/proto/http/json.ts';
import { figure, median, type Figure } from './figure.ts';

const run1 = create(SandboxRunSchema, {
  id: 'run_01h455vb4pex5vsknk084sn02q',
  teamId: 'team_01h455vb4pex5vsknk084sn02q',
  purpose: Purpose.AGENT_TASK,
  state: RunState.SUCCEEDED,
  exitCode: 0,
  command: ['sh', '-c', 'make test && echo "all is well"'],
  envNames: ['CI', 'HOME', 'TOKEN'],
  network: Network.NONE,
  isolation: Isolation.ANY,
  limits: { timeoutSeconds: 600, memoryMb: 512, cpus: 1, pids: 256, outputBytes: 16_777_216 },
  labels: { branch: 'main', commit: '3f786850e387550fdab836ed7e6dc881de23001b' },
  attempt: 1,
  runnerId: 'rnr_01h455vb4pex5vsknk084sn02q',
  runnerName: 'machine-a',
  createdAt: timestampFromMs(1_767_225_600_123),
  finishedAt: timestampFromMs(1_767_225_605_456),
  meteredMs: 5333,
  logBytes: 12_345,
});

/** Operations a second, the best of several short rounds: the others were disturbed. */
function rate(work: () => unknown): number {
  const rounds: number[] = [];
  for (let round = 0; round < 7; round += 1) {
    const endsAt = performance.now() + 150;
    const startedAt = performance.now();
    let count = 0;
    while (performance.now() < endsAt) {
      for (let i = 0; i < 50; i += 1) work();
      count += 50;
    }
    rounds.push((count / (performance.now() - startedAt)) * 1000);
  }
  return median(rounds.toSorted((a, b) => b - a).slice(0, 3));
}

export async function run(): Promise<Figure[]> {
  const encode = encoder(SandboxRunSchema);
  const text = encode(run1);
  const oracleJson = toJson(SandboxRunSchema, run1);
  const oracleText = JSON.stringify(oracleJson);
  const encodeRate = rate(() => encode(run1));
  const oracleEncodeRate = rate(() => JSON.stringify(toJson(SandboxRunSchema, run1)));
  const decodeRate = rate(() => decodeText(SandboxRunSchema, text));
  const oracleDecodeRate = rate(() => fromJson(SandboxRunSchema, JSON.parse(oracleText)));
  const compared = (shown: Pick<Figure, 'name' | 'value' | 'reference' | 'referenceValue'>) =>
    figure({
      ...shown,
      unit: 'ops/s',
      target: '≥ 1 ×',
      pass: (_, ratio) => ratio >= 1,
    });
  return [
    compared({
      name: 'JSON encode of a run',
      value: encodeRate,
      reference: 'protobuf-es toJson + JSON.stringify',
      referenceValue: oracleEncodeRate,
    }),
    compared({
      name: 'JSON decode of a run',
      value: decodeRate,
      reference: 'JSON.parse + protobuf-es fromJson',
      referenceValue: oracleDecodeRate,
    }),
  ];
}
