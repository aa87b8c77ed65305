/**
 * The hand-written JSON shapes are compared with the contract: every field and enum value that the daemon
 * sends or reads must exist there.
 */
import { fromJsonString, type DescMessage, type MessageShape } from '@bufbuild/protobuf';
import { describe, expect, it } from 'vitest';
import * as runner from '@svc/proto/gen/svc/runner/v1/runner_pb.ts';
import { validate } from '@svc/proto/http/validate.ts';
import {
  BuildOfferSchema,
  BuildPollResponseSchema,
  BuildResultSchema,
  DirectivesSchema,
  EnrollRequestSchema,
  EnrollResponseSchema,
  HeartbeatRequestSchema,
  HeartbeatResponseSchema,
  LogsRequestSchema,
  LogsResponseSchema,
  PollRequestSchema,
  PollResponseSchema,
  ReportRequestSchema,
  ReportResponseSchema,
} from '@svc/proto/gen/svc/runner/v1/runner_pb.ts';
import type {
  BuildOffer,
  BuildPollReply,
  EnrollReply,
  EnrollRequest,
  HeartbeatReply,
  HeartbeatRequest,
  LogsReply,
  LogsRequest,
  PollReply,
  PollRequest,
  ReportReply,
  ReportRequest,
  WireBuildSource,
  WireDeployTarget,
  WireImageTarget,
} from './wire.ts';
import { wireJson } from './wire.ts';

/**
 * Samples of each shape with every field set: `Required` makes the compiler complain when one is forgotten.
 */
const enroll: Required<EnrollRequest> = {
  token: 't',
  name: 'n',
  publicKey: 'k',
  labels: {},
  facts: { version: '', os: '', arch: '', isolation: '', executor: '' },
};
const enrolled: Required<EnrollReply> = {
  runnerId: '',
  teamId: '',
  serverTime: '',
  intervals: { heartbeatMs: 1, pollWaitMs: 1, leaseMs: 1 },
};
const heartbeat: Required<HeartbeatRequest> = {
  bootId: '',
  leases: [{ id: '', epoch: 1, phase: 'publishing', phaseOffset: 0 }],
  diagnostics: { containerCliVersion: '', deployCliVersion: '', workspaceFreeMb: 1 },
  draining: true,
  facts: enroll.facts,
  labels: {},
  givenBack: [],
};
const beaten: Required<HeartbeatReply> = {
  leases: [{ id: '', epoch: 1, state: 'ok', leaseMs: 1 }],
  directives: {
    sendDiagnostics: true,
    paused: true,
    flagged: true,
    versionTooOld: true,
    upgradeRecommended: true,
    minVersion: '',
    recommendedVersion: '',
  },
  intervals: {},
  serverTime: '',
};
const poll: Required<PollRequest> = { pollId: '', waitMs: 1, slots: 1, leases: [], notReady: [], bootId: '' };
const polled: { run: Required<NonNullable<PollReply['run']>> } = {
  run: {
    id: '',
    leaseId: '',
    epoch: 1,
    leaseMs: 1,
    image: '',
    command: [],
    env: {},
    workdir: '',
    stdin: '',
    network: 'none',
    isolation: 'container',
    limits: { timeoutSeconds: 1, memoryMb: 1, cpus: 1, pids: 1, outputBytes: 1 },
    attempt: 1,
    teamId: '',
    shared: true,
  },
};
const buildPolled: {
  build: Required<NonNullable<BuildPollReply['build']>> & {
    source: Required<WireBuildSource>;
    image: Required<WireImageTarget>;
    deploy: Required<WireDeployTarget>;
  };
} = {
  build: {
    id: '',
    leaseId: '',
    epoch: 1,
    leaseMs: 1,
    attempt: 1,
    source: {
      repository: '',
      branch: '',
      commit: '',
      buildPath: '',
      submodules: true,
      username: '',
      token: '',
      sshKey: '',
      knownHosts: '',
      dockerfile: '',
      context: '',
      target: '',
      cloneDepth: 1,
      tags: true,
    },
    buildType: 'auto',
    variables: {},
    secrets: {},
    steps: [],
    image: {
      host: '',
      namespace: '',
      repository: '',
      tag: '',
      username: '',
      password: '',
      insecure: true,
      guarded: true,
      commitInTag: true,
      local: true,
    },
    deploy: { kind: 'dokku', app: '', containerPort: 1, hostPort: 1, environmentId: '' },
    deployImage: '',
    limits: { timeoutSeconds: 1, memoryMb: 1, cpus: 1, outputBytes: 1 },
    builderImage: '',
    teamId: '',
    shared: true,
  } satisfies Required<BuildOffer>,
};
const logs: Required<LogsRequest> = {
  id: '',
  epoch: 1,
  offset: 1,
  chunks: [{ stream: 'stdout', data: '', missingBytes: 1 }],
  end: { bytes: 1, sha256: '' },
};
const logged: Required<LogsReply> = { nextOffset: 1, complete: true, state: 'superseded' };
const report: Required<ReportRequest> = {
  id: '',
  epoch: 1,
  reportId: '',
  reason: 'engine_error',
  exitCode: 1,
  message: '',
  durationMs: 1,
  waitedMs: 1,
  build: {
    commit: '',
    ref: '',
    buildType: 'buildpack',
    image: '',
    digest: '',
    tag: '',
    address: '',
    phase: 'deploying',
    phases: [{ phase: 'cloning', durationMs: 1 }],
    sbom: '',
    sbomProblem: '',
    mediaType: '',
    platform: '',
    baseImages: [{ name: '', digest: '' }],
  },
};
const reported: Required<ReportReply> = { accepted: true, repeated: true };

/** Lists fields of ours that the message does not have, and values that its enum does not have. */
function strangers(schema: DescMessage, value: object, path = ''): string[] {
  return Object.entries(value).flatMap(([name, held]: [string, unknown]) => {
    const field = schema.fields.find((candidate) => candidate.jsonName === name);
    if (field === undefined) return [`${path}${name}`];
    if (field.enum !== undefined) {
      const words = field.enum.values.map((word) =>
        word.name.slice(`${field.enum?.sharedPrefix ?? ''}`.length).toLowerCase(),
      );
      return words.includes(String(held)) ? [] : [`${path}${name}=${String(held)}`];
    }
    if (field.message === undefined || field.fieldKind === 'map' || typeof held !== 'object' || held === null)
      return [];
    const items = Array.isArray(held) ? (held as object[]) : [held];
    return items.flatMap((item) => strangers(field.message as DescMessage, item, `${path}${name}.`));
  });
}

describe('the wire', () => {
  const shapes: [DescMessage, object][] = [
    [EnrollRequestSchema, enroll],
    [EnrollResponseSchema, enrolled],
    [HeartbeatRequestSchema, heartbeat],
    [HeartbeatResponseSchema, beaten],
    [PollRequestSchema, poll],
    [PollResponseSchema, polled],
    [BuildPollResponseSchema, buildPolled],
    [LogsRequestSchema, logs],
    [LogsResponseSchema, logged],
    [ReportRequestSchema, report],
    [ReportResponseSchema, reported],
  ];
  for (const [schema, value] of shapes) {
    it(`knows no field of ${schema.name} that the contract does not have`, () => {
      expect(strangers(schema, value)).toEqual([]);
    });
  }

  it('knows every field of the offer and of the directives', () => {
    expect(runner.RunOfferSchema.fields.map((field) => field.jsonName).sort()).toEqual(
      Object.keys(polled.run).sort(),
    );
    expect(BuildOfferSchema.fields.map((field) => field.jsonName).sort()).toEqual(
      Object.keys(buildPolled.build).sort(),
    );
    expect(BuildResultSchema.fields.map((field) => field.jsonName).sort()).toEqual(
      Object.keys(report.build).sort(),
    );
    expect(DirectivesSchema.fields.map((field) => field.jsonName).sort()).toEqual(
      Object.keys(beaten.directives).sort(),
    );
  });

  it('would notice a stranger', () => {
    expect(strangers(LogsRequestSchema, { offsett: 1, chunks: [{ stream: 'stdin', data: '' }] })).toEqual([
      'offsett',
      'chunks.stream=stdin',
    ]);
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
