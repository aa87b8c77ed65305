/** The types of the wire are those of the contract; this file shows that they notice what is not in it. */
import { fromJsonString, type DescEnum, type DescMessage, type MessageShape } from '@bufbuild/protobuf';
import { describe, expect, it } from 'vitest';
import { BuildType, BuildTypeSchema } from '@svc/proto/gen/svc/environments/v1/environments_pb.ts';
import * as runner from '@svc/proto/gen/svc/runner/v1/runner_pb.ts';
import { HeartbeatRequestSchema, PollRequestSchema } from '@svc/proto/gen/svc/runner/v1/runner_pb.ts';
import { validate } from '@svc/proto/http/validate.ts';
import { wireJson, type LogsRequest, type ReportRequest, type RunOffer } from './wire.ts';

describe('the wire', () => {
  const report = { id: 'run_1', epoch: 1, reportId: 'r', reason: 'exit' } as const;

  it('has the fields and words of the contract, and no others', () => {
    const right: ReportRequest = { ...report, build: { phases: [{ phase: 'cloning', durationMs: 1 }] } };
    const logs: LogsRequest = { id: '', epoch: 1, offset: 1, chunks: [{ stream: 'stdout', data: '' }] };
    const offer: RunOffer = { id: '', epoch: 1, env: { A: 'b' }, network: 'none', limits: { cpus: 1 } };
    // @ts-expect-error: `stdin` is no stream.
    const stranger: LogsRequest = { ...logs, chunks: [{ stream: 'stdin', data: '' }] };
    // @ts-expect-error: the field is `offset`.
    const misspelt: LogsRequest = { ...logs, offsett: 1 };
    // @ts-expect-error: an offer has an epoch.
    const lacking: RunOffer = { id: '' };
    // @ts-expect-error: no runner reports it.
    const unreported: ReportRequest = { ...report, reason: 'queue_timeout' };
    expect([right, logs, offer, stranger, misspelt, lacking, unreported]).toHaveLength(7);
  });

  it.each<[DescEnum, object]>([
    [BuildTypeSchema, BuildType],
    [runner.BuildPhaseSchema, runner.BuildPhase],
    [runner.DeployKindSchema, runner.DeployKind],
    [runner.EndReasonSchema, runner.EndReason],
    [runner.IsolationSchema, runner.Isolation],
    [runner.LeaseStateSchema, runner.LeaseState],
    [runner.LogStreamSchema, runner.LogStream],
    [runner.NetworkSchema, runner.Network],
  ])('spells the words of %s as JSON does', ({ values, sharedPrefix = '' }, words) => {
    expect(values.map(({ name }) => name.slice(sharedPrefix.length).toLowerCase())).toEqual(
      Object.keys(words)
        .filter((key) => Number.isNaN(Number(key)))
        .map((key) => key.toLowerCase()),
    );
  });
});

describe('wireJson()', () => {
  /** Reads a request as the control plane does, with all rules applied. */
  function accepted<Desc extends DescMessage>(schema: Desc, request: object): MessageShape<Desc> {
    const message = fromJsonString(schema, wireJson(request));
    validate(schema, message);
    return message;
  }

  it('puts U+FFFD in the place of NUL and of half a surrogate pair, wherever a text is', () => {
    const odd = 'a\0b \u{1f600}'.slice(0, -1);
    const mended = 'a\ufffdb \ufffd';
    expect(accepted(PollRequestSchema, { notReady: [odd] }).notReady).toEqual([mended]);
    expect(
      accepted(HeartbeatRequestSchema, { diagnostics: { containerCliVersion: odd } }).diagnostics,
    ).toMatchObject({ containerCliVersion: mended });
  });

  it('leaves every other text as it is', () => {
    for (const text of ['\u{1f600} \n\t"\\', '\\u0000 and \\ud83d in letters', '\\\\ud83d', '']) {
      expect(JSON.parse(wireJson({ message: text, mixed: `${text}\0` }))).toEqual({
        message: text,
        mixed: `${text}\ufffd`,
      });
    }
  });
});
